package books

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"pretext/extract"
	"pretext/extract/text"
)

// maxFileBytes is the maximum size of a text file after decompression: an
// archive of a few MB may expand to many GB of white space.
const maxFileBytes = 512 << 20

// errRejected stops reading a book that will be rejected.
var errRejected = errors.New("rejected")

// A collector receives the bytes of a text file and stores its lines in a form
// from which the layout can be determined at the end:
//
//	file  = { line | LF }     LF alone: one or more blank lines
//	line  = indent bytes LF   indent: one byte, '!' + columns up to 90
//
// The bytes of a line have no white space at their ends and may be invalid UTF-8.
type collector struct {
	limit     int   // maximum size of the text in bytes
	fileLimit int64 // maximum size of the file in bytes
	buf       []byte
	out       []byte
	size      int // size of the text so far, with one byte after each line
	reject    extract.Reject

	inLine  bool
	columns int  // columns of white space before the line
	start   int  // offset in out where the line begins; -1 while the line is blank
	full    bool // the text has reached its limit: only white space may follow
	afterCR bool

	bytes    int64 // bytes of the file read so far
	controls int64 // number of control characters in them
}

// collect reads a text file to its end. If it returns errRejected, c.reject is
// the reason.
func (c *collector) collect(r io.Reader) error {
	c.start = -1
	buf := c.buf
	carried := 0 // number of bytes at the start of buf that begin a character
	for {
		n, err := r.Read(buf[carried:])
		whole, rest := text.CutIncomplete(buf[:carried+n])
		if err == io.EOF {
			whole = buf[:carried+n]
		}
		if !c.add(whole) {
			return errRejected
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		carried = copy(buf, rest)
	}
	if c.inLine {
		c.endLine()
	}
	if c.controls*100 > c.bytes {
		c.reject = extract.RejectBinary
		return errRejected
	}
	return nil
}

// isControl reports whether b is a control character that does not occur in
// text files. Backspace, form feed, escape, the DOS end mark (0x1A) and similar
// characters occur in old files and do not count.
func isControl(b byte) bool {
	return b < 0x08 || b >= 0x0E && b < 0x20 && b != 0x1A && b != 0x1B || b == 0x7F
}

// controlTable has 1 for each byte for which isControl is true.
var controlTable = func() (t [256]uint8) {
	for i := range t {
		if isControl(byte(i)) {
			t[i] = 1
		}
	}
	return t
}()

func countControls(b []byte) (n int) {
	for _, c := range b {
		n += int(controlTable[c])
	}
	return n
}

// add adds the next bytes of the file. It returns false if the book is
// rejected.
func (c *collector) add(b []byte) bool {
	c.bytes += int64(len(b))
	c.controls += int64(countControls(b))
	switch {
	case bytes.IndexByte(b, 0) >= 0:
		c.reject = extract.RejectBinary
	case c.bytes > c.fileLimit:
		c.reject = extract.RejectTooLarge
	}
	if c.afterCR && len(b) > 0 {
		c.afterCR = false
		if b[0] == '\n' {
			b = b[1:]
		}
	}
	lf, cr := -1, -1 // offsets of the next LF and CR
	for at := 0; at < len(b) && c.reject == ""; {
		if lf < at {
			lf = indexFrom(b, at, '\n')
		}
		if cr < at {
			cr = indexFrom(b, at, '\r')
		}
		end := min(lf, cr)
		c.piece(b[at:end])
		if end == len(b) {
			break
		}
		c.endLine()
		at = end + 1
		if end == cr {
			if at == len(b) {
				c.afterCR = true
			} else if b[at] == '\n' {
				at++
			}
		}
	}
	return c.reject == ""
}

// indexFrom returns the offset of the first byte c in b at or after offset at,
// or len(b).
func indexFrom(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return len(b)
}

// piece adds bytes to the current line.
func (c *collector) piece(b []byte) {
	if len(b) == 0 {
		return
	}
	c.inLine = true
	if c.start < 0 {
		if b = c.indent(b); len(b) == 0 {
			return
		}
		c.out = append(c.out, '!'+byte(min(c.columns, 90)))
		c.start = len(c.out)
	}
	if c.full {
		if len(text.Strip(b)) > 0 {
			c.reject = extract.RejectTooLarge
		}
		return
	}
	c.out = append(c.out, b...)
	if c.size+len(c.out)-c.start <= c.limit {
		return
	}
	c.trimLine()
	c.full = true
	if c.size+len(c.out)-c.start > c.limit {
		c.reject = extract.RejectTooLarge
	}
}

// indent counts the columns of white space at the start of a line and returns the bytes
// after it.
func (c *collector) indent(b []byte) []byte {
	for len(b) > 0 {
		r, n := rune(b[0]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(b)
		}
		switch {
		case r > ' ' && r < utf8.RuneSelf:
			return b
		case r == '\t':
			c.columns += 8 - c.columns%8
		case r == '\u3000':
			c.columns += 2
		case text.IsBlank(r):
			c.columns++
		default:
			return b
		}
		b = b[n:]
	}
	return b
}

func (c *collector) trimLine() {
	c.out = c.out[:c.start+len(text.Strip(c.out[c.start:]))]
}

func (c *collector) endLine() {
	if c.start < 0 {
		if n := len(c.out); n > 0 && !bytes.HasSuffix(c.out, []byte("\n\n")) {
			c.out = append(c.out, '\n')
		}
	} else {
		c.trimLine()
		c.size += len(c.out) - c.start + 1
		c.out = append(c.out, '\n')
	}
	c.inLine, c.start, c.columns, c.full = false, -1, 0, false
}

// plain reads a text file as one book.
func (r *Reader) plain(name string, src io.Reader) (book, error) {
	b := book{name: name}
	d, err := r.open(src)
	if err != nil {
		return b, err
	}
	if d.reject != "" {
		b.reject, b.note = extract.RejectEncoding, d.reject
		return b, nil
	}
	b.note = d.note()
	if r.buf == nil {
		r.buf = make([]byte, 64<<10)
	}
	c := &collector{limit: r.limit + 1, fileLimit: r.fileLimit, buf: r.buf}
	if err := c.collect(d); err != nil {
		b.reject = c.reject
		if err == errRejected {
			err = nil
		}
		return b, err
	}
	if d.spoilt(c.out) {
		b.reject, b.note = extract.RejectEncoding, "not in the encoding "+d.name
		return b, nil
	}
	lines, recoded, ok := r.decode(&b, c.out)
	if !ok {
		return b, nil
	}
	if d.recoded || recoded {
		r.stats.Recoded++
	}
	b.text = r.paragraphs(lines)
	if len(b.text) > r.limit {
		b.text, b.reject = nil, extract.RejectTooLarge
	}
	return b, nil
}
