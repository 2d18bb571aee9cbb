package hf

import (
	"strings"
	"sync"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
)

// wordLen returns the length of the first word of s, which must not be empty.
// It implements the regular expression of GPT-2 (encoder.py):
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func wordLen(s string) int {
	if s[0] == '\'' {
		for _, suffix := range [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
			if strings.HasPrefix(s, suffix) {
				return len(suffix)
			}
		}
	}
	start := 0
	if s[0] == ' ' {
		start = 1
	}
	if start < len(s) {
		r, _ := utf8.DecodeRuneInString(s[start:])
		if kind := kindOf(r); kind != space {
			return start + runLen(s[start:], kind)
		}
	}
	// White space. Its last character belongs to the next word.
	n := runLen(s, space)
	if n == len(s) {
		return n
	}
	if _, last := utf8.DecodeLastRuneInString(s[:n]); last < n {
		return n - last
	}
	return n
}

// Kinds of characters in the regular expression of wordLen.
const (
	space = iota
	letter
	number
	other
)

// A kindTable holds the kind of every ASCII character, and the sets of the other
// characters.
type kindTable struct {
	ascii          [utf8.RuneSelf]uint8
	letter, number *hfunicode.Set
	space          *hfunicode.Set
}

var kinds = sync.OnceValue(func() *kindTable {
	class := func(names ...string) *hfunicode.Set {
		var all hfunicode.Ranges
		for _, name := range names {
			all = all.Union(ranges(name))
		}
		return hfunicode.NewSet(all)
	}
	t := &kindTable{letter: class("gc:Lu", "gc:Ll", "gc:Lt", "gc:Lm", "gc:Lo"), number: class("gc:Nd", "gc:Nl", "gc:No"), space: class("onig:s")}
	for c := range t.ascii {
		t.ascii[c] = uint8(t.of(rune(c)))
	}
	return t
})

func (t *kindTable) of(r rune) int {
	switch {
	case t.letter.Has(r):
		return letter
	case t.number.Has(r):
		return number
	case t.space.Has(r):
		return space
	}
	return other
}

func kindOf(r rune) int {
	t := kinds()
	if r < utf8.RuneSelf {
		return int(t.ascii[r])
	}
	return t.of(r)
}

// runLen returns the length in bytes of the longest prefix of s whose
// characters are all of the given kind.
func runLen(s string, kind int) int {
	t := kinds()
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if int(t.ascii[c]) != kind {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if t.of(r) != kind {
			return i
		}
		i += size
	}
	return len(s)
}
