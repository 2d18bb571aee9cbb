package text

import (
	"bytes"
	"io"
	"unicode/utf8"

	"pretext/extract"
	"pretext/internal/pyspace"
)

// readBytes is the size of the read buffer, in bytes.
const readBytes = 256 << 10

// An assembler builds the current document.
//
// A line that is completely in the read buffer is cleaned in place and appended. Other
// lines arrive in pieces, which are cleaned and appended one by one. So no line needs a
// separate buffer.
type assembler struct {
	text []byte // cleaned lines joined by LF, then the line that is read in pieces
	over bool   // the document is too large; text stays empty until the document ends

	inLine bool   // a line has begun
	start  int    // offset in text where the line begins
	solid  bool   // the line has characters other than white space
	full   bool   // the limit is reached: only white space may follow
	carry  []byte // the last bytes of the line, an incomplete character
	piece  []byte // scratch
}

// readLines reads a source in the format of [NewLines]: one sentence per line.
func (r *Reader) readLines(src io.Reader) error {
	buf := make([]byte, readBytes)
	for {
		n, err := src.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				r.addPiece(b)
				break
			}
			var err error
			if r.lines.inLine {
				r.addPiece(b[:end])
				err = r.endLine()
			} else {
				err = r.addLine(b[:end])
			}
			if err != nil {
				return err
			}
			b = b[end+1:]
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if r.lines.inLine {
		return r.endLine()
	}
	return nil
}

// addLine adds a whole line.
func (r *Reader) addLine(line []byte) error {
	a := &r.lines
	line = dropCR(line)
	if !utf8.Valid(line) {
		var dropped int
		a.piece, dropped = AppendValid(a.piece[:0], line)
		r.countInvalid(dropped)
		line = a.piece
	}
	line = Strip(line)
	r.nextLine()
	if len(line) == 0 {
		return r.endDocument()
	}
	if a.over {
		return nil
	}
	r.begin(r.current.Line - 1)
	a.text = append(a.text, line...)
	if len(a.text) > r.limit {
		a.tooLarge()
	}
	return nil
}

// begin prepares the text for the line with the given number.
func (r *Reader) begin(line int64) {
	if len(r.lines.text) == 0 {
		r.began = Place{r.current.File, line}
		return
	}
	r.lines.text = append(r.lines.text, '\n')
}

func (a *assembler) tooLarge() {
	a.over, a.full, a.text, a.start = true, false, a.text[:0], 0
}

func (r *Reader) nextLine() {
	r.stats.Lines++
	r.current.Line++
}

// addPiece adds bytes of a line that is not completely in the read buffer.
func (r *Reader) addPiece(b []byte) {
	a := &r.lines
	if !a.inLine {
		a.inLine, a.solid, a.full, a.start = true, false, false, len(a.text)
	}
	a.carry = append(a.carry, dropCR(b)...)
	whole, rest := CutIncomplete(a.carry)
	r.addClean(whole)
	a.carry = a.carry[:copy(a.carry, rest)]
}

// addClean adds valid bytes of a line that is read in pieces. The bytes must end with a
// complete character.
func (r *Reader) addClean(b []byte) {
	a := &r.lines
	var dropped int
	a.piece, dropped = AppendValid(a.piece[:0], b)
	r.countInvalid(dropped)
	b = a.piece
	if !a.solid || a.full {
		b = pyspace.StripLeft(b)
	}
	if len(b) == 0 {
		return
	}
	if a.full {
		a.tooLarge()
	}
	if !a.solid {
		a.solid = true
		if !a.over {
			r.begin(r.current.Line)
		}
	}
	if a.over {
		return
	}
	a.text = append(a.text, b...)
	if len(a.text) <= r.limit {
		return
	}
	// The excess may be white space, which does not count at the end of a line.
	a.text = a.text[:a.start+len(pyspace.StripRight(a.text[a.start:]))]
	if len(a.text) > r.limit {
		a.tooLarge()
		return
	}
	a.full = true
}

// endLine ends a line that was read in pieces.
func (r *Reader) endLine() error {
	a := &r.lines
	if len(a.carry) > 0 {
		r.addClean(a.carry)
		a.carry = a.carry[:0]
	}
	a.inLine = false
	r.nextLine()
	if !a.solid {
		return r.endDocument()
	}
	if !a.over {
		a.text = a.text[:a.start+len(pyspace.StripRight(a.text[a.start:]))]
	}
	a.full = false
	return nil
}

// endDocument yields the current document if it has a line, or counts it as a reject.
func (r *Reader) endDocument() error {
	a := &r.lines
	switch {
	case a.over:
		a.over = false
		r.reject(extract.RejectTooLarge, r.began)
		return nil
	case len(a.text) == 0:
		return nil
	}
	doc := &extract.Document{
		ID:     textID(a.text),
		Text:   string(a.text),
		Source: baseName(r.began.File),
		Lang:   r.opts.Lang,
	}
	a.text = a.text[:0]
	return r.emit(doc)
}
