package hf

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
	"pretext/tokenize/internal/onig"
)

// A normalizer changes a text before it is split. zero is the number of bytes at the start
// of the text that come from the first character of the whole input; it is 0 if the text
// does not contain that character. [metaspace] needs it. If the budget is spent, the result
// must not be used.
type normalizer interface {
	normalize(b *budget, text string, zero int) (string, int)
}

// normalizers run one after another.
type normalizers []normalizer

func (n normalizers) normalize(b *budget, text string, zero int) (string, int) {
	for _, one := range n {
		if b.spent() || !b.take(len(text)+1) {
			break
		}
		text, zero = one.normalize(b, text, zero)
	}
	return text, zero
}

// charwise is a normalizer that replaces characters one by one. Characters in same stay
// unchanged.
type charwise struct {
	same   *hfunicode.Set
	change func(dst []byte, c rune) []byte
}

func (n *charwise) normalize(b *budget, text string, zero int) (string, int) {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !n.same.Has(r) {
			break
		}
		at += size
	}
	if at == len(text) {
		return text, zero
	}
	out := append(make([]byte, 0, len(text)+len(text)/8), text[:at]...)
	newZero := 0
	for i, r := range text[at:] {
		if n.same.Has(r) {
			out = utf8.AppendRune(out, r)
		} else {
			out = n.change(out, r)
		}
		if at+i < zero {
			newZero = len(out)
		}
	}
	if at >= zero {
		newZero = zero
	}
	b.grow(len(out) - len(text))
	return string(out), newZero
}

// removing returns a normalizer that removes the characters of a set.
func removing(set hfunicode.Ranges) *charwise {
	return &charwise{same: hfunicode.NewSet(set.Not()), change: func(dst []byte, _ rune) []byte { return dst }}
}

// mapping returns a normalizer that replaces each character in table by its value.
func mapping(table map[rune]string) *charwise {
	var changed []hfunicode.Range
	for c := range table {
		changed = append(changed, hfunicode.Range{First: c, Last: c})
	}
	return &charwise{same: hfunicode.NewSet(hfunicode.Of(changed...).Not()),
		change: func(dst []byte, c rune) []byte { return append(dst, table[c]...) }}
}

// lowercase is the normalizer Lowercase: the full lower-case mapping of every
// character, without the rule for a final sigma.
var lowercase = sync.OnceValue(func() *charwise { return mapping(hfunicode.Map("rust:lower")) })

// stripAccents is the normalizer StripAccents.
var stripAccents = sync.OnceValue(func() *charwise { return removing(ranges("rust:combining")) })

// ranges returns the ranges of a property of the tables.
func ranges(name string) hfunicode.Ranges {
	r, ok := hfunicode.Lookup(name)
	if !ok {
		panic("BUG: no Unicode property " + name)
	}
	return r
}

// nmt is the normalizer Nmt: it removes some control characters and replaces others, and
// special spaces, by a space.
var nmt = sync.OnceValue(func() normalizers {
	removed := hfunicode.Of(hfunicode.Range{First: 1, Last: 8}, hfunicode.Range{First: 0xb, Last: 0xb}, hfunicode.Range{First: 0xe, Last: 0x1f},
		hfunicode.Range{First: 0x7f, Last: 0x7f}, hfunicode.Range{First: 0x8f, Last: 0x8f}, hfunicode.Range{First: 0x9f, Last: 0x9f})
	spaces := map[rune]string{}
	for _, c := range []rune{'\t', '\n', '\f', '\r', 0x1680, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x2581, 0xfeff, 0xfffd} {
		spaces[c] = " "
	}
	return normalizers{removing(removed), mapping(spaces)}
})

// bertClean removes control characters and replaces white space by a space, as
// BertNormalizer does with clean_text.
var bertClean = sync.OnceValue(func() normalizers {
	removed := ranges("rust:other").Union(hfunicode.Of(hfunicode.Range{First: 0, Last: 0}, hfunicode.Range{First: 0xfffd, Last: 0xfffd}))
	spaces := map[rune]string{}
	for _, x := range ranges("rust:space") {
		for c := x.First; c <= x.Last; c++ {
			if c != ' ' {
				spaces[c] = " "
			}
		}
	}
	return normalizers{removing(removed), mapping(spaces)}
})

// bertChinese puts spaces around ideographs, as BertNormalizer does with
// handle_chinese_chars. The ranges are those of the library, in which extension E begins at
// U+2B920 instead of U+2B820.
var bertChinese = sync.OnceValue(func() *charwise {
	ideographs := hfunicode.Of(hfunicode.Range{First: 0x4e00, Last: 0x9fff}, hfunicode.Range{First: 0x3400, Last: 0x4dbf},
		hfunicode.Range{First: 0x20000, Last: 0x2a6df}, hfunicode.Range{First: 0x2a700, Last: 0x2b73f}, hfunicode.Range{First: 0x2b740, Last: 0x2b81f},
		hfunicode.Range{First: 0x2b920, Last: 0x2ceaf}, hfunicode.Range{First: 0xf900, Last: 0xfaff}, hfunicode.Range{First: 0x2f800, Last: 0x2fa1f})
	return &charwise{same: hfunicode.NewSet(ideographs.Not()), change: func(dst []byte, c rune) []byte {
		return append(utf8.AppendRune(append(dst, ' '), c), ' ')
	}}
})

// bertAccents removes nonspacing marks, as BertNormalizer does with
// strip_accents.
var bertAccents = sync.OnceValue(func() normalizers {
	return normalizers{formOf("NFD"), removing(ranges("rust:nonspacing"))}
})

// byteChars is the normalizer ByteLevel: it replaces every byte by the character that
// represents it in GPT-2's vocabulary.
type byteChars struct{}

func (byteChars) normalize(b *budget, text string, zero int) (string, int) {
	var out []byte
	newZero := 0
	for i := range len(text) {
		out = utf8.AppendRune(out, byteChar(text[i]))
		if i < zero {
			newZero = len(out)
		}
	}
	b.grow(len(out) - len(text))
	return string(out), newZero
}

// byteCharEnd is the first character after those of byteChar.
const byteCharEnd = 0x144

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

// ByteAlphabet returns the 256 characters that represent bytes in byte-level BPE, in
// ascending order.
func ByteAlphabet() []rune {
	all := make([]rune, 256)
	for b := range all {
		all[b] = byteChar(byte(b))
	}
	slices.Sort(all)
	return all
}

// RawBytes returns the bytes that the characters of a token of byte-level BPE represent.
// Other characters are dropped.
func RawBytes(token string) string {
	var out []byte
	for _, r := range token {
		if b, ok := byteOf(r); ok {
			out = append(out, b)
		}
	}
	return string(out)
}

// rawBytes returns the bytes that a token of ByteLevel's characters stands for. It returns
// false if a character stands for none.
func rawBytes(token string) (string, bool) {
	raw := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := byteOf(r)
		if !ok {
			return "", false
		}
		raw = append(raw, b)
	}
	return string(raw), true
}

// byteOf returns the byte that a character of ByteLevel represents.
func byteOf(c rune) (b byte, ok bool) {
	all := bytesOf()
	if c < 0 || int(c) >= len(all) || all[c] < 0 {
		return 0, false
	}
	return byte(all[c]), true
}

// bytesOf has, by character, the byte that a character of ByteLevel represents, or -1.
var bytesOf = sync.OnceValue(func() *[byteCharEnd]int16 {
	bytes := new([byteCharEnd]int16)
	for c := range bytes {
		bytes[c] = -1
	}
	for b := range 256 {
		bytes[byteChar(byte(b))] = int16(b)
	}
	return bytes
})

// strip is the normalizer Strip.
type strip struct{ left, right bool }

func (s strip) normalize(_ *budget, text string, zero int) (string, int) {
	space := hfunicode.Get("rust:space").Has
	if s.left {
		rest := strings.TrimLeftFunc(text, space)
		if len(rest) < len(text) {
			text, zero = rest, 0
		}
	}
	if s.right {
		text = strings.TrimRightFunc(text, space)
	}
	return text, min(zero, len(text))
}

// prepend is the normalizer Prepend.
type prepend string

func (p prepend) normalize(b *budget, text string, zero int) (string, int) {
	if text == "" || !b.grow(len(p)) {
		return text, zero
	}
	if zero > 0 {
		zero += len(p)
	}
	return string(p) + text, zero
}

// replace is the normalizer Replace.
type replace struct {
	pattern *onig.Regexp
	content string
	literal string // the pattern, if it is a text and not a regular expression; may be empty
}

func (r *replace) normalize(b *budget, text string, zero int) (string, int) {
	if text == "" {
		return text, zero
	}
	if r.literal != "" && !strings.HasPrefix(text, r.literal) {
		if !b.grow(strings.Count(text, r.literal) * (len(r.content) - len(r.literal))) {
			return text, zero
		}
		return strings.ReplaceAll(text, r.literal, r.content), zero
	}
	var out []byte
	last, newZero := 0, zero
	m := &onig.Matches{}
	for m.Reset(r.pattern, text, &b.steps); m.Next() && b.grow(len(r.content)-(m.End-m.Start)); {
		out = append(append(out, text[last:m.Start]...), r.content...)
		if m.Start == 0 { // zero: the new text belongs to the last character replaced
			newZero = 0
			_, size := utf8.DecodeLastRuneInString(text[:m.End])
			if m.End-size < zero {
				newZero = len(r.content) + max(zero-m.End, 0)
			}
		}
		last = m.End
	}
	if last == 0 && out == nil {
		return text, zero
	}
	return string(append(out, text[last:]...)), newZero
}
