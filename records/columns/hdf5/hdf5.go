// Package hdf5 reads and writes examples as the HDF5 files that the BERT of NVIDIA's
// DeepLearningExamples trains from, one file for each part:
//
//	with h5py.File("train-00000-of-00010.training.hdf5", "r") as f:
//		ids = f["input_ids"][:]  # (rows, S), int32
//
// That program reads the files of a directory whose names contain "training". Files of
// other splits have "test" there instead.
//
// # Format
//
// The file has a dataset for each of six columns, in chunks compressed with zlib. All
// values are signed: 32 bits for input_ids, masked_lm_positions and masked_lm_ids, 8 bits
// for input_mask, segment_ids and next_sentence_labels. Weights are not stored: the
// predictions are the positions before the first 0, so the weights must be 1 for these and
// 0 for the others. Only [records.Pairs] have all six columns.
//
//	superblock            version 2
//	root group            an object header, version 2, with a link to each dataset
//	6 × object header     shape, type, fill value, chunks, filter
//	6 × B-tree            version 1, of the chunks: the root, then level by level
//	chunks                in the order in which they are complete
//
// The numbers are those of the HDF5 File Format Specification, version 3.0. Except for the
// sizes of the chunks, the number of rows determines all bytes before the chunks. So a
// reader rebuilds these bytes and compares them with the file.
package hdf5

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"

	"github.com/klauspost/compress/zlib"

	"pretext/records"
	"pretext/records/columns"
)

// Suffixes of the file name of a part.
const (
	trainSuffix = ".training.hdf5"
	otherSuffix = ".test.hdf5"
)

// fileName returns the file name of a part.
func fileName(stem string) string {
	if strings.HasPrefix(stem, "train-") {
		return stem + trainSuffix
	}
	return stem + otherSuffix
}

// zlibLevel is h5py's default for compression="gzip".
const zlibLevel = 4

// Format is the HDF5 format. The zero value is ready for use.
type Format struct{}

// About describes the format.
func (Format) About() columns.Description {
	return columns.Description{
		Usage: `BERT of NVIDIA's DeepLearningExamples: h5py.File(file)["input_ids"];` +
			"\nonly pairs of segments",
		Library:     "h5py",
		Program:     "import glob, h5py\n\nfiles = [h5py.File(name, \"r\") for name in {files}]",
		Suffix:      "hdf5",
		OwnColumns:  true,
		Holds:       records.Form.Pairs,
		MaskedShare: 0.33,
	}
}

// The columns that are not stored with 32 bits.
var (
	bytesWide = map[string]bool{records.InputMask: true, records.SegmentIDs: true, records.NextSentenceLabels: true}
	weights   = records.MaskedLMWeights // not stored
)

// NewWriter returns a writer of the file STEM.training.hdf5 for the split train, or
// STEM.test.hdf5 for other splits.
func (Format) NewWriter(p columns.Part, create columns.Create) (columns.Writer, error) {
	if len(p.Schema) != 7 || columns.Variable(p.Schema) {
		return nil, fmt.Errorf("%s: the format of NVIDIA's BERT holds pairs of segments only", p.Stem)
	}
	w := &writer{part: p, sets: datasets(p), create: create}
	var err error
	if w.spool, err = p.Scratch(); err != nil {
		return nil, err
	}
	if w.zlib, err = zlib.NewWriterLevel(io.Discard, zlibLevel); err != nil {
		return nil, err
	}
	return w, nil
}

// A writer compresses chunks into a temporary file, since the file must hold the sizes of
// all chunks before the first chunk.
type writer struct {
	part    columns.Part
	sets    []*dataset
	create  columns.Create
	spool   columns.Scratch
	spooled int64
	zlib    *zlib.Writer
	packed  bytes.Buffer
	rows    int64
}

func (w *writer) Write(row []columns.Value) error {
	if err := columns.CheckRow(w.part.Schema, row); err != nil {
		return err
	}
	if w.rows == w.part.Rows {
		return fmt.Errorf("%s: more rows than the %d that were announced", w.part.Stem, w.part.Rows)
	}
	if err := checkWeights(row[3].Ints, row[5].Floats); err != nil {
		return fmt.Errorf("%s: row %d: %w", w.part.Stem, w.rows, err)
	}
	w.rows++
	for _, d := range w.sets {
		var err error
		if d.chunk, err = d.append(d.chunk, row[d.column].Ints); err != nil {
			return fmt.Errorf("%s: row %d: %w", w.part.Stem, w.rows-1, err)
		}
		if w.rows%d.chunkRows == 0 || w.rows == w.part.Rows {
			if err := w.flush(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWeights returns an error unless the weights are those that the positions imply; see
// weightsOf.
func checkWeights(positions []int32, weights []float32) error {
	got := make([]float32, len(weights))
	weightsOf(positions, got)
	for i := range got {
		if got[i] != weights[i] {
			return fmt.Errorf("%s has the weight %g for position %d, but the format of NVIDIA's BERT has no weights: it predicts at positions that are not 0", records.MaskedLMWeights, weights[i], positions[i])
		}
	}
	return nil
}

// weightsOf sets the weights that positions imply: 1 before the first position 0, then 0.
func weightsOf(positions []int32, weights []float32) {
	w := float32(1)
	for i, p := range positions {
		if p == 0 {
			w = 0
		}
		weights[i] = w
	}
}

// flush compresses the current chunk of a dataset and writes it to the temporary file.
func (w *writer) flush(d *dataset) error {
	d.chunk = append(d.chunk, make([]byte, d.chunkBytes()-int64(len(d.chunk)))...) // pads the last chunk
	w.packed.Reset()
	w.zlib.Reset(&w.packed)
	w.zlib.Write(d.chunk)
	if err := w.zlib.Close(); err != nil {
		return err
	}
	if _, err := w.spool.WriteAt(w.packed.Bytes(), w.spooled); err != nil {
		return err
	}
	d.sizes = append(d.sizes, uint32(w.packed.Len()))
	w.spooled += int64(w.packed.Len())
	d.chunk = d.chunk[:0]
	return nil
}

func (w *writer) Close() ([]columns.File, error) {
	defer w.spool.Close()
	if err := w.part.Complete(w.rows); err != nil {
		return nil, err
	}
	out, err := w.create(fileName(w.part.Stem))
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(head(w.sets, w.part.Rows)); err != nil {
		return nil, err
	}
	if _, err := io.Copy(out, io.NewSectionReader(w.spool, 0, w.spooled)); err != nil {
		return nil, err
	}
	return []columns.File{{Name: fileName(w.part.Stem)}}, out.Close()
}

// Rows reads the file of a part.
func (Format) Rows(p columns.Part, files []string, open columns.Open) iter.Seq2[[]columns.Value, error] {
	return func(yield func([]columns.Value, error) bool) {
		if len(files) != 1 || len(p.Schema) != 7 || columns.Variable(p.Schema) {
			yield(nil, fmt.Errorf("%s: %w: %d files with %d columns, must be 1 file with 7 columns of fixed length", p.Stem, columns.ErrCorrupt, len(files), len(p.Schema)))
			return
		}
		f, size, err := open(files[0])
		if err != nil {
			yield(nil, err)
			return
		}
		r := &reader{in: f, size: size, sets: datasets(p)}
		if err := r.head(p.Rows); err != nil {
			yield(nil, fmt.Errorf("%s: %w", files[0], err))
			return
		}
		row := columns.NewRow(p.Schema)
		for n := range p.Rows {
			if err := r.row(n, row); err != nil {
				yield(nil, fmt.Errorf("%s: row %d: %w", files[0], n, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

type reader struct {
	in   io.ReaderAt
	size int64
	sets []*dataset
	zlib io.ReadCloser
	buf  []byte
}

// maxRatio is above the maximum compression ratio of zlib, 1032.
const maxRatio = 2000

// corrupt returns an error that matches columns.ErrCorrupt.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", columns.ErrCorrupt, fmt.Sprintf(format, args...))
}

// head reads the sizes of the chunks from the B-trees, and compares everything
// before the chunks with what a writer would have written.
func (r *reader) head(rows int64) error {
	if rows < 0 || rows/maxRatio > r.size {
		return corrupt("%d bytes, too few for %d rows", r.size, rows)
	}
	l := newLayout(r.sets, rows)
	if l.chunks > r.size {
		return corrupt("%d bytes, too few for %d rows", r.size, rows)
	}
	got := make([]byte, l.chunks)
	if _, err := r.in.ReadAt(got, 0); err != nil && err != io.EOF {
		return err
	}
	total := l.chunks
	for i, d := range r.sets {
		for c := range d.count(rows) {
			d.sizes = append(d.sizes, l.sizeOf(got, i, c))
			total += int64(d.sizes[c])
		}
	}
	if want := head(r.sets, rows); total != r.size || !bytes.Equal(got, want) {
		return corrupt("not the six datasets of %d rows as they are written here", rows)
	}
	return nil
}

// row reads row n.
func (r *reader) row(n int64, row []columns.Value) error {
	for _, d := range r.sets {
		if n%d.chunkRows == 0 {
			if err := r.load(d, n/d.chunkRows); err != nil {
				return err
			}
		}
		at := n % d.chunkRows * d.rowBytes()
		d.read(d.chunk[at:at+d.rowBytes()], row[d.column].Ints)
	}
	weightsOf(row[3].Ints, row[5].Floats)
	return nil
}

// load reads and decompresses a chunk of a dataset.
func (r *reader) load(d *dataset, chunk int64) error {
	r.buf = append(r.buf[:0], make([]byte, d.sizes[chunk])...)
	if _, err := r.in.ReadAt(r.buf, d.addresses[chunk]); err != nil && err != io.EOF {
		return err
	}
	in := bytes.NewReader(r.buf)
	var err error
	if r.zlib == nil {
		r.zlib, err = zlib.NewReader(in)
	} else {
		err = r.zlib.(zlib.Resetter).Reset(in, nil)
	}
	if err == nil {
		d.chunk = append(d.chunk[:0], make([]byte, d.chunkBytes())...)
		_, err = io.ReadFull(r.zlib, d.chunk)
	}
	if err == nil {
		if n, end := r.zlib.Read(make([]byte, 1)); n != 0 || end != io.EOF || in.Len() != 0 { // verifies the checksum
			err = fmt.Errorf("data after the end, or a wrong checksum (%v)", end)
		}
	}
	if err != nil {
		return corrupt("chunk %d of %s: %v", chunk, d.name, err)
	}
	return nil
}

// append appends the encoded values of a row to dst.
func (d *dataset) append(dst []byte, values []int32) ([]byte, error) {
	if d.width == 4 {
		return columns.AppendLittle(dst, columns.Int32, columns.Value{Ints: values}), nil
	}
	for _, v := range values {
		if v < math.MinInt8 || v > math.MaxInt8 {
			return nil, fmt.Errorf("%s has the value %d, which one byte cannot hold", d.name, v)
		}
		dst = append(dst, byte(v))
	}
	return dst, nil
}

// read decodes the values of a row that append encoded.
func (d *dataset) read(src []byte, values []int32) {
	if d.width == 4 {
		columns.ReadLittle(src, columns.Int32, columns.Value{Ints: values})
		return
	}
	for i := range values {
		values[i] = int32(int8(src[i]))
	}
}
