package text

import (
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// stringTo parses a string after its opening quote and stores the first limit
// bytes of its value in *dst. If dst is nil, the value is skipped.
func (s *jsonScanner) stringTo(dst *[]byte, limit int) bool {
	if dst == nil {
		dst, limit = new([]byte), 0
	}
	s.out, s.room = (*dst)[:0], limit
	ok := s.string()
	*dst, s.out = s.out, nil
	return ok
}

func (s *jsonScanner) string() bool {
	for {
		window, err := s.window()
		if err != nil {
			return false
		}
		n := plainPrefix(window)
		s.put(window[:n])
		if _, err := s.in.Discard(n); err != nil {
			return false
		}
		if n == len(window) {
			continue
		}
		switch s.next() {
		case '"':
			return true
		case '\\':
			if !s.escape(s.next()) {
				return false
			}
		default:
			return false
		}
	}
}

// put appends b to the value of the current string. Bytes beyond the value's limit are
// dropped.
func (s *jsonScanner) put(b []byte) {
	b = b[:min(len(b), s.room)]
	s.room -= len(b)
	s.out = append(s.out, b...)
}

func (s *jsonScanner) putRune(r rune) {
	var b [utf8.UTFMax]byte
	s.put(b[:utf8.EncodeRune(b[:], r)])
}

// window returns the buffered bytes, at least one.
func (s *jsonScanner) window() ([]byte, error) {
	if s.ended {
		return nil, io.ErrUnexpectedEOF
	}
	if s.in.Buffered() == 0 {
		if _, err := s.in.Peek(1); err != nil {
			s.ended, s.err = true, err
			return nil, err
		}
	}
	return s.in.Peek(s.in.Buffered())
}

// plainPrefix returns the number of bytes of b before the first quote,
// backslash or control character.
func plainPrefix(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(b)
}

// escape parses an escape sequence whose first two bytes, a backslash and c, have been
// read.
func (s *jsonScanner) escape(c byte) bool {
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return s.unicodeEscape()
	default:
		return false
	}
	s.putRune(rune(c))
	return true
}

// unicodeEscape parses \uXXXX after its "u", and the second half of a surrogate
// pair if one follows.
func (s *jsonScanner) unicodeEscape() bool {
	r, ok := s.hex4()
	if !ok {
		return false
	}
	for utf16.IsSurrogate(r) {
		if s.next() != '\\' {
			s.back()
			break
		}
		if c := s.next(); c != 'u' {
			s.putRune(utf8.RuneError)
			return s.escape(c)
		}
		low, ok := s.hex4()
		if !ok {
			return false
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			s.putRune(pair)
			return true
		}
		s.putRune(utf8.RuneError)
		r = low
	}
	s.putRune(r)
	return true
}

// hex4 reads four hexadecimal digits.
func (s *jsonScanner) hex4() (rune, bool) {
	var r rune
	for range 4 {
		c := s.next()
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
