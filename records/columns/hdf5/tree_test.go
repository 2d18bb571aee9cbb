package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"pretext/records"
	"pretext/records/columns"
)

type spool struct{ b []byte }

func (m *spool) WriteAt(b []byte, at int64) (int, error) {
	m.b = append(m.b[:at], b...)
	return len(b), nil
}
func (m *spool) ReadAt(b []byte, at int64) (int, error) { return bytes.NewReader(m.b).ReadAt(b, at) }
func (m *spool) Close() error                           { return nil }

type file struct{ bytes.Buffer }

func (*file) Close() error { return nil }

// A chunk has one row, so that the trees have as many levels as the rows demand.
func smallChunks(sets []*dataset) []*dataset {
	for _, d := range sets {
		d.chunkRows = 1
	}
	return sets
}

// Trees of one, two and three levels are read as they were written, and a damaged
// entry of any level is found. With PRETEXT_HDF5=DIR the files stay there, for h5py.
func TestTreesOfSeveralLevels(t *testing.T) {
	for _, rows := range []int64{1, 64, 65, 64 * 64, 64*64 + 1} {
		p := columns.Part{Stem: "train-00000-of-00001", Schema: columns.NewTable(columns.Spec{Form: records.Pairs, Seq: 6, Predictions: 2}).Schema, Rows: rows, Scratch: func() (columns.Scratch, error) { return new(spool), nil }}
		out := new(file)
		cw, err := Format{}.NewWriter(p, func(string) (io.WriteCloser, error) { return out, nil })
		if err != nil {
			t.Fatal(err)
		}
		w := cw.(*writer)
		smallChunks(w.sets)
		e := &records.Example{InputIDs: make([]int32, 6), InputMask: []int32{1, 1, 1, 1, 1, 0}, SegmentIDs: []int32{0, 0, 0, 1, 1, 0},
			MaskedLMPositions: []int32{1, 0}, MaskedLMIDs: []int32{7, 0}, MaskedLMWeights: []float32{1, 0}}
		for n := range rows {
			e.InputIDs[1], e.NextSentenceLabel = int32(n), int32(n%2)
			if err := w.Write(columns.NewTable(columns.Spec{Form: records.Pairs}).Row(e)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("PRETEXT_HDF5"); dir != "" {
			if err := os.WriteFile(fmt.Sprintf("%s/%d.hdf5", dir, rows), out.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		whole := out.Bytes()
		if err := readSmall(p, whole); err != nil {
			t.Fatalf("%d rows: %v", rows, err)
		}
		l := newLayout(smallChunks(datasets(p)), rows)
		for at := l.trees[0]; at < l.trees[1]; at += max(1, (l.trees[1]-l.trees[0])/50) {
			bad := bytes.Clone(whole)
			bad[at] ^= 1
			if err := readSmall(p, bad); !errors.Is(err, columns.ErrCorrupt) {
				t.Fatalf("%d rows, byte %d changed: %v, want ErrCorrupt", rows, at, err)
			}
		}
	}
}

// readSmall reads a file whose chunks have one row.
func readSmall(p columns.Part, content []byte) error {
	r := &reader{in: bytes.NewReader(content), size: int64(len(content)), sets: smallChunks(datasets(p))}
	if err := r.head(p.Rows); err != nil {
		return err
	}
	row := columns.NewRow(p.Schema)
	for n := range p.Rows {
		if err := r.row(n, row); err != nil {
			return err
		}
		if got := row[0].Ints[1]; int64(got) != n || row[5].Floats[0] != 1 || row[5].Floats[1] != 0 || int64(row[6].Ints[0]) != n%2 {
			return fmt.Errorf("row %d is %v", n, row)
		}
	}
	return nil
}
