package text

import (
	"bytes"
	"unicode/utf8"

	"pretext/internal/pyspace"
)

// IsBlank reports whether r is white space in Python (str.isspace): a character that
// str.strip removes.
func IsBlank(r rune) bool { return pyspace.IsSpace(r) }

// Strip returns b without white space at its ends, as Python's str.strip does.
// Invalid UTF-8 is not white space. The result shares memory with b.
func Strip(b []byte) []byte { return pyspace.Strip(b) }

// AppendValid appends b to dst, without the bytes that are invalid UTF-8, as Python's
// decoder does with errors="ignore". dropped is the number of removed bytes.
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

// invalidAt returns the offset of the first byte of b that is not valid UTF-8,
// or len(b).
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

// CutIncomplete splits b before an incomplete UTF-8 character at its end. If there is
// none, rest is empty. Both results share memory with b.
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
