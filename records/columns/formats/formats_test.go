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

	"pretext/internal/dev/torture"
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

var allForms = []records.Form{records.Pairs, records.Masked, records.Tokens, records.Packed, records.Sentences, records.Pieces}

// examplesOf returns n random examples of a form that a format can hold, of s tokens
// and p predictions.
func examplesOf(form records.Form, n, s, p int) (list []*records.Example) {
	r := rand.New(rand.NewPCG(3, 4))
	ints := func(n int) (v []int32) {
		for range n {
			v = append(v, r.Int32N(3000))
		}
		return v
	}
	if form == records.Pairs || form == records.Masked {
		list = examples(n, s, p)
		for _, e := range list {
			if form == records.Masked {
				e.NextSentenceLabel = records.NoLabel
			}
		}
		return list
	}
	for i := range n {
		e := &records.Example{NextSentenceLabel: records.NoLabel, InputIDs: ints(s)}
		if form.Varies() {
			e.InputIDs = ints(1 + r.IntN(3*s))
			if i%1000 == 7 {
				e.InputIDs = ints([]int{255, 256, 65535, 65536}[i/1000%4])
			}
		}
		var lengths []int32 // of pieces, or of sentences
		for left := len(e.InputIDs); left > 0; {
			n := 1 + r.IntN(left)
			lengths, left = append(lengths, int32(n)), left-n
		}
		switch form {
		case records.Packed:
			e.SequenceLengths = lengths
		case records.Sentences:
			e.SentenceLengths = lengths
		}
		list = append(list, e)
	}
	return list
}

// examples returns n random pairs of s tokens and p predictions: [CLS] A [SEP] B
// [SEP] and padding, with weights 1 at positions above 0. All formats hold them.
func examples(n, s, p int) (list []*records.Example) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		e := &records.Example{InputIDs: make([]int32, s), InputMask: make([]int32, s), SegmentIDs: make([]int32, s), MaskedLMPositions: make([]int32, p),
			MaskedLMIDs: make([]int32, p), MaskedLMWeights: make([]float32, p), NextSentenceLabel: r.Int32N(2)}
		tokens := 5 + r.IntN(s-4)
		second := 3 + r.IntN(tokens-4)
		for i := range tokens {
			e.InputIDs[i], e.InputMask[i] = 4+r.Int32N(2996), 1
			if i >= second {
				e.SegmentIDs[i] = 1
			}
		}
		e.InputIDs[0], e.InputIDs[second-1], e.InputIDs[tokens-1] = vocab{}.CLS(), vocab{}.SEP(), vocab{}.SEP()
		for i := range r.IntN(min(p, tokens-3) + 1) {
			e.MaskedLMPositions[i], e.MaskedLMIDs[i], e.MaskedLMWeights[i] = int32(i+1), 4+r.Int32N(2996), 1
		}
		list = append(list, e)
	}
	return list
}

// vocab has the token t123 for the id 123.
type vocab struct{}

func (vocab) Len() int              { return 3000 }
func (vocab) Token(id int32) string { return fmt.Sprint("t", id) }
func (vocab) CLS() int32            { return 2 }
func (vocab) SEP() int32            { return 3 }

// part returns the part of examples of a form.
func part(form records.Form, list []*records.Example, s, p int) columns.Part {
	part := columns.Part{Stem: "train-00003-of-00010", Schema: columns.NewTable(columns.Spec{Form: form, Seq: s, Predictions: p}).Schema, Rows: int64(len(list)), IDs: 3000, Vocab: vocab{}, Scratch: scratch}
	part.Totals = make([]int64, len(part.Schema))
	for _, e := range list {
		for i, v := range columns.NewTable(columns.Spec{Form: form}).Row(e) {
			part.Totals[i] += int64(len(v.Ints) + len(v.Floats))
		}
	}
	return part
}

// memory is a temporary file in memory.
type memory struct{ b []byte }

func scratch() (columns.Scratch, error) { return new(memory), nil }

func (m *memory) WriteAt(b []byte, at int64) (int, error) {
	m.b = append(m.b, make([]byte, max(0, int(at)+len(b)-len(m.b)))...)
	return copy(m.b[at:], b), nil
}
func (m *memory) ReadAt(b []byte, at int64) (int, error) { return bytes.NewReader(m.b).ReadAt(b, at) }
func (m *memory) Close() error                           { return nil }

// write writes examples as one part.
func write(t testing.TB, f columns.Format, form records.Form, p columns.Part, list []*records.Example) (folder, []columns.File) {
	t.Helper()
	dir := folder{}
	w, err := f.NewWriter(p, dir.create)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := w.Write(columns.NewTable(columns.Spec{Form: form}).Row(e)); err != nil {
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
func read(f columns.Format, form records.Form, p columns.Part, files []string, dir folder) (list []*records.Example, err error) {
	for row, err := range f.Rows(p, files, dir.open) {
		if err != nil {
			return list, err
		}
		copied := new(records.Example)
		if err := copied.DecodeForm(form, columns.NewTable(columns.Spec{Form: form}).Example(row).AppendForm(nil, form)); err != nil {
			return list, fmt.Errorf("%w: %v", columns.ErrCorrupt, err)
		}
		list = append(list, copied)
	}
	return list, nil
}

// each calls test for each format and each form that it holds.
func each(t *testing.T, test func(t *testing.T, name string, f columns.Format, form records.Form)) {
	for _, name := range formats.Names() {
		f, _ := formats.Get(name)
		for _, form := range allForms {
			if columns.Holds(f, form) {
				t.Run(fmt.Sprintf("%s of %s", name, form), func(t *testing.T) { test(t, name, f, form) })
			}
		}
	}
}

// many is more rows than a block of any format has. One form shows that blocks are
// joined; others have as many in a full run.
func many(form records.Form) int {
	if form == records.Pairs {
		return 5000
	}
	return torture.Cases(300, 5000)
}

func TestEveryFormatReadsWhatItWrites(t *testing.T) {
	each(t, func(t *testing.T, _ string, f columns.Format, form records.Form) {
		for _, size := range []struct{ rows, s, p int }{{0, 8, 2}, {1, 8, 2}, {5, 6, 1}, {many(form), 16, 3}, {40, 9, 1}} {
			list := examplesOf(form, size.rows, size.s, size.p)
			p := part(form, list, size.s, size.p)
			dir, files := write(t, f, form, p, list)
			got, err := read(f, form, p, names(files), dir)
			if err != nil || len(got) != len(list) {
				t.Fatalf("%d rows and the error %v, want %d", len(got), err, len(list))
			}
			for i, e := range list {
				if !bytes.Equal(e.AppendForm(nil, form), got[i].AppendForm(nil, form)) {
					t.Fatalf("row %d is %+v, want %+v", i, got[i], e)
				}
			}
			again, _ := write(t, f, form, p, list)
			for name, b := range dir {
				if !bytes.Equal(b.Bytes(), again[name].Bytes()) {
					t.Errorf("%s: other bytes for the same rows", name)
				}
			}
		}
	})
}

// A part of another length, or with another number of values in a row, is not read
// as if it were the right one.
func TestRowsChecksThePart(t *testing.T) {
	each(t, func(t *testing.T, name string, f columns.Format, form records.Form) {
		list := examplesOf(form, 5, 8, 2)
		p := part(form, list, 8, 2)
		dir, files := write(t, f, form, p, list)
		fewer, more, longer := p, p, p
		fewer.Rows, more.Rows, longer.Schema = 4, 6, columns.NewTable(columns.Spec{Form: form, Seq: 9, Predictions: 2}).Schema
		for what, wrong := range map[string]columns.Part{"fewer rows": fewer, "more rows": more, "longer column": longer} {
			if what == "longer column" && form.Varies() {
				continue // whose columns are lists
			}
			if _, err := read(f, form, wrong, names(files), dir); !errors.Is(err, columns.ErrCorrupt) {
				t.Errorf("%s: error %v, want ErrCorrupt", what, err)
			}
		}
		for _, file := range names(files) {
			cut := folder{}
			for n, b := range dir {
				cut[n] = bytes.NewBuffer(slices.Clone(b.Bytes()))
			}
			cut[file].Truncate(cut[file].Len() - 1)
			if _, err := read(f, form, p, names(files), cut); !errors.Is(err, columns.ErrCorrupt) && name != "webdataset" { // whose end is padding
				t.Errorf("%s without its last byte: error %v, want ErrCorrupt", file, err)
			}
		}
	})
}

// A writer accepts exactly the announced number of rows, and no row without values.
func TestWriterChecksTheRows(t *testing.T) {
	each(t, func(t *testing.T, _ string, f columns.Format, form records.Form) {
		three := part(form, examplesOf(form, 3, 8, 2), 8, 2)
		for _, n := range []int{2, 4} {
			dir := folder{}
			w, err := f.NewWriter(three, dir.create)
			for _, e := range examplesOf(form, n, 8, 2) {
				if err == nil {
					err = w.Write(columns.NewTable(columns.Spec{Form: form}).Row(e))
				}
			}
			if err == nil {
				_, err = w.Close()
			}
			if err == nil {
				t.Errorf("%d rows instead of 3 are no error", n)
			}
		}
		w, err := f.NewWriter(three, folder{}.create)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(make([]columns.Value, len(three.Schema))); err == nil {
			t.Error("a row without values is no error")
		}
	})
}

// Any changed byte of a file is found, or leaves the values as they are: which
// bytes do that, padding and the like, verify finds by the hash of the file.
func TestChangedBytes(t *testing.T) {
	each(t, func(t *testing.T, name string, f columns.Format, form records.Form) {
		list := examplesOf(form, 4, 8, 2)
		p := part(form, list, 8, 2)
		dir, files := write(t, f, form, p, list)
		found, missed := 0, 0
		for _, file := range names(files) {
			content := dir[file].Bytes()
			for i := 0; i < len(content); i += 1 + len(content)/torture.Cases(80, 400) {
				bad := slices.Clone(content)
				bad[i] ^= 0x10
				changed := folder{}
				for n, b := range dir {
					changed[n] = b
				}
				changed[file] = bytes.NewBuffer(bad)
				got, err := read(f, form, p, names(files), changed)
				switch {
				case err != nil && !errors.Is(err, columns.ErrCorrupt):
					t.Fatalf("byte %d of %s: %v, want ErrCorrupt", i, file, err)
				case err != nil:
					found++
				case !slices.EqualFunc(got, list, func(a, b *records.Example) bool {
					return bytes.Equal(a.AppendForm(nil, form), b.AppendForm(nil, form))
				}):
					found++ // by the hash of the values
				default:
					missed++
				}
			}
		}
		if found == 0 {
			t.Errorf("none of %d changed bytes is found", missed)
		}
	})
}

// FuzzRows changes a file of each format: the reader may fail, but not panic, and
// not yield more rows than the part has.
func FuzzRows(f *testing.F) {
	type row struct {
		format columns.Format
		form   records.Form
	}
	var rows []row
	for _, name := range formats.Names() {
		format, _ := formats.Get(name)
		for _, form := range allForms {
			if !columns.Holds(format, form) {
				continue
			}
			list := examplesOf(form, 3, 6, 2)
			dir, files := write(f, format, form, part(form, list, 6, 2), list)
			for i, file := range files {
				f.Add(len(rows), i, dir[file.Name].Bytes())
			}
			rows = append(rows, row{format, form})
		}
	}
	f.Fuzz(func(t *testing.T, which, file int, content []byte) {
		r := rows[uint(which)%uint(len(rows))]
		list := examplesOf(r.form, 3, 6, 2)
		p := part(r.form, list, 6, 2)
		dir, files := write(t, r.format, r.form, p, list)
		dir[files[uint(file)%uint(len(files))].Name] = bytes.NewBuffer(content)
		got, err := read(r.format, r.form, p, names(files), dir)
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
		_, files := write(t, f, records.Pairs, columns.Part{Stem: stem, Schema: columns.NewTable(columns.Spec{Form: records.Pairs, Seq: 512, Predictions: 76}).Schema, Rows: 20000}, slices.Repeat(examples(100, 512, 76), 200))
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
