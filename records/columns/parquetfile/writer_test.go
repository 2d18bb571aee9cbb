package parquetfile

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records/columns"
)

type memory struct{ bytes.Buffer }

func (*memory) Close() error { return nil }

// written writes rows of one column, and returns what the Parquet library reads.
func written(t *testing.T, c columns.Column, rows []columns.Value) (got []columns.Value) {
	t.Helper()
	p := columns.Part{Stem: "x", Rows: int64(len(rows)), Schema: []columns.Column{c}}
	var out memory
	w, err := Format{}.NewWriter(p, func(string) (io.WriteCloser, error) { return &out, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range rows {
		if err := w.Write([]columns.Value{v}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	open := func(string) (io.ReaderAt, int64, error) { return bytes.NewReader(out.Bytes()), int64(out.Len()), nil }
	for row, err := range (Format{}).Rows(p, []string{files[0].Name}, open) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, columns.Value{Ints: append([]int32(nil), row[0].Ints...), Floats: append([]float32(nil), row[0].Floats...)})
	}
	return got
}

func TestColumnsOfAllKindsAreReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	below := func(n int) func() int32 { return func() int32 { return int32(r.IntN(n)) } }
	for name, draw := range map[string]func() int32{
		"one value": below(1), "flags": below(2), "words of a byte": below(256), "of two": below(257), "all of two": below(65536), "of three": below(70000),
		"rare values": below(1 << 21), "the last word": func() int32 { return mostWords - 1 - int32(r.IntN(2)) }, "beyond": func() int32 { return mostWords + int32(r.IntN(2)) },
		"negative": func() int32 { return -int32(r.IntN(3)) }, "limits": func() int32 { return []int32{math.MinInt32, math.MaxInt32}[r.IntN(2)] },
		"runs": func() int32 { return int32(r.IntN(40) / 39) },
	} {
		for _, c := range []columns.Column{{Name: "n", Len: 1}, {Name: "n", Len: 7}, {Name: "n", Len: 64}, {Name: "n", Len: 0}, {Name: "n", Len: 9, Type: columns.Int64}} {
			rows := make([]columns.Value, 1+r.IntN(800))
			for i := range rows {
				n := c.Len
				if n == 0 {
					n = 1 + r.IntN(40)
				}
				for range n {
					rows[i].Ints = append(rows[i].Ints, draw())
				}
			}
			if diff := cmp.Diff(rows, written(t, c, rows)); diff != "" {
				t.Errorf("%s in %d lists of %d: (-want +got)\n%.500s", name, len(rows), c.Len, diff)
			}
		}
	}
}

func TestRowGroups(t *testing.T) {
	for _, n := range []int{groupRows - 1, groupRows, groupRows + 1, 2*groupRows + 3} {
		var rows []columns.Value
		for i := range n {
			rows = append(rows, columns.Value{Ints: []int32{int32(i), 7}})
		}
		if diff := cmp.Diff(rows, written(t, columns.Column{Name: "n", Len: 2}, rows)); diff != "" {
			t.Errorf("%d rows: (-want +got)\n%.500s", n, diff)
		}
	}
}

func TestRunsBesidePackedValues(t *testing.T) {
	for before := range 20 { // values without runs, then a run, then such values again
		for run := range 20 {
			var row columns.Value
			for i := range before {
				row.Ints = append(row.Ints, int32(1+i%2))
			}
			for range run {
				row.Ints = append(row.Ints, 0)
			}
			row.Ints = append(row.Ints, 1, 2, 1)
			rows := []columns.Value{row, row}
			if diff := cmp.Diff(rows, written(t, columns.Column{Name: "n", Len: len(row.Ints)}, rows)); diff != "" {
				t.Errorf("%d, run of %d: (-want +got)\n%s", before, run, diff)
			}
		}
	}
}

func TestFloatsAreReadBack(t *testing.T) {
	for _, distinct := range []int{1, 2, 16, 17, 1000} {
		var rows []columns.Value
		for i := range 3000 {
			rows = append(rows, columns.Value{Floats: []float32{float32(i%distinct) / 3, -1, float32(math.Inf(1))}})
		}
		if diff := cmp.Diff(rows, written(t, columns.Column{Name: "f", Len: 3, Type: columns.Float32}, rows)); diff != "" {
			t.Errorf("%d values: (-want +got)\n%.500s", distinct, diff)
		}
	}
}

// A dictionary that is sorted by frequency, with indexes of whole bytes, is why a file is
// smaller than one of packed indexes: see the package comment.
func TestTheMostFrequentWordComesFirst(t *testing.T) {
	var c chunk
	c.add(columns.Value{Ints: []int32{9, 5, 5, 7, 7, 7, 9, 5, 5}})
	if !c.index() || fmt.Sprint(c.words, c.at) != "[5 7 9] [2 0 0 1 1 1 2 0 0]" {
		t.Errorf("got %v, %v", c.words, c.at)
	}
}

func TestTheIndexNamesEachSplitOnce(t *testing.T) {
	_, page, err := Format{}.Index([]columns.File{{Name: "eval-00000.parquet"}, {Name: "train-00000.parquet"}, {Name: "train-00001.parquet"}})
	const want = "---\nconfigs:\n- config_name: default\n  data_files:\n" +
		"  - split: eval\n    path: eval-*.parquet\n  - split: train\n    path: train-*.parquet\n---\n"
	if err != nil || string(page) != want {
		t.Errorf("got %q, %v, want %q", page, err, want)
	}
}
