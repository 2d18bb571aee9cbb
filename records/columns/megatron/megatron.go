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
// megatron/core/datasets/indexed_dataset.py of Megatron-LM writes the same format. If the
// records have the lengths of sentences, each sentence is a sequence, as
// tools/preprocess_data.py --split-sentences writes them; otherwise each document is one
// sequence. Only records of documents are supported.
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
			"\nonly token ids of documents, best with sentences",
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

// head returns the begin of an index of this many sequences.
func head(p columns.Part, sequences int64) []byte {
	kind := byte(4)
	if idBytes(p) == 2 {
		kind = 8
	}
	b := append(binary.LittleEndian.AppendUint64([]byte(magic), 1), kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(sequences))
	return binary.LittleEndian.AppendUint64(b, uint64(p.Rows)+1)
}

// checkSchema returns an error unless the columns are the ids of documents and, if there is
// a second column, the lengths of their sentences.
func checkSchema(p columns.Part) error {
	for _, c := range p.Schema {
		if len(p.Schema) > 2 || c.Len != 0 || c.Type != columns.Int32 {
			return fmt.Errorf("%s: the format of Megatron holds a list of ids for each row, and the lengths of its sentences", p.Stem)
		}
	}
	return nil
}

// NewWriter returns a writer of the files STEM.bin and STEM.idx.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	if err := checkSchema(p); err != nil {
		return nil, err
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
	ends        []int64 // of the documents, in sequences
	buf         []byte
}

func (w *writer) Write(row []columns.Value) error {
	if err := columns.CheckRow(w.part.Schema, row); err != nil {
		return err
	}
	w.buf = w.buf[:0]
	if idBytes(w.part) == 4 {
		w.buf = columns.AppendLittle(w.buf, columns.Int32, row[0])
	} else {
		for _, id := range row[0].Ints {
			if id < 0 || id > math.MaxUint16 {
				return fmt.Errorf("%s: row %d has the id %d, which two bytes cannot hold", w.part.Stem, len(w.ends), id)
			}
			w.buf = binary.LittleEndian.AppendUint16(w.buf, uint16(id))
		}
	}
	if len(row) == 1 {
		w.sizes = append(w.sizes, int32(len(row[0].Ints)))
	} else if err := w.sentences(row[1].Ints, len(row[0].Ints)); err != nil {
		return err
	}
	w.ends = append(w.ends, int64(len(w.sizes)))
	_, err := w.data.Write(w.buf)
	return err
}

// sentences adds a sequence for each sentence of a document of n ids.
func (w *writer) sentences(lengths []int32, n int) error {
	for _, length := range lengths {
		if n -= int(length); length < 1 || n < 0 {
			break
		}
		w.sizes = append(w.sizes, length)
	}
	if n != 0 {
		return fmt.Errorf("%s: row %d: %s are not those of its ids", w.part.Stem, len(w.ends), records.SentenceLengths)
	}
	return nil
}

func (w *writer) Close() ([]columns.File, error) {
	if err := w.part.Complete(int64(len(w.ends))); err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w.index, 1<<16)
	out.Write(head(w.part, int64(len(w.sizes))))
	var b [8]byte
	for _, n := range w.sizes {
		out.Write(binary.LittleEndian.AppendUint32(b[:0], uint32(n)))
	}
	at := int64(0)
	for _, n := range w.sizes {
		out.Write(binary.LittleEndian.AppendUint64(b[:0], uint64(at)))
		at += int64(n) * idBytes(w.part)
	}
	out.Write(make([]byte, 8)) // the first document begins with sequence 0
	for _, end := range w.ends {
		out.Write(binary.LittleEndian.AppendUint64(b[:0], uint64(end)))
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
			if err := r.next(row); err != nil {
				yield(nil, fmt.Errorf("%s: row %d: %w: %v", files[0], n, columns.ErrCorrupt, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if r.at != r.size || r.sequence != r.sequences {
			yield(nil, fmt.Errorf("%s: %w: %d bytes, %d of them in the %d documents of the index", files[0], columns.ErrCorrupt, r.size, r.at, p.Rows))
		}
	}
}

// A reader reads the sequences from the data file, and the entries for each from the three
// tables of the index.
type reader struct {
	data                io.Reader
	size, at            int64 // of the data, in bytes: total, and read so far
	idBytes             int64
	sequences, sequence int64 // their number, and the number of those read so far
	sizes, starts, docs io.Reader
	buf                 []byte
}

func newReader(p columns.Part, files []string, open columns.Open) (*reader, error) {
	if len(files) != 2 {
		return nil, fmt.Errorf("%s: %w: %d files for one part, must be 2 (%s and %s)", p.Stem, columns.ErrCorrupt, len(files), dataSuffix, indexSuffix)
	}
	if err := checkSchema(p); err != nil {
		return nil, err
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
	sequences := p.Rows
	if len(p.Schema) > 1 {
		sequences = (indexSize - headBytes - 8*p.Rows - 8) / 12
	}
	if string(got) != string(head(p, sequences)) || sequences < p.Rows || indexSize != headBytes+12*sequences+8*p.Rows+8 {
		return nil, fmt.Errorf("%s: %w: not the index of %d documents of ids of %d bytes", files[1], columns.ErrCorrupt, p.Rows, idBytes(p))
	}
	section := func(from, n int64) io.Reader {
		return bufio.NewReaderSize(io.NewSectionReader(index, headBytes+from, n), 1<<14)
	}
	r := &reader{data: bufio.NewReaderSize(io.NewSectionReader(data, 0, size), 1<<16), size: size, idBytes: idBytes(p), sequences: sequences,
		sizes: section(0, 4*sequences), starts: section(4*sequences, 8*sequences), docs: section(12*sequences, 8*p.Rows+8)}
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

// next reads the next document: its ids and, if the row has a second column, the lengths of
// its sentences.
func (r *reader) next(row []columns.Value) error {
	end, err := number(r.docs, 8)
	if err != nil {
		return err
	}
	if end <= r.sequence || end > r.sequences || len(row) == 1 && end != r.sequence+1 {
		return fmt.Errorf("the index says that the document ends with sequence %d, after %d of %d", end, r.sequence, r.sequences)
	}
	r.buf = r.buf[:0]
	for i := range row {
		row[i].Ints = row[i].Ints[:0]
	}
	for ; r.sequence < end; r.sequence++ {
		size, err := r.read()
		if err != nil {
			return err
		}
		if len(row) > 1 {
			row[1].Ints = append(row[1].Ints, int32(size))
		}
	}
	ids := &row[0]
	ids.Resize(columns.Column{}, int(int64(len(r.buf))/r.idBytes))
	if r.idBytes == 4 {
		columns.ReadLittle(r.buf, columns.Int32, *ids)
		return nil
	}
	for i := range ids.Ints {
		ids.Ints[i] = int32(binary.LittleEndian.Uint16(r.buf[2*i:]))
	}
	return nil
}

// read appends the bytes of the next sequence to r.buf and returns its number of ids.
func (r *reader) read() (size int64, err error) {
	if size, err = number(r.sizes, 4); err != nil {
		return 0, err
	}
	start, err := number(r.starts, 8)
	if err != nil {
		return 0, err
	}
	bytes := size * r.idBytes
	if size < 1 || bytes > r.size-r.at || start != r.at || int64(len(r.buf))+bytes > records.MaxValues*r.idBytes {
		return 0, fmt.Errorf("the index says %d ids from byte %d on for sequence %d", size, start, r.sequence)
	}
	at := len(r.buf)
	r.buf = append(r.buf, make([]byte, bytes)...)
	if _, err := io.ReadFull(r.data, r.buf[at:]); err != nil {
		return 0, err
	}
	r.at += bytes
	return size, nil
}
