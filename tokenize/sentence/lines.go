package sentence

import "strings"

// ByLine returns a splitter that gives each line of a text to s alone, so that
// a line end (LF) always ends a sentence. This is how documents are split: a
// heading or list item without a full stop then stays apart from the
// paragraph below it.
func ByLine(s Splitter) Splitter {
	switch s.(type) {
	case newlines, fullWidth, byLine:
		return s // end at lines already
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

// newlines takes every line that is not blank as a sentence, without its LF.
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

// lineEnd returns the position of the next LF at or after i, or of the end.
func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}
