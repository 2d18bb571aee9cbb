package books

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"pretext/extract"
	"pretext/extract/text"
)

// maxFileBytes is how much of a text file is read before it is too large,
// whatever it holds: an archive of a few MB may unpack to many GB of blanks.
const maxFileBytes = 512 << 20

// errRejected ends the reading of a book; the reason stands in the collector.
var errRejected = errors.New("rejected")

// A collector takes the bytes of a text file and keeps its lines, in a form
// that the layout can be decided from at the end:
//
//	file  = { line | LF }     LF alone: one or more blank lines
//	line  = indent bytes LF   indent: one byte, '!' + columns up to 90
//
// The bytes of a line are without the blanks around them. They are not yet
// known to be UTF-8.
type collector struct {
	limit     int   // of the text, in bytes
	fileLimit int64 // of the file
	out       []byte
	size      int // of the text so far: lines, and a byte between two
	reject    extract.Reject

	inLine  bool
	columns int  // of blanks before the line
	start   int  // where the line begins in out, -1 while it is blank
	full    bool // the line is at the limit: only blanks may follow
	afterCR bool

	bytes    int64 // of the file
	controls int64 // control characters among them
}

// collect reads a text file to its end. Where it returns errRejected, c.reject
// says why.
func (c *collector) collect(r io.Reader) error {
	c.start = -1
	buf := make([]byte, 64<<10)
	carried := 0 // bytes at the head of buf that begin a character
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

// isControl tells control characters that text does not have. Backspace, form
// feed, escape, the end mark of DOS and the like are seen in old files.
func isControl(b byte) bool {
	return b < 0x08 || b >= 0x0E && b < 0x20 && b != 0x1A && b != 0x1B || b == 0x7F
}

// controlTable has 1 for every control character.
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

// add takes the next bytes of the file, or reports false.
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
	lf, cr := -1, -1 // the next of each, found once
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

// indexFrom returns the place of the next c at or after at, len(b) where there
// is none.
func indexFrom(b []byte, at int, c byte) int {
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return len(b)
}

// piece takes bytes of a line.
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

// indent counts the blanks at the head of a line, and returns what is after
// them.
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

// plain reads a text file.
func (r *Reader) plain(name string, src io.Reader) (book, error) {
	b := book{name: name}
	src, wide, err := decodeWide(src)
	if err == errRejected {
		b.reject, b.note = extract.RejectEncoding, "UTF-32"
		return b, nil
	}
	if err != nil {
		return b, err
	}
	c := &collector{limit: r.limit + 1, fileLimit: r.fileLimit}
	if err := c.collect(src); err != nil {
		b.reject = c.reject
		if err == errRejected {
			err = nil
		}
		return b, err
	}
	lines, recoded, ok := r.decode(&b, c.out)
	if !ok {
		return b, nil
	}
	if wide || recoded {
		r.stats.Recoded++
	}
	b.text = r.paragraphs(lines)
	if len(b.text) > r.limit {
		b.text, b.reject = nil, extract.RejectTooLarge
	}
	return b, nil
}

// decodeWide drops a byte order mark, and turns UTF-16 into UTF-8.
func decodeWide(src io.Reader) (_ io.Reader, wide bool, err error) {
	var head [4]byte
	n, err := io.ReadFull(src, head[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, false, err
	}
	mark := head[:n]
	rest := func(skip int) io.Reader {
		if err != nil { // the source ended
			return bytes.NewReader(mark[skip:])
		}
		return io.MultiReader(bytes.NewReader(mark[skip:]), src)
	}
	utf16 := func(order unicode.Endianness) io.Reader {
		return unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder().Reader(rest(2))
	}
	switch {
	case bytes.HasPrefix(mark, []byte("\xEF\xBB\xBF")):
		return rest(3), false, nil
	case string(mark) == "\xFF\xFE\x00\x00", string(mark) == "\x00\x00\xFE\xFF":
		return nil, false, errRejected
	case bytes.HasPrefix(mark, []byte("\xFF\xFE")):
		return utf16(unicode.LittleEndian), true, nil
	case bytes.HasPrefix(mark, []byte("\xFE\xFF")):
		return utf16(unicode.BigEndian), true, nil
	}
	return rest(0), false, nil
}

// decode makes UTF-8 of collected lines, or rejects the book.
func (r *Reader) decode(b *book, lines []byte) (_ []byte, recoded, ok bool) {
	if utf8.Valid(lines) {
		return lines, false, true
	}
	s := survey(lines)
	switch {
	case s.western():
		b.note = "not UTF-8, read as Windows-1252"
		return fromWindows1252(lines), true, true
	case s.invalid*10 > s.solid || s.invalid > s.runes && s.invalid*100 > s.solid:
		b.reject, b.note = extract.RejectEncoding, "neither UTF-8 nor Windows-1252"
		return nil, false, false
	}
	valid, dropped := text.AppendValid(lines[:0], lines)
	r.stats.InvalidBytes += int64(dropped)
	b.note = "bytes that are not UTF-8 were dropped"
	return valid, false, true
}

// high counts the bytes of a text that are not ASCII.
type high struct {
	solid   int // bytes that are not blank
	runes   int // characters of UTF-8 above ASCII
	invalid int // bytes that are not UTF-8
	letters int // those of them that are Western European letters or punctuation in Windows-1252
	nothing int // those that are nothing there
}

func survey(b []byte) high {
	var s high
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			if !text.IsBlank(rune(c)) {
				s.solid++
			}
			b = b[1:]
			continue
		}
		ch, n := utf8.DecodeRune(b)
		s.solid += n
		if ch == utf8.RuneError && n == 1 {
			s.invalid++
			s.windows1252(b[0])
		} else {
			s.runes++
		}
		b = b[n:]
	}
	return s
}

func (s *high) windows1252(c byte) {
	switch {
	case c == 0x81 || c == 0x8D || c == 0x8F || c == 0x90 || c == 0x9D:
		s.nothing++
	case c >= 0xC0 && c != 0xD7 && c != 0xF7, // letters
		c >= 0x91 && c <= 0x97,                           // quotation marks, dashes
		c == 0x82 || c == 0x84 || c == 0x85 || c == 0x8B, // low quotation marks, ellipsis
		c == 0x8A || c == 0x8C || c == 0x8E || c == 0x9A || c == 0x9B || c == 0x9C || c == 0x9E || c == 0x9F,
		c == 0xA0 || c == 0xA1 || c == 0xA3 || c == 0xA7 || c == 0xAB || c == 0xB0 || c == 0xB7 || c == 0xBB || c == 0xBF:
		s.letters++
	}
}

// western reports whether the bytes that are not UTF-8 are plausible as
// Windows-1252: they outnumber characters that are UTF-8, are at most three in
// ten, nearly all letters or marks of text, and all defined. Text in Cyrillic,
// Greek or East Asian encodings has far more high bytes than that.
func (s high) western() bool {
	return s.invalid > s.runes && s.nothing == 0 && s.invalid*10 <= s.solid*3 && s.letters*10 >= s.invalid*9
}

func fromWindows1252(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/16)
	for _, c := range b {
		if c < utf8.RuneSelf {
			out = append(out, c)
			continue
		}
		out = utf8.AppendRune(out, charmap.Windows1252.DecodeByte(c))
	}
	return out
}
