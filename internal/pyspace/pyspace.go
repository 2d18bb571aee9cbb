// Package pyspace defines white space as Python does. In Python str.isspace, str.strip,
// str.split without arguments, and \s of the re module use the same definition.
//
//	line = pyspace.Strip(line) // string or []byte
//
// White space is Unicode's White_Space and the separators U+001C to U+001F.
// (CPython defines it as bidirectional class WS, B or S, or general category
// Zs.) unicode.IsSpace lacks the separators. U+200B, U+FEFF and invalid UTF-8
// are not white space.
//
// The set has not changed since Unicode 6.3, which removed U+180E, so all
// Python versions in use agree.
package pyspace

// Chars holds the white space characters, in ascending order.
const Chars = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680" +
	"\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
	"\u2028\u2029\u202f\u205f\u3000"

// ascii has 1 for the ASCII white space characters and 0 for all other bytes.
var ascii = [256]uint8{
	'\t': 1, '\n': 1, '\v': 1, '\f': 1, '\r': 1, 0x1c: 1, 0x1d: 1, 0x1e: 1, 0x1f: 1, ' ': 1,
}

// IsSpace reports whether r is white space.
func IsSpace(r rune) bool {
	switch {
	case r < 0x80:
		return r >= 0 && ascii[r] != 0
	case r < 0x1680:
		return r == 0x85 || r == 0xa0
	case r < 0x2000:
		return r == 0x1680
	case r <= 0x205f:
		return r <= 0x200a || r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f
	}
	return r == 0x3000
}

// Strip returns s without surrounding white space, as str.strip does. The
// result of Strip, StripLeft and StripRight shares memory with s.
func Strip[T string | []byte](s T) T { return StripRight(StripLeft(s)) }

// StripLeft returns s without leading white space, as str.lstrip does.
func StripLeft[T string | []byte](s T) T {
	for size := Width(s); size > 0; size = Width(s) {
		s = s[size:]
	}
	return s
}

// StripRight returns s without trailing white space, as str.rstrip does.
func StripRight[T string | []byte](s T) T {
	for size := LastWidth(s); size > 0; size = LastWidth(s) {
		s = s[:len(s)-size]
	}
	return s
}

// Width returns the length in bytes of the white space character at the
// beginning of s, or 0 if there is none.
func Width[T string | []byte](s T) int {
	if len(s) == 0 {
		return 0
	}
	if s[0] < 0x80 {
		return int(ascii[s[0]])
	}
	if len(s) >= 2 && isSpace2(s[0], s[1]) {
		return 2
	}
	if len(s) >= 3 && isSpace3(s[0], s[1], s[2]) {
		return 3
	}
	return 0
}

// LastWidth returns the length in bytes of the white space character at the
// end of s, or 0 if there is none.
func LastWidth[T string | []byte](s T) int {
	n := len(s)
	if n == 0 {
		return 0
	}
	if s[n-1] < 0x80 {
		return int(ascii[s[n-1]])
	}
	if n >= 2 && isSpace2(s[n-2], s[n-1]) {
		return 2
	}
	if n >= 3 && isSpace3(s[n-3], s[n-2], s[n-1]) {
		return 3
	}
	return 0
}

// isSpace2 reports whether two bytes are a white space character in UTF-8: U+0085 or U+00A0.
func isSpace2(a, b byte) bool { return a == 0xc2 && (b == 0x85 || b == 0xa0) }

// isSpace3 reports whether three bytes are a white space character in UTF-8.
func isSpace3(a, b, c byte) bool {
	if a < 0xe1 || a > 0xe3 || b&0xc0 != 0x80 || c&0xc0 != 0x80 {
		return false
	}
	return IsSpace(rune(a&0x0f)<<12 | rune(b&0x3f)<<6 | rune(c&0x3f))
}
