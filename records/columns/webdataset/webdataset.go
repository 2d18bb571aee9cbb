// Package webdataset reads and writes examples as WebDataset: a tar file for each
// part, with a file for each column of each example.
//
//	train-00003-of-00010-00000000.input_ids.npy
//	train-00003-of-00010-00000000.input_mask.npy
//	...
//	train-00003-of-00010-00000001.input_ids.npy
//
// The webdataset library combines the files whose names are equal up to the first dot into
// one sample, and decodes *.npy to arrays:
//
//	for sample in webdataset.WebDataset(files, shardshuffle=False).decode():
//		ids = sample["input_ids.npy"]  # (S,), or of any length in the form tokens; int32
//
// The tar headers are in ustar format with mode 0644, without time or owner, so equal
// examples give equal bytes.
package webdataset

import (
	"archive/tar"
	"fmt"
	"io"
	"iter"
	"slices"

	"pretext/records/columns"
	"pretext/records/columns/npy"
)

// suffix is the end of the file name of a part.
const suffix = ".tar"

// Format is the WebDataset format. The zero value is ready for use.
type Format struct{}

// About describes the format.
func (Format) About() columns.Description {
	return columns.Description{
		Usage:       "tar files of arrays: webdataset.WebDataset(files).decode()",
		Library:     "webdataset",
		Program:     "import glob, webdataset\n\nexamples = webdataset.WebDataset({files}, shardshuffle=False).decode()",
		Suffix:      "tar",
		MaskedShare: 10.5,
		IDsShare:    2.8,
		Ints:        []columns.Type{columns.Int64, columns.Uint16},
	}
}

// NewWriter returns a writer of the file STEM.tar.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	out, err := create(p.Stem + suffix)
	if err != nil {
		return nil, err
	}
	w := &writer{part: p, out: out}
	for _, c := range p.Schema {
		w.heads = append(w.heads, head(c, int64(c.Len)))
	}
	w.headers, err = newHeaders(p, 0)
	return w, err
}

// head returns the .npy header of an array with n values of a column.
func head(c columns.Column, n int64) []byte {
	return npy.Header(columns.Column{Name: c.Name, Type: c.Type, Len: 1}, n)
}

// member returns the file name, in the tar file, of a column of a row.
func member(stem string, row int64, c columns.Column) string {
	return fmt.Sprintf("%s-%08d.%s%s", stem, row, c.Name, npy.Suffix)
}

type writer struct {
	part    columns.Part
	out     io.WriteCloser
	headers []header // by column
	heads   [][]byte // by column
	rows    int64
	buf     []byte
}

func (w *writer) Write(row []columns.Value) (err error) {
	if err := columns.CheckRow(w.part.Schema, row); err != nil {
		return err
	}
	if w.rows > maxNumber { // the names become longer
		if w.headers, err = newHeaders(w.part, w.rows); err != nil {
			return err
		}
	}
	w.buf = w.buf[:0]
	for i, c := range w.part.Schema {
		n := len(row[i].Ints) + len(row[i].Floats)
		if c.Len == 0 {
			w.heads[i] = head(c, int64(n))
		}
		w.buf = w.headers[i].append(w.buf, w.rows, len(w.heads[i])+n*c.Type.Size())
		w.buf = columns.AppendLittle(append(w.buf, w.heads[i]...), c.Type, row[i])
		w.buf = append(w.buf, zeros[:-len(w.buf)&(blockBytes-1)]...) // the row begins at a multiple of blockBytes
	}
	w.rows++
	_, err = w.out.Write(w.buf)
	return err
}

func (w *writer) Close() ([]columns.File, error) {
	if err := w.part.Complete(w.rows); err != nil {
		return nil, err
	}
	if _, err := w.out.Write(zeros[:]); err != nil {
		return nil, err
	}
	return []columns.File{{Name: w.part.Stem + suffix}}, w.out.Close()
}

// Rows reads the file of a part.
func (Format) Rows(p columns.Part, files []string, open columns.Open) iter.Seq2[[]columns.Value, error] {
	return func(yield func([]columns.Value, error) bool) {
		f, size, err := open.Only(p, files)
		if err != nil {
			yield(nil, err)
			return
		}
		r := reader{part: p, tar: tar.NewReader(io.NewSectionReader(f, 0, size)), row: columns.NewRow(p.Schema)}
		for n := range p.Rows {
			if err := r.read(n); err != nil {
				yield(nil, fmt.Errorf("%s: row %d: %w: %v", files[0], n, columns.ErrCorrupt, err))
				return
			}
			if !yield(r.row, nil) {
				return
			}
		}
		if _, err := r.tar.Next(); err != io.EOF {
			yield(nil, fmt.Errorf("%s: %w: more than %d rows", files[0], columns.ErrCorrupt, p.Rows))
		}
	}
}

// maxMember is the maximum size in bytes of one array, for reading.
const maxMember = 1 << 30

type reader struct {
	part columns.Part
	tar  *tar.Reader
	row  []columns.Value
	buf  []byte
}

// read reads row n.
func (r *reader) read(n int64) error {
	for i, c := range r.part.Schema {
		h, err := r.tar.Next()
		if err != nil {
			return err
		}
		if name := member(r.part.Stem, n, c); h.Name != name || h.Size > maxMember {
			return fmt.Errorf("found %q of %d bytes, must be %q of at most %d bytes", h.Name, h.Size, name, maxMember)
		}
		length := int64(c.Len)
		if c.Len == 0 {
			length = npy.Values(h.Size, c)
			r.row[i].Resize(c, int(length))
		}
		want := head(c, length)
		if length < 1 || h.Size != int64(len(want))+int64(c.Type.Size())*length {
			return fmt.Errorf("%q has %d bytes, not those of an array of its column", h.Name, h.Size)
		}
		r.buf = slices.Grow(r.buf[:0], int(h.Size))[:h.Size]
		if _, err := io.ReadFull(r.tar, r.buf); err != nil {
			return err
		}
		if string(r.buf[:len(want)]) != string(want) {
			return fmt.Errorf("%q is not an array of %d values", h.Name, length)
		}
		columns.ReadLittle(r.buf[len(want):], c.Type, r.row[i])
	}
	return nil
}
