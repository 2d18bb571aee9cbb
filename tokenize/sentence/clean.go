package sentence

import (
	"strings"

	"pretext/internal/pyspace"
)

// Strip returns s without leading and trailing white space, as Python's
// str.strip does.
func Strip(s string) string { return pyspace.Strip(s) }

// AppendClean appends a normalized sentence to dst: every run of CR and LF
// becomes one space, and surrounding white space is removed as by [Strip]. If
// the sentence is only white space, it appends nothing, and the caller must
// drop the sentence. AppendClean does not change a sentence that is already
// clean.
func AppendClean(dst []byte, sentence string) []byte {
	sentence = Strip(sentence)
	for {
		i := indexLineEnd(sentence)
		dst = append(dst, sentence[:i]...)
		if i == len(sentence) {
			return dst
		}
		dst = append(dst, ' ')
		for sentence[i] == '\n' || sentence[i] == '\r' { // s[i] exists: Strip removed a final line end
			i++
		}
		sentence = sentence[i:]
	}
}

// indexLineEnd returns the position of the first CR or LF in s, or len(s).
func indexLineEnd(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	if i := strings.IndexByte(s, '\r'); i >= 0 {
		return i
	}
	return len(s)
}

// spaceWidth returns the length in bytes of the white space character at s[i:],
// or 0 if there is none. The result equals that of [pyspace.Width]; a table
// lookup makes it faster.
func spaceWidth(s string, i int) int {
	c := byteClass[s[i]]
	if c&byteMaybeGap != 0 {
		return pyspace.Width(s[i:])
	}
	return int(c & byteSpace) // the value of this bit is 1
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

// skipNonSpace returns the first position at or after i that is white space, or
// the end of s.
func skipNonSpace(s string, i int) int {
	for i < len(s) {
		if spaceWidth(s, i) > 0 {
			break
		}
		i++
	}
	return i
}

// trimEnd returns the end of s[start:end] without trailing white space. The result is at
// least start.
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
