package sentence

import "pretext/internal/pyspace"

// Strip returns s without leading and trailing white space, as Python's
// str.strip does.
func Strip(s string) string { return pyspace.Strip(s) }

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
// s[i:], or 0 if another character is there. It is [pyspace.Width] with the
// look-up that decides about most characters drawn in front.
func spaceWidth(s string, i int) int {
	c := byteClass[s[i]]
	if c&byteMaybeGap != 0 {
		return pyspace.Width(s[i:])
	}
	return int(c & byteSpace) // the bit is 1
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
		width := pyspace.LastWidth(s[start:end])
		if width == 0 {
			break
		}
		end -= width
	}
	return end
}
