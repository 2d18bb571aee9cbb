package sentence

import "strings"

// ByLine returns a splitter that applies s to each line of a text, so that a
// line feed always ends a sentence. Documents are split this way: a heading or
// list item without a full stop stays separate from the next paragraph.
func ByLine(s Splitter) Splitter {
	switch s.(type) {
	case newlines, fullWidth, byLine:
		return s // already ends sentences at line ends
	}
	return byLine{s}
}

type byLine struct{ splitter Splitter }

func (b byLine) AppendSpans(dst []Span, text string) []Span {
	for start := 0; start < len(text); {
		end := lineEnd(text, start)
		before := len(dst)
		dst = b.splitter.AppendSpans(dst, text[start:end])
		for i := before; i < len(dst); i++ {
			dst[i].Start += start
			dst[i].End += start
		}
		start = end + 1
	}
	return dst
}

// A newlines splitter returns every line that is not blank as a sentence, without its LF.
type newlines struct{}

func (newlines) AppendSpans(dst []Span, text string) []Span {
	for start := 0; start < len(text); {
		end := lineEnd(text, start)
		if skipSpace(text[:end], start) < end {
			dst = append(dst, Span{start, end})
		}
		start = end + 1
	}
	return dst
}

// lineEnd returns the position of the next LF at or after i, or the end of s.
func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}
