package wikitext

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A Hole counts how often a template was dropped from inside a sentence, list item or
// definition. At these places the text has a hole.
type Hole struct {
	Uses  int
	First string // title of the first page with a hole
}

// A holeTally counts holes by template, in bounded memory.
type holeTally struct {
	uses  Tally
	first map[string]string // name → title of a page
	page  int               // number of holes in the last page
}

// losses counts the uses of templates, and those that were dropped.
type losses struct {
	uses    useTally
	dropped Tally
	holes   holeTally
}

// maxFirst is the maximum number of pages that a holeTally remembers.
const maxFirst = 2 * tallySize

// add counts n holes of a template on the page with a title.
func (h *holeTally) add(name []byte, n int, title string) {
	h.page += n
	name = cutName(name)
	h.uses.Add(name, n)
	if h.first == nil {
		h.first = map[string]string{}
	}
	if _, ok := h.first[string(name)]; !ok && len(h.first) < maxFirst {
		h.first[string(name)] = title
	}
}

// empty reports whether no hole has been counted since the last reset.
func (h *holeTally) empty() bool { return len(h.uses.names) == 0 && h.uses.slack == 0 }

// maxLine is the number of bytes on either side of a template that inSentence
// examines.
const maxLine = 1 << 10

// inSentence reports whether the template src[i:e] is part of a sentence, list item or
// definition, so that dropping it leaves a hole. A template alone on a line, or on
// several lines, is a box. A template after the end of a sentence, or attached to a
// word or mark, is a footnote.
func inSentence(src []byte, i, e int) bool {
	if bytes.IndexByte(src[i:e], '\n') >= 0 {
		return false
	}
	start := max(0, i-maxLine)
	before := src[start:i]
	if k := bytes.LastIndexByte(before, '\n'); k >= 0 {
		before = before[k+1:]
	}
	after := src[e:min(len(src), e+maxLine)]
	if k := bytes.IndexByte(after, '\n'); k >= 0 {
		after = after[:k]
	}
	item := len(before) > 0 && bytes.IndexByte([]byte("*#:;"), before[0]) >= 0
	before = bytes.TrimLeft(before, "*#:; '")
	attached := len(before) > 0 && !isBlank(before[len(before)-1])
	before = bytes.TrimRight(before, " \t'")
	after = bytes.TrimRight(after, " \t'")
	switch {
	case len(before) == 0:
		after = bytes.TrimLeft(after, " \t'")
		r, _ := utf8.DecodeRune(after) // does the line continue with text?
		return item || len(after) > 0 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '(' || r == ',' || r == '-' || r == '–')
	case attached:
		return attachedToText(before, after)
	}
	last, _ := utf8.DecodeLastRune(before)
	return len(after) > 0 || !endsSentence(last)
}

// attachedToText reports whether a template without a space before it is text and not a
// footnote. before and after are the text on either side.
func attachedToText(before, after []byte) bool {
	last, _ := utf8.DecodeLastRune(before)
	next, _ := utf8.DecodeRune(after)
	switch {
	case last == '>' || last == '}' || last == ')' || last == '"' || last == '”' || last == '»' || last == ',' || last == ';' || endsSentence(last):
		return false // after a footnote or mark
	case isIdeographic(last):
		return true // a script without spaces between words
	case unicode.IsLetter(last) || unicode.IsDigit(last) || last == ']':
		return len(after) > 0 && (unicode.IsLetter(next) || unicode.IsDigit(next))
	}
	return true // an opening parenthesis, a dash
}

// endsSentence reports whether r ends a sentence.
func endsSentence(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '。', '！', '？', '।', '؟', '۔':
		return true
	}
	return false
}

// isIdeographic reports whether r belongs to a script without spaces between words,
// or is a mark inside such text.
func isIdeographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r == 'ー' || r == '、' || r == '，' || r == '・' || r == '」' || r == '』' || r == '：'
}
