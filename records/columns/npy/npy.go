// Package npy reads and writes examples as NumPy arrays, one file for each
// column, which numpy.load maps into memory:
//
//	ids = numpy.load("train-00000-of-00010.input_ids.npy", mmap_mode="r")  # (rows, S)
//
// A column of lists of any length is stored as two arrays: all values, and the offset at
// which each list begins. The offsets have one more element than there are rows:
//
//	ids = numpy.load("train-00000-of-00010.input_ids.npy", mmap_mode="r")
//	at = numpy.load("train-00000-of-00010.input_ids.offsets.npy", mmap_mode="r")
//	document = ids[at[i]:at[i + 1]]
//
// # Format
//
//	"\x93NUMPY" 1 0     magic and version
//	uint16              size of the header, little-endian
//	header              a Python literal: type, order and shape; padded with spaces
//	                    and a line feed so that the data begins at a multiple of 64
//	values              little-endian: 4 bytes each, offsets 8
//
// numpy/lib/format.py describes the format. A column with one value in each row is an array
// of one dimension.
package npy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"pretext/records/columns"
)

// Suffixes of the names of files, after the name of the column.
const (
	Suffix        = ".npy"
	offsetsSuffix = ".offsets.npy" // for columns of lists
)

// Format is the format of NumPy arrays. The zero value is ready for use.
type Format struct{}

// About describes the format.
func (Format) About() columns.Description {
	return columns.Description{
		Usage:       `NumPy arrays, one file per column: numpy.load(file, mmap_mode="r")`,
		Library:     "NumPy",
		Program:     "import glob, numpy\n\nstems = [name.removesuffix(\".json\") for name in {files}]\ninput_ids = [numpy.load(stem + \".input_ids.npy\", mmap_mode=\"r\") for stem in stems]",
		Suffix:      "json",
		NeedsTotals: true, // the header of a column of lists has the number of values
		MaskedShare: 2.2,
		IDsShare:    1.9,
		Ints:        []columns.Type{columns.Int64, columns.Uint16},
	}
}

// Header returns everything before the values in the file of column c, an array of the
// given number of rows. If c has lists of any length, rows is the total number of values.
func Header(c columns.Column, rows int64) []byte {
	kind := map[columns.Type]string{columns.Int32: "<i4", columns.Float32: "<f4", columns.Int64: "<i8", columns.Uint16: "<u2"}[c.Type]
	shape := fmt.Sprintf("(%d, %d)", rows, c.Len)
	if c.Len <= 1 {
		shape = fmt.Sprintf("(%d,)", rows)
	}
	return header(kind, shape)
}

func header(kind, shape string) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", kind, shape)
	const before = 10 // magic, version and size
	for (before+len(text)+1)%64 != 0 {
		text += " "
	}
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)+1))
	return append(append(b, text...), '\n')
}

// Array returns everything before the values in the file of an array with one dimension and
// n values. kind is a NumPy type such as "<u2".
func Array(kind string, n int64) []byte { return header(kind, fmt.Sprintf("(%d,)", n)) }

// offsetsHeader returns everything before the values in a file of n offsets.
func offsetsHeader(n int64) []byte { return Array("<i8", n) }

// Values returns the number of values in a file of size bytes, which holds a column of
// lists. It does not check the header.
func Values(size int64, c columns.Column) int64 {
	c.Len = 0
	return (size - int64(len(Header(c, 0)))) / int64(c.Type.Size()) // the padding makes all headers equally long
}

// NewWriter returns a writer of the files STEM.COLUMN.npy and, for columns of lists,
// STEM.COLUMN.offsets.npy.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	w := &writer{part: p, ends: make([]int64, len(p.Schema)), starts: make([]*array, len(p.Schema))}
	for i, c := range p.Schema {
		n := p.Rows
		if c.Len == 0 {
			n = p.Totals[i]
		}
		values, err := w.add(p.Stem+"."+c.Name+Suffix, Header(c, n), create)
		if err != nil {
			return nil, err
		}
		w.values = append(w.values, values)
		if c.Len != 0 {
			continue
		}
		if w.starts[i], err = w.add(p.Stem+"."+c.Name+offsetsSuffix, offsetsHeader(p.Rows+1), create); err == nil {
			err = w.offset(i)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// An array is an array file being written.
type array struct {
	io.WriteCloser
	name string
}

type writer struct {
	part   columns.Part
	values []*array // by column
	starts []*array // by column; nil if it has no lists
	files  []columns.File
	order  []*array
	ends   []int64 // number of values by column
	rows   int64
	buf    []byte
}

// add creates a file and writes its header.
func (w *writer) add(name string, header []byte, create columns.Create) (*array, error) {
	out, err := create(name)
	if err != nil {
		return nil, err
	}
	a := &array{out, name}
	w.order, w.files = append(w.order, a), append(w.files, columns.File{Name: name})
	_, err = out.Write(header)
	return a, err
}

// offset writes the offset of the next list of a column.
func (w *writer) offset(column int) error {
	_, err := w.starts[column].Write(binary.LittleEndian.AppendUint64(nil, uint64(w.ends[column])))
	return err
}

func (w *writer) Write(row []columns.Value) error {
	if err := columns.CheckRow(w.part.Schema, row); err != nil {
		return err
	}
	w.rows++
	for i, out := range w.values {
		w.buf = columns.AppendLittle(w.buf[:0], w.part.Schema[i].Type, row[i])
		if _, err := out.Write(w.buf); err != nil {
			return err
		}
		if w.ends[i] += int64(len(w.buf) / w.part.Schema[i].Type.Size()); w.starts[i] == nil {
			continue
		}
		if err := w.offset(i); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) Close() ([]columns.File, error) {
	if err := w.part.Complete(w.rows); err != nil {
		return nil, err
	}
	for i, c := range w.part.Schema {
		if c.Len == 0 && w.ends[i] != w.part.Totals[i] {
			return nil, fmt.Errorf("%s: %d values, want %d", w.values[i].name, w.ends[i], w.part.Totals[i])
		}
	}
	for _, out := range w.order {
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
		for n := range p.Rows {
			for i, in := range ins {
				if err := in.next(&row[i]); err != nil {
					yield(nil, fmt.Errorf("%s: row %d: %w: %v", in.name, n, columns.ErrCorrupt, err))
					return
				}
			}
			if !yield(row, nil) {
				return
			}
		}
		for _, in := range ins {
			if in.left != 0 {
				yield(nil, fmt.Errorf("%s: %w: %d values after the last row", in.name, columns.ErrCorrupt, in.left))
				return
			}
		}
	}
}

// A reader reads the values of one column.
type reader struct {
	name   string
	column columns.Column
	values io.Reader
	starts io.Reader // offsets; nil if all rows have column.Len values
	at     int64     // offset of the next list
	left   int64     // unread values of a column of lists
	buf    []byte
}

// next reads the values of the next row.
func (r *reader) next(to *columns.Value) error {
	n, err := r.length()
	if err != nil {
		return err
	}
	r.buf = append(r.buf[:0], make([]byte, r.column.Type.Size()*n)...)
	if _, err := io.ReadFull(r.values, r.buf); err != nil {
		return err
	}
	to.Resize(r.column, n)
	columns.ReadLittle(r.buf, r.column.Type, *to)
	return nil
}

// length returns the number of values of the next row.
func (r *reader) length() (int, error) {
	if r.starts == nil {
		return r.column.Len, nil
	}
	var b [8]byte
	if _, err := io.ReadFull(r.starts, b[:]); err != nil {
		return 0, err
	}
	end := int64(binary.LittleEndian.Uint64(b[:]))
	n := end - r.at
	if n < 1 || n > r.left {
		return 0, fmt.Errorf("the list from value %d ends at value %d", r.at, end)
	}
	r.at, r.left = end, r.left-n
	return int(n), nil
}

// arrays opens the files of all columns and checks their headers and sizes.
func arrays(p columns.Part, files []string, open columns.Open) (ins []*reader, err error) {
	want := len(p.Schema)
	for _, c := range p.Schema {
		if c.Len == 0 {
			want++
		}
	}
	if len(files) != want {
		return nil, fmt.Errorf("%s: %w: %d files for one part, must be %d for its %d columns", p.Stem, columns.ErrCorrupt, len(files), want, len(p.Schema))
	}
	for _, c := range p.Schema {
		in := &reader{name: files[0], column: c}
		if c.Len == 0 {
			err, files = in.openLists(p.Rows, files, open), files[2:]
		} else {
			in.values, err = openArray(files[0], open, func(int64) ([]byte, int64) { return Header(c, p.Rows), int64(c.Type.Size()) * int64(c.Len) * p.Rows })
			files = files[1:]
		}
		if err != nil {
			return nil, err
		}
		ins = append(ins, in)
	}
	return ins, nil
}

// openLists opens the two files of a column of lists.
func (r *reader) openLists(rows int64, files []string, open columns.Open) (err error) {
	r.values, err = openArray(files[0], open, func(size int64) ([]byte, int64) {
		r.left = max(0, Values(size, r.column))
		return Header(r.column, r.left), int64(r.column.Type.Size()) * r.left
	})
	if err != nil {
		return err
	}
	r.starts, err = openArray(files[1], open, func(int64) ([]byte, int64) { return offsetsHeader(rows + 1), 8 * (rows + 1) })
	if err != nil {
		return err
	}
	var first [8]byte
	if _, err := io.ReadFull(r.starts, first[:]); err != nil || first != [8]byte{} {
		return fmt.Errorf("%s: %w: the first list does not begin at value 0 (%v)", files[1], columns.ErrCorrupt, err)
	}
	return nil
}

// openArray opens a file and returns a reader of its values. form returns, for the size of
// the file, the header that it must have and the number of bytes after that.
func openArray(name string, open columns.Open, form func(size int64) (header []byte, data int64)) (io.Reader, error) {
	f, size, err := open(name)
	if err != nil {
		return nil, err
	}
	want, data := form(size)
	head := make([]byte, len(want))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(head) != string(want) || size != int64(len(want))+data {
		return nil, fmt.Errorf("%s: %w: %d bytes that are not an array of the type and shape of its column", name, columns.ErrCorrupt, size)
	}
	return bufio.NewReaderSize(io.NewSectionReader(f, int64(len(want)), data), 1<<16), nil
}
