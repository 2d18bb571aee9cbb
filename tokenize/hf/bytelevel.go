package hf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A byteLevel holds the tables of a byte-level BPE model.
type byteLevel struct {
	prefixSpace bool
	added       []addedToken
	begins      [256]bool  // by byte: whether an added token begins with it
	bytes       [256]int32 // by byte: the id of the token for this single byte
	merges      map[pair]merged
}

// A pair holds the ids of two neighbouring tokens of a word.
type pair struct{ left, right int32 }

// merged is the result of merging a pair: the id of the new token, and the rank
// of the merge. The pair with the lowest rank is merged first.
type merged struct{ rank, id int32 }

// byteChar returns the character that represents a byte in GPT-2's vocabulary
// (bytes_to_unicode in its encoder.py): the byte itself if it is printable in
// Latin-1, else the next unused character from U+0100.
func byteChar(b byte) rune {
	switch {
	case b <= ' ':
		return 0x100 + rune(b)
	case 0x7f <= b && b <= 0xa0:
		return 0x100 + ' ' + 1 + rune(b-0x7f)
	case b == 0xad:
		return 0x143
	}
	return rune(b)
}

// Limits of an encoder's cache.
const (
	maxCachedWord = 64      // bytes of a word
	maxCached     = 1 << 15 // words; the cache is emptied when it is full
)

// A bpeEncoder encodes text with a byteLevel model.
type bpeEncoder struct {
	*byteLevel
	cache map[string][]int32
	merger

	marking bool   // whether to record word starts
	starts  []bool // for each appended id, whether it begins a word
}

func newBPEEncoder(b *byteLevel) *bpeEncoder {
	return &bpeEncoder{byteLevel: b, cache: map[string][]int32{}}
}

// appendIDs splits text at added tokens and appends the ids of all parts.
func (e *bpeEncoder) appendIDs(dst []int32, text string) []int32 {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	start := 0
	for i := 0; i < len(text); i++ {
		if !e.begins[text[i]] {
			continue
		}
		a := e.addedAt(text[i:])
		if a == nil {
			continue
		}
		before, end := text[start:i], i+len(a.Content)
		if a.LStrip {
			before = strings.TrimRightFunc(before, unicode.IsSpace)
		}
		if a.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		dst = e.mark(append(e.appendText(dst, before), a.ID), 1)
		start, i = end, end-1
	}
	return e.appendText(dst, text[start:])
}

// addedAt returns the longest added token with which s begins, or nil if there
// is none.
func (e *bpeEncoder) addedAt(s string) *addedToken {
	var best *addedToken
	for i := range e.added {
		a := &e.added[i]
		if strings.HasPrefix(s, a.Content) && (best == nil || len(a.Content) > len(best.Content)) {
			best = a
		}
	}
	return best
}

// appendText appends the ids of text without added tokens.
func (e *bpeEncoder) appendText(dst []int32, text string) []int32 {
	if e.prefixSpace && text != "" && text[0] != ' ' {
		text = " " + text
	}
	for len(text) > 0 {
		n, first := wordLen(text), len(dst)
		dst = e.appendWord(dst, text[:n])
		dst = e.mark(dst, len(dst)-first)
		text = text[n:]
	}
	return dst
}

// mark records that the last n ids are one word, if word starts are recorded,
// and returns ids.
func (e *bpeEncoder) mark(ids []int32, n int) []int32 {
	if e.marking {
		for i := range n {
			e.starts = append(e.starts, i == 0)
		}
	}
	return ids
}

func (e *bpeEncoder) appendWord(dst []int32, word string) []int32 {
	if ids, ok := e.cache[word]; ok {
		return append(dst, ids...)
	}
	before := len(dst)
	dst = e.appendMerged(dst, e.byteLevel, word)
	if len(word) <= maxCachedWord {
		if len(e.cache) == maxCached {
			clear(e.cache)
		}
		e.cache[strings.Clone(word)] = append([]int32(nil), dst[before:]...)
	}
	return dst
}

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
	if r, _ := utf8.DecodeRuneInString(s[start:]); start < len(s) && !unicode.IsSpace(r) {
		return start + runLen(s[start:], kindOf(r))
	}
	// White space. The last character belongs to the word after it.
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

func kindOf(r rune) int {
	if r < utf8.RuneSelf {
		return int(asciiKinds[r])
	}
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// asciiKinds holds the kind of every ASCII character.
var asciiKinds = func() (kinds [utf8.RuneSelf]uint8) {
	for r := range kinds {
		switch c := rune(r); {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			kinds[r] = letter
		case '0' <= c && c <= '9':
			kinds[r] = number
		case '\t' <= c && c <= '\r' || c == ' ':
			kinds[r] = space
		default:
			kinds[r] = other
		}
	}
	return kinds
}()

// runLen returns the length in bytes of the longest prefix of s whose
// characters are all of the given kind.
func runLen(s string, kind int) int {
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if kindOf(r) != kind {
			return i
		}
		i += size
	}
	return len(s)
}
