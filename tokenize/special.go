package tokenize

import "unicode/utf8"

// A specialToken is a token that some profiles keep whole in a text.
type specialToken struct {
	text string
	id   int32
}

// specials returns the special tokens of a vocabulary.
func (v *Vocab) specials() []specialToken {
	var out []specialToken
	for _, text := range SpecialTokens() {
		out = append(out, specialToken{text, v.ids[text]})
	}
	return out
}

// appendValid appends s without invalid UTF-8 to dst. The caller searches for special
// tokens in the result, because invalid bytes may be inside a token.
func appendValid[T bytestring](dst []byte, s T) []byte {
	for i := 0; i < len(s); {
		r, size := decodeRune(s, i)
		if r != utf8.RuneError || size > 1 {
			dst = appendChar(dst, s[i:i+size])
		}
		i += size
	}
	return dst
}

// appendKeeping appends the ids of s, which must be valid UTF-8. A special token in s
// becomes its own id if the profile keeps it whole. Special tokens begin with "[" and
// contain no other "[", so searches that begin at different brackets hardly overlap, and
// time is linear.
func appendKeeping[T bytestring](e *Encoder, dst []int32, s T) []int32 {
	start := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '[' {
			continue
		}
		for _, special := range e.special {
			if end := specialEnd(e, s, i, special.text); end > 0 {
				dst = append(appendIDs(e, dst, s[start:i]), special.id)
				start, i = end, end-1
				break
			}
		}
	}
	return appendIDs(e, dst, s[start:])
}

// specialEnd returns the position after the given special token, if it begins at s[i] and
// the profile keeps it whole there. Otherwise it returns 0.
func specialEnd[T bytestring](e *Encoder, s T, i int, token string) int {
	if e.options.Profile == ProfileHF {
		if len(s)-i >= len(token) && string(s[i:i+len(token)]) == token {
			return i + len(token)
		}
		return 0
	}
	end := cleanPrefix(&e.words, s, i, token)
	if end == 0 || !endsBefore(&e.words, s, i) || !endsAt(&e.words, s, end) {
		return 0
	}
	return end
}

// cleanPrefix returns the position after token if s[i:] begins with it, ignoring characters
// that cleaning deletes. Otherwise it returns 0.
func cleanPrefix[T bytestring](w *WordSplitter, s T, i int, token string) int {
	for n := 0; n < len(token); {
		if i == len(s) {
			return 0
		}
		if s[i] == token[n] {
			i++
			n++
			continue
		}
		r, size := decodeRune(s, i)
		if w.classes.of(r)&kindMask != kindRemove {
			return 0
		}
		i += size
	}
	return i
}

// endsAt reports whether a word that ends before s[i] has a border there: the next
// character that is not deleted is white space or an ideograph, or the text ends.
func endsAt[T bytestring](w *WordSplitter, s T, i int) bool {
	for i < len(s) {
		r, size := decodeRune(s, i)
		if kind := w.classes.of(r) & kindMask; kind != kindRemove {
			return kind == kindSpace || kind == kindCJK
		}
		i += size
	}
	return true
}

// endsBefore reports whether a word that begins at s[i] has a border there: the last
// character before it that is not deleted is white space or an ideograph, or the text
// begins there.
func endsBefore[T bytestring](w *WordSplitter, s T, i int) bool {
	for i > 0 {
		r, size := decodeLastRune(s, i)
		if kind := w.classes.of(r) & kindMask; kind != kindRemove {
			return kind == kindSpace || kind == kindCJK
		}
		i -= size
	}
	return true
}
