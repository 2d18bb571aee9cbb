package wikitext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// An output is the text written so far, with the state of its last line.
//
// The place where markup was removed is a *seam*. The next text is joined to
// the line so that no trace remains: no double space, no space before a comma,
// no "(; )". The repair only looks at the text on both sides of the seam. So an
// "f()" or " ," in the source is never changed, and the cost depends on the
// number of removals and not on the length of the text.
type output struct {
	out  []byte
	base int  // out[:base] is the caller's text and is not changed
	line int  // where the last line begins
	bol  bool // the last line is still empty
	seam bool // something was removed since the last write
	soft bool // the last line is a paragraph that the next line may continue
	head bool // a heading is being rendered: it must not write headings before it
}

// A writer writes the text of a page. It has no access to the source.
type writer struct {
	output
	quotes
	heads pendingHeadings
}

// start begins the text of a page, which is appended to dst.
func (w *writer) start(dst []byte) {
	w.output = output{out: dst, base: len(dst), line: len(dst), bol: true}
	w.quotes.reset(len(dst))
	w.heads.reset()
}

// finish returns the text without trailing white space. The writer keeps no
// reference to the caller's memory.
func (w *writer) finish() []byte {
	out := w.out[:w.base+len(bytes.TrimRight(w.out[w.base:], " \t\r\n"))]
	w.out = nil
	return out
}

// singleSpaces replaces runs of spaces in text[from:] by one, as a browser shows them.
func singleSpaces(text []byte, from int) []byte {
	first := doubleSpace(text[from:])
	if first < 0 {
		return text // most pages
	}
	out, rest := text[:from+first+1], text[from+first+1:] // out ends with a space
	for {
		for len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
		n := doubleSpace(rest)
		if n < 0 {
			return append(out, rest...)
		}
		out, rest = append(out, rest[:n+1]...), rest[n+1:]
	}
}

// doubleSpace returns where the first two spaces in a row are in text, or -1 if there are
// none. It compares eight bytes at a time: most bytes of a text are in no such pair, and
// every sixth is a space.
func doubleSpace(text []byte) int {
	const (
		spaces = 0x2020202020202020
		ones   = 0x0101010101010101
	)
	i := 0
	for ; i+9 <= len(text); i += 8 {
		// A byte of x is 0 where a space is followed by a space. The lowest bit of the
		// second value that is set belongs to the first such byte.
		x := (binary.LittleEndian.Uint64(text[i:]) ^ spaces) | (binary.LittleEndian.Uint64(text[i+1:]) ^ spaces)
		if zeros := (x - ones) &^ x & (ones << 7); zeros != 0 {
			return i + bits.TrailingZeros64(zeros)/8
		}
	}
	for ; i+1 < len(text); i++ {
		if text[i] == ' ' && text[i+1] == ' ' {
			return i
		}
	}
	return -1
}

// removed marks the end of the output as a place where markup was removed.
func (w *writer) removed() { w.seam = true }

// text writes plain text.
func (w *writer) text(p []byte) {
	if len(p) == 0 {
		return
	}
	if w.bol || w.seam {
		if p = w.join(p); len(p) == 0 {
			return
		}
	}
	w.out = append(w.out, p...)
}

// str writes a string of plain text.
func (w *writer) str(t string) {
	if w.bol || w.seam {
		var buf [64]byte // strings written here are short: no allocation
		w.text(append(buf[:0], t...))
		return
	}
	w.out = append(w.out, t...)
}

// spaced writes a text. It skips the text's leading space if the output ends with a
// space.
func (w *writer) spaced(text string) {
	if n := len(w.out); text[0] == ' ' && n > w.line && w.out[n-1] == ' ' {
		text = text[1:]
	}
	w.str(text)
}

// breakLine ends the output line, unless the line is empty.
func (w *writer) breakLine() {
	n := len(w.out)
	for n > w.line && isBlank(w.out[n-1]) {
		n--
	}
	w.out = w.out[:n]
	if n > w.line {
		w.out = append(w.out, '\n')
		w.line = len(w.out)
	}
	w.bol, w.seam, w.soft = true, false, false
}

// endLine ends both the source line and the output line.
func (w *writer) endLine() {
	w.endQuotes()
	w.breakLine()
}

// softBreak ends a source line inside a paragraph: it writes a space.
func (w *writer) softBreak() {
	w.endQuotes()
	if !w.bol {
		w.str(" ")
	}
	w.soft = false
}

// begin starts an output line. It writes pending headings first.
func (w *writer) begin() {
	if !w.head {
		w.writeHeadings()
	}
	w.bol = false
}

// A diversion is the saved state of a writer while text goes to a separate place and
// not to the page.
type diversion struct {
	output
	quotes
}

// divert starts text that is kept apart from the page: a heading, or an argument that
// must be examined.
func (w *writer) divert() diversion {
	saved := diversion{w.output, w.quotes}
	at := len(w.out)
	w.output = output{out: w.out, base: w.base, line: at, bol: true, head: true}
	w.quotes.reset(at)
	return saved
}

// resume ends the text begun by divert and returns it. The text is valid until the next
// write.
func (w *writer) resume(saved diversion) []byte {
	w.endQuotes()
	at := len(saved.out)
	text := w.out[at:]
	saved.out = w.out[:at]
	w.output, w.quotes = saved.output, saved.quotes
	return text
}

// parenthesisReach is the number of bytes in which inParentheses searches backwards for
// a parenthesis.
const parenthesisReach = 256

// inParentheses reports whether a parenthesis is open at the end of the output
// line.
func (w *writer) inParentheses() bool {
	tail := w.out[w.line:]
	tail = tail[max(0, len(tail)-parenthesisReach):]
	return bytes.LastIndexByte(tail, '(') > bytes.LastIndexByte(tail, ')') ||
		bytes.LastIndex(tail, []byte("（")) > bytes.LastIndex(tail, []byte("）"))
}

// join repairs the seam between the last line of the output and the text p, and
// returns the part of p that is still to be written. The seam stays open while
// only white space is written.
func (w *writer) join(p []byte) []byte {
	if w.bol {
		return w.joinAtStart(p)
	}
	// In "a {{x}}: b" the space is not the colon's; in "a {{x}} : b" it is, as in French.
	colon := p[0] == ':' && (standsAlone(p, 1) || p[1] == ')')
	for len(p) > 0 { // each iteration makes one repair
		end := len(w.out)
		for end > w.line && w.out[end-1] == ' ' {
			end--
		}
		spaced := end < len(w.out)
		last, length := lastMark(w.out[w.line:end])
		first, n := firstMark(p)
		switch rest := bytes.TrimLeft(p, " "); {
		case first == markSpace && (spaced || last == markOpen):
			p = p[1:]
		case first == markSpace && len(rest) == 0:
			w.out = append(w.out, ' ')
			return nil
		case first == markSpace && closesUp(rest):
			p = rest
		case last == markOpen && first == markSeparator: // "(, 1900"
			p = p[n:]
		case last == markOpen && first == markClose && w.out[end-length] != '[': // "()"
			p = p[n:]
			w.out = bytes.TrimRight(w.out[:end-length], " ")
			w.out = w.out[:max(len(w.out), w.line)]
			if len(w.out) == w.line {
				w.bol = true // nothing is left of the line
				return w.joinAtStart(p)
			}
		case last == markOpen && isConnector(p): // "(A – B)", where A and B were removed
			return nil
		case last == markSeparator && (first == markClose || first == markStop && standsAlone(p, n)): // ",)"
			w.out = w.out[:end-length]
		case last == markSeparator && first == markSeparator && standsAlone(p, n): // ", ,"
			p = p[n:]
		case spaced && (closesUp(p) || colon && p[0] == ':'): // " ,"
			w.out = w.out[:end]
		default:
			w.seam = false
			return p
		}
	}
	w.seam = true
	return p
}

// joinAtStart removes white space at the start of a line and, after a removal,
// also the punctuation that belonged to the removed markup. It returns the part
// of p still to be written.
func (w *writer) joinAtStart(p []byte) []byte {
	p = trimBlankLeft(p)
	for w.seam && len(p) > 0 {
		first, n := firstMark(p)
		if first != markSeparator && !(first == markStop && len(p) == n) {
			break
		}
		p = trimBlankLeft(p[n:])
	}
	if len(p) == 0 {
		return nil
	}
	w.begin()
	w.seam = false
	return p
}

// A mark is a class of characters. The repair of seams treats all characters of a class
// alike.
type mark uint8

const (
	markOther mark = iota
	markSpace
	markOpen      // ( and its full-width form
	markClose     // )
	markSeparator // , ; : and the forms of East Asian text
	markStop      // .
)

// firstMark returns the class and length of the first character of p.
func firstMark(p []byte) (m mark, n int) {
	switch p[0] {
	case ' ':
		return markSpace, 1
	case '(', '[':
		return markOpen, 1
	case ')', ']':
		return markClose, 1
	case ',', ';', ':':
		return markSeparator, 1
	case '.':
		return markStop, 1
	case 0xE3, 0xEF:
		if len(p) >= 3 {
			return wideMark(p[:3]), 3
		}
	}
	return markOther, 1
}

// lastMark returns the class and length of the last character of p.
func lastMark(p []byte) (m mark, n int) {
	if len(p) == 0 {
		return markOther, 0
	}
	if c := p[len(p)-1]; c < 0x80 {
		return firstMark(p[len(p)-1:])
	}
	if len(p) >= 3 {
		return wideMark(p[len(p)-3:]), 3
	}
	return markOther, 1
}

// wideMark returns the class of p, one full-width punctuation character of East Asian
// text (three bytes in UTF-8).
func wideMark(p []byte) mark {
	switch string(p) {
	case "（":
		return markOpen
	case "）":
		return markClose
	case "、", "，", "；", "：":
		return markSeparator
	case "。":
		return markStop
	}
	return markOther
}

// closesUp reports whether p begins with punctuation that has no space before it.
func closesUp(p []byte) bool {
	m, n := firstMark(p)
	return m == markSeparator && p[0] != ':' || m == markClose || m == markStop && standsAlone(p, n)
}

// isConnector reports whether p is only a connecting word or sign, such as "or" or "/",
// with optional spaces after it.
func isConnector(p []byte) bool {
	switch string(bytes.TrimRight(p, " ")) {
	case "/", "–", "—", "-", "·", "|", "&", "+", "or", "and":
		return true
	}
	return false
}

// standsAlone reports whether the punctuation mark of n bytes at the start of p is
// followed by white space or nothing. In ".5", ",5" and "..." the first mark is not.
// Marks of East Asian text (n > 1) always count as alone.
func standsAlone(p []byte, n int) bool {
	return len(p) == n || n > 1 || p[n] == ' ' || p[n] == '\n'
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func trimBlankLeft(p []byte) []byte {
	for len(p) > 0 && isBlank(p[0]) {
		p = p[1:]
	}
	return p
}
