package sentence

import "unicode/utf8"

// Strip returns s without leading and trailing white space, as Python's
// str.strip does. Python's white space is \t \n \v \f \r, U+001C to U+001F,
// space, U+0085, U+00A0, U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F,
// U+205F and U+3000: more than unicode.IsSpace knows (U+001C to U+001F).
func Strip(s string) string {
	start := skipSpace(s, 0)
	return s[start:trimEnd(s, start, len(s))]
}

// AppendClean appends a sentence to dst as the following stages take it: every
// run of CR and LF becomes one space, and white space around it is dropped as
// by [Strip]. Nothing is appended for a sentence of white space only; such a
// sentence is to be dropped. A clean sentence stays as it is.
func AppendClean(dst []byte, sentence string) []byte {
	sentence = Strip(sentence)
	for i := 0; i < len(sentence); {
		c := sentence[i]
		if c != '\n' && c != '\r' {
			dst = append(dst, c)
			i++
			continue
		}
		dst = append(dst, ' ')
		for i < len(sentence) && (sentence[i] == '\n' || sentence[i] == '\r') {
			i++
		}
	}
	return dst
}

// spaceWidth returns the length in bytes of the white space character at
// s[i:], or 0 if another character is there. White space is what Python's
// str.isspace and the \s of its re module accept; the two agree.
func spaceWidth(s string, i int) int {
	c := byteClass[s[i]]
	if c&byteMaybeGap != 0 {
		return wideSpaceWidth(s[i:])
	}
	return int(c & byteSpace) // the bit is 1
}

// wideSpaceWidth is [spaceWidth] for a character that is not ASCII.
func wideSpaceWidth(s string) int {
	if r, width := utf8.DecodeRuneInString(s); isWideSpace(r) {
		return width
	}
	return 0
}

// isWideSpace reports whether a character outside ASCII is white space.
func isWideSpace(r rune) bool {
	switch {
	case r == 0x85, r == 0xa0, r == 0x1680, 0x2000 <= r && r <= 0x200a,
		r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

// skipSpace returns the first position at or after i that is not white space.
func skipSpace(s string, i int) int {
	for i < len(s) {
		width := spaceWidth(s, i)
		if width == 0 {
			break
		}
		i += width
	}
	return i
}

// skipNonSpace returns the first position at or after i that is white space.
func skipNonSpace(s string, i int) int {
	for i < len(s) {
		if spaceWidth(s, i) > 0 {
			break
		}
		i++
	}
	return i
}

// trimEnd returns end moved back over white space, not further than start.
func trimEnd(s string, start, end int) int {
	for end > start {
		r, width := utf8.DecodeLastRuneInString(s[start:end])
		if r < utf8.RuneSelf {
			if byteClass[r]&byteSpace == 0 {
				break
			}
		} else if !isWideSpace(r) {
			break
		}
		end -= width
	}
	return end
}
