// Package npy reads and writes examples as NumPy arrays, one file for each
// column, which numpy.load maps into memory:
//
//	ids = numpy.load("train-00000-of-00010.input_ids.npy", mmap_mode="r")  # (rows, S)
//
// # Format
//
//	"\x93NUMPY" 1 0     magic and version
//	uint16              size of the header, little-endian
//	header              a Python literal: type, order and shape; padded with spaces
//	                    and a line feed so that the data begins at a multiple of 64
//	rows × length × 4 bytes, little-endian
//
// as numpy/lib/format.py describes it. A column with one value in each row is an
// array of one dimension.
package npy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"pretext/records/columns"
)

// Suffix ends the name of a file, after the name of the column.
const Suffix = ".npy"

// Format is the format of NumPy arrays. The zero value is ready for use.
type Format struct{}

// Header returns everything before the values of an array of rows rows of column
// c.
func Header(c columns.Column, rows int64) []byte {
	kind, shape := "<i4", fmt.Sprintf("(%d, %d)", rows, c.Len)
	if c.Type == columns.Float32 {
		kind = "<f4"
	}
	if c.Len == 1 {
		shape = fmt.Sprintf("(%d,)", rows)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", kind, shape)
	const before = 10 // magic, version and size
	for (before+len(text)+1)%64 != 0 {
		text += " "
	}
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)+1))
	return append(append(b, text...), '\n')
}

// NewWriter returns a writer of the files STEM.COLUMN.npy.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	w := &writer{part: p}
	for _, c := range p.Schema {
		name := p.Stem + "." + c.Name + Suffix
		out, err := create(name)
		if err != nil {
			return nil, err
		}
		w.files = append(w.files, columns.File{Name: name})
		w.outs = append(w.outs, out)
		if _, err := out.Write(Header(c, p.Rows)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

type writer struct {
	part  columns.Part
	outs  []io.WriteCloser // by column
	files []columns.File
	rows  int64
	buf   []byte
}

func (w *writer) Write(row []columns.Value) error {
	w.rows++
	for i, out := range w.outs {
		w.buf = columns.AppendLittle(w.buf[:0], row[i])
		if _, err := out.Write(w.buf); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) Close() ([]columns.File, error) {
	if err := w.part.Complete(w.rows); err != nil {
		return nil, err
	}
	for _, out := range w.outs {
		if err := out.Close(); err != nil {
			return nil, err
		}
	}
	return w.files, nil
}

// Rows reads the files of a part.
func (Format) Rows(p columns.Part, files []string, open columns.Open) iter.Seq2[[]columns.Value, error] {
	return func(yield func([]columns.Value, error) bool) {
		ins, err := arrays(p, files, open)
		if err != nil {
			yield(nil, err)
			return
		}
		row := columns.NewRow(p.Schema)
		var buf []byte
		for n := range p.Rows {
			for i, c := range p.Schema {
				buf = append(buf[:0], make([]byte, 4*c.Len)...)
				if _, err := io.ReadFull(ins[i], buf); err != nil {
					yield(nil, fmt.Errorf("%s: row %d: %w: %v", files[i], n, columns.ErrCorrupt, err))
					return
				}
				columns.ReadLittle(buf, row[i])
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// arrays opens the file of each column and checks its header and size.
func arrays(p columns.Part, files []string, open columns.Open) (ins []io.Reader, err error) {
	if len(files) != len(p.Schema) {
		return nil, fmt.Errorf("%s: %w: %d files, want one for each of %d columns", p.Stem, columns.ErrCorrupt, len(files), len(p.Schema))
	}
	for i, c := range p.Schema {
		f, size, err := open(files[i])
		if err != nil {
			return nil, err
		}
		want := Header(c, p.Rows)
		head := make([]byte, len(want))
		if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
			return nil, err
		}
		if string(head) != string(want) {
			return nil, fmt.Errorf("%s: %w: not an array of %d rows of %d values", files[i], columns.ErrCorrupt, p.Rows, c.Len)
		}
		data := 4 * int64(c.Len) * p.Rows
		if size != int64(len(want))+data {
			return nil, fmt.Errorf("%s: %w: %d bytes, want %d", files[i], columns.ErrCorrupt, size, int64(len(want))+data)
		}
		ins = append(ins, bufio.NewReaderSize(io.NewSectionReader(f, int64(len(want)), data), 1<<16))
	}
	return ins, nil
}
