// Package pyspace knows what Python takes for white space: what str.isspace
// holds for, what str.strip removes, what str.split without arguments splits
// at, and what the \s of the re module matches. The four agree.
//
//	line = pyspace.Strip(line) // string or []byte
//
// It is White_Space of Unicode and the separators U+001C to U+001F, in CPython
// the characters of bidirectional class WS, B or S or of general category Zs.
// unicode.IsSpace lacks the separators. U+200B and U+FEFF do not belong to it;
// neither does any byte that is not UTF-8.
//
// Nothing here has changed since Unicode 6.3 (U+180E left), so no version of
// Python in use differs. The functions keep no state.
package pyspace

// Chars holds the white space characters, in ascending order.
const Chars = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680" +
	"\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
	"\u2028\u2029\u202f\u205f\u3000"

// ascii is 1 for the bytes that are white space alone.
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

// Strip returns s without white space at both ends, as str.strip does. Slices
// share memory with s; so do those of the two below.
func Strip[T string | []byte](s T) T { return StripRight(StripLeft(s)) }

// StripLeft returns s without white space at its beginning, as str.lstrip does.
func StripLeft[T string | []byte](s T) T {
	for size := Width(s); size > 0; size = Width(s) {
		s = s[size:]
	}
	return s
}

// StripRight returns s without white space at its end, as str.rstrip does.
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

// isSpace2 reports whether two bytes are U+0085 or U+00A0 in UTF-8.
func isSpace2(a, b byte) bool { return a == 0xc2 && (b == 0x85 || b == 0xa0) }

// isSpace3 reports whether three bytes are a white space character in UTF-8.
func isSpace3(a, b, c byte) bool {
	if a < 0xe1 || a > 0xe3 || b&0xc0 != 0x80 || c&0xc0 != 0x80 {
		return false
	}
	return IsSpace(rune(a&0x0f)<<12 | rune(b&0x3f)<<6 | rune(c&0x3f))
}
