// Package megatron reads and writes the token ids of documents as the two files that
// Megatron-LM trains from:
//
//	dataset = IndexedDataset("DIR/train-00000-of-00010")  # without .bin and .idx
//	ids = dataset[i]                                      # of document i
//
// # Format
//
// STEM.bin has the ids of all documents, one after the other, little-endian: uint16
// if the vocabulary has fewer than 65,500 ids, else int32. STEM.idx:
//
//	"MMIDIDX\x00\x00"  magic
//	uint64             version, 1
//	uint8              type of the ids: 8 for uint16, 4 for int32
//	uint64             number of sequences N
//	uint64             number of documents, plus 1
//	N × int32          number of ids of each sequence
//	N × int64          first byte of each sequence in STEM.bin
//	(N+1) × int64      first sequence of each document, and N
//
// megatron/core/datasets/indexed_dataset.py of Megatron-LM writes the same format. Here
// each document is one sequence. A row of the format is one list, so only records of
// documents are supported.
package megatron

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"pretext/records"
	"pretext/records/columns"
)

// Suffixes of the file names of a part.
const (
	dataSuffix  = ".bin"
	indexSuffix = ".idx"
)

// smallIDs is the vocabulary size from which ids take four bytes, as in
// DType.optimal_dtype.
const smallIDs = 65500

const magic = "MMIDIDX\x00\x00"

// headBytes is the size of the index before the first table, the sizes of the sequences.
const headBytes = int64(len(magic)) + 8 + 1 + 8 + 8

// Format is the format of Megatron-LM. The zero value is ready for use.
type Format struct{}

// About describes the format.
func (Format) About() columns.Description {
	return columns.Description{
		Usage: `Megatron-LM: IndexedDataset("DIR/train-00000-of-00010");` +
			"\nonly token ids of documents",
		Library:    "Megatron-LM",
		Program:    "import glob\nfrom megatron.core.datasets.indexed_dataset import IndexedDataset\n\ndatasets = [IndexedDataset(name.removesuffix(\".bin\")) for name in {files}]",
		Suffix:     "bin",
		OwnColumns: true,
		Holds:      records.Form.Documents,
		NeedsIDs:   true, // the size of an id in the files depends on it
		IDsShare:   0.97,
	}
}

// idBytes returns the size of an id in bytes.
func idBytes(p columns.Part) int64 {
	if p.IDs > 0 && p.IDs < smallIDs {
		return 2
	}
	return 4
}

func head(p columns.Part) []byte {
	kind := byte(4)
	if idBytes(p) == 2 {
		kind = 8
	}
	b := append(binary.LittleEndian.AppendUint64([]byte(magic), 1), kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.Rows))
	return binary.LittleEndian.AppendUint64(b, uint64(p.Rows)+1)
}

// NewWriter returns a writer of the files STEM.bin and STEM.idx.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	if len(p.Schema) != 1 || p.Schema[0].Len != 0 || p.Schema[0].Type != columns.Int32 {
		return nil, fmt.Errorf("%s: the format of Megatron holds one list of ids for each row", p.Stem)
	}
	data, err := create(p.Stem + dataSuffix)
	if err != nil {
		return nil, err
	}
	index, err := create(p.Stem + indexSuffix)
	if err != nil {
		return nil, err
	}
	return &writer{part: p, data: data, index: index}, nil
}

type writer struct {
	part        columns.Part
	data, index io.WriteCloser
	sizes       []int32 // of the sequences
	buf         []byte
}

func (w *writer) Write(row []columns.Value) error {
	if err := columns.CheckRow(w.part.Schema, row); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	if idBytes(w.part) == 4 {
		w.buf = columns.AppendLittle(w.buf, row[0])
	} else {
		for _, id := range row[0].Ints {
			if id < 0 || id > math.MaxUint16 {
				return fmt.Errorf("%s: row %d has the id %d, which two bytes cannot hold", w.part.Stem, len(w.sizes), id)
			}
			w.buf = binary.LittleEndian.AppendUint16(w.buf, uint16(id))
		}
	}
	w.sizes = append(w.sizes, int32(len(row[0].Ints)))
	_, err := w.data.Write(w.buf)
	return err
}

func (w *writer) Close() ([]columns.File, error) {
	if err := w.part.Complete(int64(len(w.sizes))); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w.index, 1<<16)
	out.Write(head(w.part))
	var b [8]byte
	for _, n := range w.sizes {
		out.Write(binary.LittleEndian.AppendUint32(b[:0], uint32(n)))
	}
	at := int64(0)
	for _, n := range w.sizes {
		out.Write(binary.LittleEndian.AppendUint64(b[:0], uint64(at)))
		at += int64(n) * idBytes(w.part)
	}
	for i := range len(w.sizes) + 1 {
		out.Write(binary.LittleEndian.AppendUint64(b[:0], uint64(i)))
	}
	if err := errors.Join(out.Flush(), w.data.Close(), w.index.Close()); err != nil {
		return nil, err
	}
	return []columns.File{{Name: w.part.Stem + dataSuffix}, {Name: w.part.Stem + indexSuffix}}, nil
}

// Rows reads the files of a part.
func (Format) Rows(p columns.Part, files []string, open columns.Open) iter.Seq2[[]columns.Value, error] {
	return func(yield func([]columns.Value, error) bool) {
		r, err := newReader(p, files, open)
		if err != nil {
			yield(nil, err)
			return
		}
		row := columns.NewRow(p.Schema)
		for n := range p.Rows {
			if err := r.next(n, &row[0]); err != nil {
				yield(nil, fmt.Errorf("%s: row %d: %w: %v", files[0], n, columns.ErrCorrupt, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if r.at != r.size {
			yield(nil, fmt.Errorf("%s: %w: %d bytes, the index says %d", files[0], columns.ErrCorrupt, r.size, r.at))
		}
	}
}

// A reader reads the sequences from the data file, and the entries for each from the three
// tables of the index.
type reader struct {
	data                io.Reader
	size, at            int64 // of the data, in bytes: total, and read so far
	idBytes             int64
	sizes, starts, docs io.Reader
	buf                 []byte
}

func newReader(p columns.Part, files []string, open columns.Open) (*reader, error) {
	if len(files) != 2 {
		return nil, fmt.Errorf("%s: %w: %d files, want 2", p.Stem, columns.ErrCorrupt, len(files))
	}
	data, size, err := open(files[0])
	if err != nil {
		return nil, err
	}
	index, indexSize, err := open(files[1])
	if err != nil {
		return nil, err
	}
	got := make([]byte, headBytes)
	if _, err := index.ReadAt(got, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if string(got) != string(head(p)) || indexSize != headBytes+20*p.Rows+8 {
		return nil, fmt.Errorf("%s: %w: not the index of %d sequences of ids of %d bytes", files[1], columns.ErrCorrupt, p.Rows, idBytes(p))
	}
	section := func(from, n int64) io.Reader {
		return bufio.NewReaderSize(io.NewSectionReader(index, headBytes+from, n), 1<<14)
	}
	r := &reader{data: bufio.NewReaderSize(io.NewSectionReader(data, 0, size), 1<<16), size: size, idBytes: idBytes(p),
		sizes: section(0, 4*p.Rows), starts: section(4*p.Rows, 8*p.Rows), docs: section(12*p.Rows, 8*p.Rows+8)}
	if first, err := number(r.docs, 8); err != nil || first != 0 {
		return nil, fmt.Errorf("%s: %w: the first document does not begin with the first sequence", files[1], columns.ErrCorrupt)
	}
	return r, nil
}

// number reads a little-endian number of size bytes.
func number(in io.Reader, size int) (int64, error) {
	var b [8]byte
	_, err := io.ReadFull(in, b[:size])
	return int64(binary.LittleEndian.Uint64(b[:])), err
}

// next reads sequence n.
func (r *reader) next(n int64, to *columns.Value) error {
	size, err := number(r.sizes, 4)
	if err != nil {
		return err
	}
	start, err := number(r.starts, 8)
	if err != nil {
		return err
	}
	end, err := number(r.docs, 8)
	if err != nil {
		return err
	}
	if size < 1 || size*r.idBytes > r.size-r.at || start != r.at || end != n+1 {
		return fmt.Errorf("the index says %d ids from byte %d on, and document %d after them", size, start, end)
	}
	r.buf = append(r.buf[:0], make([]byte, size*r.idBytes)...)
	if _, err := io.ReadFull(r.data, r.buf); err != nil {
		return err
	}
	r.at += int64(len(r.buf))
	to.Resize(columns.Column{}, int(size))
	if r.idBytes == 4 {
		columns.ReadLittle(r.buf, *to)
		return nil
	}
	for i := range to.Ints {
		to.Ints[i] = int32(binary.LittleEndian.Uint16(r.buf[2*i:]))
	}
	return nil
}
