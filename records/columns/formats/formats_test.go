package formats_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
)

// folder holds files in memory.
type folder map[string]*bytes.Buffer

type memoryFile struct{ *bytes.Buffer }

func (memoryFile) Close() error { return nil }

func (f folder) create(name string) (io.WriteCloser, error) {
	if f[name] != nil {
		return nil, fmt.Errorf("%s is created twice", name)
	}
	f[name] = new(bytes.Buffer)
	return memoryFile{f[name]}, nil
}

func (f folder) open(name string) (io.ReaderAt, int64, error) {
	if f[name] == nil {
		return nil, 0, fmt.Errorf("no file %s", name)
	}
	return bytes.NewReader(f[name].Bytes()), int64(f[name].Len()), nil
}

// examples returns n random examples of s tokens and p predictions.
func examples(n, s, p int) (list []*records.Example) {
	r := rand.New(rand.NewPCG(1, 2))
	ints := func(n int) (v []int32) {
		for range n {
			v = append(v, r.Int32N(60000))
		}
		return v
	}
	for range n {
		e := &records.Example{InputIDs: ints(s), InputMask: ints(s), SegmentIDs: ints(s), MaskedLMPositions: ints(p),
			MaskedLMIDs: ints(p), MaskedLMWeights: make([]float32, p), NextSentenceLabel: r.Int32N(2)}
		for i := range e.MaskedLMWeights {
			e.MaskedLMWeights[i] = r.Float32()
		}
		list = append(list, e)
	}
	return list
}

// write writes examples as one part.
func write(t testing.TB, f columns.Format, p columns.Part, list []*records.Example) (folder, []columns.File) {
	t.Helper()
	dir := folder{}
	w, err := f.NewWriter(p, dir.create)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := w.Write(columns.Row(e, nil)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return dir, files
}

func names(files []columns.File) (list []string) {
	for _, f := range files {
		list = append(list, f.Name)
	}
	return list
}

// read reads a part back.
func read(f columns.Format, p columns.Part, files []string, dir folder) (list []*records.Example, err error) {
	for row, err := range f.Rows(p, files, dir.open) {
		if err != nil {
			return list, err
		}
		copied := new(records.Example)
		if err := copied.Decode(columns.Example(row).Append(nil)); err != nil {
			return list, err
		}
		list = append(list, copied)
	}
	return list, nil
}

func TestEveryFormatReadsWhatItWrites(t *testing.T) {
	for _, name := range formats.Names() {
		f, _ := formats.Get(name)
		for _, size := range []struct{ rows, s, p int }{{0, 8, 2}, {1, 8, 2}, {5, 1, 1}, {5000, 16, 3}} {
			t.Run(fmt.Sprintf("%s of %d rows", name, size.rows), func(t *testing.T) {
				list := examples(size.rows, size.s, size.p)
				p := columns.Part{Stem: "train-00003-of-00010", Schema: columns.Examples(size.s, size.p), Rows: int64(size.rows)}
				dir, files := write(t, f, p, list)
				got, err := read(f, p, names(files), dir)
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != len(list) {
					t.Fatalf("%d rows, want %d", len(got), len(list))
				}
				for i, e := range list {
					if !bytes.Equal(e.Append(nil), got[i].Append(nil)) {
						t.Fatalf("row %d is %+v, want %+v", i, got[i], e)
					}
				}
				again, _ := write(t, f, p, list)
				for name, b := range dir {
					if !bytes.Equal(b.Bytes(), again[name].Bytes()) {
						t.Errorf("%s: other bytes for the same rows", name)
					}
				}
			})
		}
	}
}

// A part of another length, or with another number of values in a row, is not read
// as if it were the right one.
func TestRowsChecksThePart(t *testing.T) {
	p := columns.Part{Stem: "train-00000-of-00001", Schema: columns.Examples(8, 2), Rows: 5}
	list := examples(5, 8, 2)
	for _, name := range formats.Names() {
		f, _ := formats.Get(name)
		dir, files := write(t, f, p, list)
		for what, wrong := range map[string]columns.Part{
			"fewer rows":    {Stem: p.Stem, Schema: p.Schema, Rows: 4},
			"more rows":     {Stem: p.Stem, Schema: p.Schema, Rows: 6},
			"longer column": {Stem: p.Stem, Schema: columns.Examples(9, 2), Rows: 5},
		} {
			if _, err := read(f, wrong, names(files), dir); !errors.Is(err, columns.ErrCorrupt) {
				t.Errorf("%s, %s: error %v, want ErrCorrupt", name, what, err)
			}
		}
		for _, file := range names(files) {
			cut := folder{}
			for n, b := range dir {
				cut[n] = bytes.NewBuffer(slices.Clone(b.Bytes()))
			}
			cut[file].Truncate(cut[file].Len() - 1)
			if _, err := read(f, p, names(files), cut); !errors.Is(err, columns.ErrCorrupt) && name != "webdataset" { // whose end is padding
				t.Errorf("%s without its last byte: error %v, want ErrCorrupt", file, err)
			}
		}
	}
}

// A writer accepts exactly the announced number of rows.
func TestWriterChecksTheNumberOfRows(t *testing.T) {
	p := columns.Part{Stem: "train-00000-of-00001", Schema: columns.Examples(8, 2), Rows: 3}
	for _, name := range formats.Names() {
		f, _ := formats.Get(name)
		for _, n := range []int{2, 4} {
			dir := folder{}
			w, err := f.NewWriter(p, dir.create)
			for _, e := range examples(n, 8, 2) {
				if err == nil {
					err = w.Write(columns.Row(e, nil))
				}
			}
			if err == nil {
				_, err = w.Close()
			}
			if err == nil {
				t.Errorf("%s: %d rows instead of 3 are no error", name, n)
			}
		}
	}
}

// FuzzRows changes a file of each format: the reader may fail, but not panic, and
// not yield more rows than the part has.
func FuzzRows(f *testing.F) {
	p := columns.Part{Stem: "train-00000-of-00001", Schema: columns.Examples(4, 2), Rows: 3}
	list := examples(3, 4, 2)
	for i, name := range formats.Names() {
		format, _ := formats.Get(name)
		dir, files := write(f, format, p, list)
		f.Add(i, dir[files[0].Name].Bytes())
	}
	f.Fuzz(func(t *testing.T, which int, content []byte) {
		format, ok := formats.Get(formats.Names()[uint(which)%uint(len(formats.Names()))])
		if !ok {
			t.Fatal("no format")
		}
		dir, files := write(t, format, p, list)
		dir[files[0].Name] = bytes.NewBuffer(content)
		got, err := read(format, p, names(files), dir)
		if len(got) > 3 || err == nil && len(got) != 3 {
			t.Errorf("%d rows and the error %v", len(got), err)
		}
	})
}

// The MDS index lists every file of every part, with the number of its rows.
func TestIndexOfMDS(t *testing.T) {
	f, _ := formats.Get("mds")
	var all []columns.File
	for _, stem := range []string{"train-00000-of-00002", "train-00001-of-00002"} {
		_, files := write(t, f, columns.Part{Stem: stem, Schema: columns.Examples(512, 76), Rows: 20000}, slices.Repeat(examples(100, 512, 76), 200))
		for _, file := range files {
			raw, err := json.Marshal(file.Info)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, columns.File{Name: file.Name, Info: json.RawMessage(raw)})
		}
	}
	_, content, err := f.(columns.Indexer).Index(all)
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Version int
		Shards  []struct {
			Samples int
			RawData struct {
				Basename string
				Bytes    int
			} `json:"raw_data"`
			ZipData struct{ Basename string } `json:"zip_data"`
		}
	}
	if err := json.Unmarshal(content, &index); err != nil {
		t.Fatal(err)
	}
	samples := 0
	for i, s := range index.Shards {
		samples += s.Samples
		if s.ZipData.Basename != all[i].Name || s.RawData.Basename+".zstd" != all[i].Name || s.RawData.Bytes > 1<<26 {
			t.Errorf("file %d is %+v", i, s)
		}
	}
	if len(index.Shards) != 6 || samples != 40000 || index.Version != 2 {
		t.Errorf("%d files with %d samples, version %d; want 6 with 40000, version 2", len(index.Shards), samples, index.Version)
	}
}
