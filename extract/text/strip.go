package text

import (
	"bytes"
	"unicode/utf8"
)

// IsBlank reports whether Python's str.isspace holds for r: the characters
// that str.strip removes. That is White_Space of Unicode and the separators
// U+001C..U+001F; neither U+200B nor U+FEFF belong to it.
func IsBlank(r rune) bool {
	switch {
	case r <= ' ':
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1C
	case r < 0x1680:
		return r == 0x85 || r == 0xA0
	case r < 0x2000:
		return r == 0x1680
	case r <= 0x205F:
		return r <= 0x200A || r == 0x2028 || r == 0x2029 || r == 0x202F || r == 0x205F
	}
	return r == 0x3000
}

// Strip returns b without leading and trailing blanks, as Python's str.strip
// does. Bytes that are not UTF-8 count as characters that are not blank. The
// result shares memory with b.
func Strip(b []byte) []byte {
	return trimRight(trimLeft(b))
}

func trimLeft(b []byte) []byte {
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			if !IsBlank(rune(c)) {
				return b
			}
			b = b[1:]
			continue
		}
		r, size := utf8.DecodeRune(b)
		if !IsBlank(r) {
			return b
		}
		b = b[size:]
	}
	return b
}

func trimRight(b []byte) []byte {
	for len(b) > 0 {
		if c := b[len(b)-1]; c < utf8.RuneSelf {
			if !IsBlank(rune(c)) {
				return b
			}
			b = b[:len(b)-1]
			continue
		}
		r, size := utf8.DecodeLastRune(b)
		if !IsBlank(r) {
			return b
		}
		b = b[:len(b)-size]
	}
	return b
}

// AppendValid appends b without the bytes that are not UTF-8, as Python's
// decoder does with errors=ignore, and returns how many bytes it left out.
func AppendValid(dst, b []byte) (_ []byte, dropped int) {
	for len(b) > 0 {
		n := invalidAt(b)
		dst = append(dst, b[:n]...)
		for b = b[n:]; len(b) > 0; b = b[1:] {
			if r, size := utf8.DecodeRune(b); r != utf8.RuneError || size > 1 {
				break
			}
			dropped++
		}
	}
	return dst, dropped
}

// invalidAt returns the place of the first byte that is not UTF-8, len(b) when
// there is none.
func invalidAt(b []byte) int {
	if utf8.Valid(b) {
		return len(b)
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}

// CutIncomplete splits off the last bytes of b where they begin a character
// that goes on after b. Both results share memory with b.
func CutIncomplete(b []byte) (whole, rest []byte) {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i], b[i:]
			}
			break
		}
	}
	return b, nil
}

// dropCR removes the carriage returns of b in place.
func dropCR(b []byte) []byte {
	i := bytes.IndexByte(b, '\r')
	if i < 0 {
		return b
	}
	w := b[:i]
	for b = b[i+1:]; ; b = b[i+1:] {
		if i = bytes.IndexByte(b, '\r'); i < 0 {
			return append(w, b...)
		}
		w = append(w, b[:i]...)
	}
}
