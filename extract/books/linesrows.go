package books

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"unicode/utf8"

	"pretext/extract"
	"pretext/extract/parquet"
	"pretext/extract/text"
)

// A cutter groups the lines or rows of a file into documents.
type cutter struct {
	r     *Reader
	name  string // name of the file, as returned by cleanName
	per   int    // number of lines or rows in a document
	text  []byte
	lines int   // number of lines in the open document
	first int64 // number of the first line or row of the open document, from 1
}

// add adds the line or row with the given number, counted from 1. Blank lines
// and rows are ignored.
func (c *cutter) add(line []byte, number int64) error {
	c.r.stats.Lines++
	valid := line
	if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 { // NULs are dropped too
		var dropped int
		valid, dropped = text.AppendValid(nil, bytes.ReplaceAll(line, []byte{0}, []byte{0xFF}))
		c.r.stats.InvalidBytes += int64(dropped)
	}
	valid = text.Strip(valid)
	if len(valid) == 0 {
		return nil
	}
	if len(valid) > c.r.limit {
		return c.r.finish(book{name: c.id(number), reject: extract.RejectTooLarge, piece: true})
	}
	if c.lines > 0 && len(c.text)+1+len(valid) > c.r.limit {
		if err := c.flush(); err != nil {
			return err
		}
	}
	if c.lines == 0 {
		c.first = number
	} else {
		c.text = append(c.text, '\n')
	}
	c.text = append(c.text, valid...)
	if c.lines++; c.lines == c.per {
		return c.flush()
	}
	return nil
}

func (c *cutter) id(number int64) string { return c.name + "#" + strconv.FormatInt(number, 10) }

// flush yields the open document, if there is one.
func (c *cutter) flush() error {
	if c.lines == 0 {
		return nil
	}
	b := book{name: c.id(c.first), title: stem(path.Base(c.name)), text: c.text, piece: true}
	c.lines, c.text = 0, c.text[:0]
	return c.r.finish(b)
}

// readLines reads a text file and yields one document for every
// Options.LinesPerDocument lines.
func (r *Reader) readLines(name string, src io.Reader) error {
	d, err := r.open(src)
	if err != nil {
		return err
	}
	if d.reject != "" {
		return r.finish(book{name: name, reject: extract.RejectEncoding, note: d.reject})
	}
	if d.recoded {
		r.stats.Recoded++
	}
	r.note(name, d.note())
	in := bufio.NewReaderSize(d, 64<<10)
	if head, err := in.Peek(32 << 10); bytes.IndexByte(head, 0) >= 0 {
		return r.finish(book{name: name, reject: extract.RejectBinary})
	} else if err != nil && err != io.EOF {
		return err
	}
	before := r.stats.InvalidBytes
	c := cutter{r: r, name: name, per: r.opts.LinesPerDocument}
	lines := &lineReader{in: in, limit: 2 * r.limit}
	for number, end := int64(1), false; !end; number++ {
		line, tooLong, err := lines.next()
		if end = err == io.EOF; err != nil && !end {
			return err
		}
		if tooLong {
			err = r.finish(book{name: c.id(number), reject: extract.RejectTooLarge, piece: true})
		} else {
			err = c.add(line, number)
		}
		if err != nil {
			return err
		}
	}
	if n := r.stats.InvalidBytes - before; n > 0 {
		r.note(name, fmt.Sprintf("%d bytes that are not UTF-8 were dropped", n))
	}
	return c.flush()
}

// A lineReader reads the lines of a file.
type lineReader struct {
	in    *bufio.Reader
	limit int    // maximum length of a line in bytes
	long  []byte // a line that is longer than the buffer of in
}

// next returns the next line, which is valid until the next call. If tooLong is true,
// the line exceeds the limit and only its beginning is returned. The last line, which
// may be empty, is returned together with io.EOF.
func (l *lineReader) next() (line []byte, tooLong bool, err error) {
	if l.long = l.long[:0]; cap(l.long) > 1<<20 {
		l.long = nil
	}
	for {
		piece, err := l.in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			if !tooLong {
				l.long = append(l.long, piece...)
				tooLong = len(l.long) > l.limit
			}
			continue
		}
		switch {
		case err != nil && err != io.EOF:
			return nil, false, err
		case len(l.long) > 0 && !tooLong:
			l.long = append(l.long, piece...)
			piece = l.long
		}
		return piece, tooLong, err
	}
}

// sentenceBytes is the limit for a warning: if rows are shorter on average, in bytes,
// they are probably sentences and not whole texts.
const sentenceBytes = 250

// readRows reads the task's row groups of a Parquet file. Each row, or every
// Options.LinesPerDocument rows, becomes a document.
func (r *Reader) readRows(name string, f File) error {
	clean, ok := cleanName(name)
	if !ok {
		return r.finish(badName())
	}
	file, err := parquet.Open(f, f.Size(), r.opts.column())
	if err != nil {
		return err
	}
	groups := file.Groups()
	if r.task.Groups > len(groups)-r.task.First {
		return &parquet.CorruptError{Reason: "fewer row groups than when it was planned"}
	}
	c := cutter{r: r, name: clean, per: max(1, r.opts.LinesPerDocument)}
	number, bytes := r.task.Row, int64(0)
	for i := range r.task.Groups {
		for value, err := range file.Values(r.task.First + i) {
			if err != nil {
				return err
			}
			number++
			bytes += int64(len(value))
			if err := c.add(value, number); err != nil {
				return err
			}
		}
	}
	if rows := number - r.task.Row; r.opts.LinesPerDocument == 0 && rows >= 1000 && bytes/rows < sentenceBytes {
		r.note(clean, fmt.Sprintf("rows have %d bytes on average: if they are sentences, give --lines-per-document", bytes/rows))
	}
	return c.flush()
}

// rowsError handles an error of package parquet. If the corrupt or unsupported file is
// in a folder, it is rejected. If it is the only source, rowsError returns the error.
func (r *Reader) rowsError(name string, err error) error {
	var corrupt *parquet.CorruptError
	var unsupported *parquet.UnsupportedError
	switch {
	case errors.As(err, &corrupt):
		if len(r.task.Files) == 0 {
			return &CorruptError{File: path.Base(name), Offset: corrupt.Offset, Reason: corrupt.Reason}
		}
	case errors.As(err, &unsupported):
		if len(r.task.Files) == 0 {
			return err
		}
	default:
		return err
	}
	clean, _ := cleanName(name)
	return r.finish(damaged(clean, err.Error()))
}
