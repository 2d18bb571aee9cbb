package wikihtml

import (
	"strconv"
	"unicode/utf8"
)

// A writer writes text as plain wikitext. The only markup in its output are the marks
// that it adds.
type writer struct {
	out   []byte
	bol   bool // the line is still empty
	space bool // a space must be written before the next text
	level int  // level of the heading being written; 0: none
	lists int  // open lists
	pre   int  // number of open elements whose line ends are kept
}

// maxLists is the maximum number of list markers on a line.
const maxLists = 8

// gap is written where an element was dropped inside a line. It is an empty footnote,
// which package wikitext removes without a trace.
const gap = "<ref/>"

// newline ends the line. Inside a heading it is a space.
func (w *writer) newline() {
	if w.level > 0 {
		w.space = true
		return
	}
	if !w.bol {
		w.out = append(w.out, '\n', '\n')
	}
	w.bol, w.space = true, false
}

// begin begins a line, unless one is open, and writes the pending space.
func (w *writer) begin() {
	switch {
	case w.bol:
		for range min(w.lists, maxLists) {
			w.out = append(w.out, '*')
		}
		if w.lists > 0 && w.level == 0 {
			w.out = append(w.out, ' ')
		}
	case w.space:
		w.out = append(w.out, ' ')
	}
	w.bol, w.space = false, false
}

// markup writes wikitext inside a line.
func (w *writer) markup(text string) {
	w.begin()
	w.out = append(w.out, text...)
}

// heading begins a heading of a level, endHeading ends it.
func (w *writer) heading(level int) {
	w.newline()
	w.level = level
	for range level {
		w.out = append(w.out, '=')
	}
	w.out = append(w.out, ' ')
	w.bol = false
}

func (w *writer) endHeading() {
	if w.level == 0 {
		return
	}
	w.out = append(w.out, ' ')
	for range w.level {
		w.out = append(w.out, '=')
	}
	w.level = 0
	w.bol, w.space = false, false
	w.newline()
}

// text writes text. White space is collapsed.
func (w *writer) text(text []byte) {
	for len(text) > 0 {
		n := plain(text)
		if n > 0 {
			if w.bol || w.space {
				n = w.first(text, n)
			} else {
				w.out = append(w.out, text[:n]...)
			}
			text = text[n:]
			continue
		}
		text = text[w.special(text):]
	}
}

// first writes text[:n], which has no special characters, at the start of a line or after
// white space, and returns n. If the first byte would begin a list or a table at the start
// of a line, first writes only that byte, escaped, and returns 1.
func (w *writer) first(text []byte, n int) int {
	bol := w.bol
	w.begin()
	if c := text[0]; bol && (c == '*' || c == '#' || c == ':' || c == ';' || c == '!' || c == '-') {
		w.escape(c)
		return 1
	}
	w.out = append(w.out, text[:n]...)
	return n
}

// special writes the character at the start of text, which has a meaning in wikitext.
// It returns the number of bytes used.
func (w *writer) special(text []byte) int {
	switch c := text[0]; c {
	case '\n':
		if w.pre > 0 {
			w.newline()
			return 1
		}
		w.space = true
	case ' ', '\t', '\r', '\f':
		w.space = true
	case '\'', '_', '-':
		w.begin()
		if len(w.out) > 0 && w.out[len(w.out)-1] == c {
			w.escape(c)
		} else {
			w.out = append(w.out, c)
		}
	default:
		if c < 0x20 {
			return 1
		}
		w.begin()
		w.escape(c)
	}
	return 1
}

// escape writes a character as a reference to it.
func (w *writer) escape(c byte) {
	w.out = append(w.out, '&', '#')
	w.out = strconv.AppendInt(w.out, int64(c), 10)
	w.out = append(w.out, ';')
}

// plain returns the number of bytes at the start of text that have no special meaning
// in wikitext.
func plain(text []byte) int {
	for i, c := range text {
		if c < utf8.RuneSelf && marks[c] {
			return i
		}
	}
	return len(text)
}

// marks are the characters that writer.special handles.
var marks = func() (t [utf8.RuneSelf]bool) {
	for c := range 0x21 {
		t[c] = true
	}
	for _, c := range "&<>[]{}|='_-\x7f" {
		t[c] = true
	}
	return t
}()
