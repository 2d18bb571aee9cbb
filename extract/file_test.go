package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

func ExampleWriter() {
	var file bytes.Buffer
	w, err := NewWriter(&file, 64<<10, DefaultLevel)
	if err != nil {
		panic(err)
	}
	w.Write(&Document{ID: "demowiki:1", Title: "Bee", Text: "A bee flies.", Source: "demo.xml", Lang: "en"})
	blocks, err := w.Close()
	if err != nil {
		panic(err)
	}
	r, err := NewBlockReader()
	if err != nil {
		panic(err)
	}
	defer r.Close()
	for d, err := range r.Documents(bytes.NewReader(file.Bytes()), blocks[0]) {
		if err != nil {
			panic(err)
		}
		fmt.Println(d.ID, d.Text)
	}
	// Output: demowiki:1 A bee flies.
}

func documents(n int) (docs []*Document) {
	for i := range n {
		docs = append(docs, &Document{
			ID: fmt.Sprintf("w:%d", i), Title: strings.Repeat("t", i%3), Lang: []string{"", "en"}[i%2],
			Text: strings.Repeat(fmt.Sprintf("line %d \"x\"\n\tß €\u2028 \x01\\", i), i*7%50+1), Source: "s"})
	}
	return docs
}

func write(t *testing.T, docs []*Document, blockBytes int64) ([]byte, []Block) {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, blockBytes, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if err := w.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	blocks, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), blocks
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	docs := documents(200)
	file, blocks := write(t, docs, 4<<10)
	r, err := NewBlockReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []*Document
	for i, b := range blocks {
		n, text := int64(0), int64(0)
		for d, err := range r.Documents(bytes.NewReader(file), b) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d)
			n, text = n+1, text+int64(len(d.Text))
		}
		if n != b.Documents || text != b.TextBytes {
			t.Errorf("block %d: got %d documents, %d bytes, want %d, %d", i, n, text, b.Documents, b.TextBytes)
		}
		if text > 4<<10 && n > 1 {
			t.Errorf("block %d: %d bytes in %d documents, over the limit", i, text, n)
		}
	}
	if diff := cmp.Diff(docs, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheSeekTableFindsTheBlocks(t *testing.T) {
	file, blocks := write(t, documents(100), 2<<10)
	got, err := ReadBlocks(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range blocks {
		blocks[i].Documents, blocks[i].TextBytes = 0, 0
	}
	if diff := cmp.Diff(blocks, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyFileHasNoBlocks(t *testing.T) {
	file, blocks := write(t, nil, 1<<10)
	if len(blocks) != 0 {
		t.Errorf("got %v", blocks)
	}
	if got, err := ReadBlocks(bytes.NewReader(file), int64(len(file))); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

// The lines are what any zstd tool gives, and JSON that any reader takes.
func TestForeignReadersReadTheFile(t *testing.T) {
	docs := documents(50)
	file, _ := write(t, docs, 2<<10)
	dec, err := zstd.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	plain, err := io.ReadAll(dec)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(plain, []byte("\n")), []byte("\n"))
	if len(lines) != len(docs) {
		t.Fatalf("got %d lines, want %d", len(lines), len(docs))
	}
	for i, line := range lines {
		var v struct {
			ID, Text, Source string
			Metadata         map[string]string
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if v.ID != docs[i].ID || v.Text != docs[i].Text || v.Metadata["title"] != docs[i].Title || v.Metadata["lang"] != docs[i].Lang {
			t.Errorf("line %d: got %+v, want %+v", i, v, docs[i])
		}
	}
	if tool, err := exec.LookPath("zstd"); err == nil {
		path := filepath.Join(t.TempDir(), "d.jsonl.zst")
		os.WriteFile(path, file, 0o666)
		out, err := exec.Command(tool, "-dc", path).Output()
		if err != nil || !bytes.Equal(out, plain) {
			t.Errorf("zstd -dc differs: %v", err)
		}
	}
}

func TestDamageIsNamedWithItsPlace(t *testing.T) {
	file, blocks := write(t, documents(40), 1<<10)
	r, err := NewBlockReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for n := range file { // cut at every byte
		if _, err := ReadBlocks(bytes.NewReader(file[:n]), int64(n)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: got %v", n, err)
		}
	}
	b := blocks[len(blocks)/2]
	var want []*Document
	for d := range r.Documents(bytes.NewReader(file), b) {
		want = append(want, d)
	}
	for i := b.Offset; i < b.Offset+b.Length; i++ {
		damaged := bytes.Clone(file)
		damaged[i] ^= 0x10
		var corrupt *CorruptError
		var err error
		var got []*Document
		var d *Document
		for d, err = range r.Documents(bytes.NewReader(damaged), b) {
			if err != nil {
				break
			}
			got = append(got, d)
		}
		if err == nil && cmp.Equal(got, want) {
			continue // a bit without meaning; the hash of the file covers it
		}
		if !errors.As(err, &corrupt) || corrupt.Offset != b.Offset {
			t.Fatalf("bit flipped at %d: got %v, want damage at %d", i, err, b.Offset)
		}
	}
}

func TestBlockBytesFollowTheSource(t *testing.T) {
	for source, want := range map[int64]int64{0: 16 << 10, 1 << 20: 16 << 10, 64 << 20: 64 << 10, 1 << 40: 256 << 10} {
		if got := BlockBytes(source); got != want {
			t.Errorf("source of %d bytes: got %d, want %d", source, got, want)
		}
	}
}

// A writer that wrote another file, or began one, writes the bytes of a new one.
func TestAWriterCanBeUsedAgain(t *testing.T) {
	write := func(w *Writer, docs []*Document) []Block {
		for _, d := range docs {
			if err := w.Write(d); err != nil {
				t.Fatal(err)
			}
		}
		blocks, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		return blocks
	}
	var want, got bytes.Buffer
	docs := documents(30)
	fresh, err := NewWriter(&want, 1<<10, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	wantBlocks := write(fresh, docs)
	used, err := NewWriter(io.Discard, 3<<10, DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	first := write(used, docs[5:20])
	before := slices.Clone(first)
	used.Reset(io.Discard, 5)
	if err := used.Write(docs[0]); err != nil {
		t.Fatal(err)
	}
	used.Reset(&got, 1<<10)
	gotBlocks := write(used, docs)
	if !bytes.Equal(got.Bytes(), want.Bytes()) || !slices.Equal(gotBlocks, wantBlocks) {
		t.Error("the file of a used writer differs from that of a new one")
	}
	if !slices.Equal(first, before) {
		t.Error("the blocks of an earlier file changed")
	}
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, d := range documents(10) {
		f.Add(d.AppendJSON(nil))
	}
	f.Add([]byte(`{"text":"a","id":"b"}`))
	f.Add((&Document{ID: "w:1", URL: "https://a", Revision: 7, Timestamp: "t", License: "CC0-1.0", SimilarTo: "w:0"}).AppendJSON(nil))
	f.Add([]byte(`{"id":"w:1","text":"","source":"","metadata":{"title":"a","revision":007}}`))
	f.Add([]byte(`{"id":"w:1","text":"","source":"","metadata":{"title":"a","url":["b"],"revision":"9","license":null}}`))
	f.Add([]byte(`{"id":"\ud800","text":"\u0041","source":"","metadata":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var d, want Document
		var j jsonDocument
		err := d.UnmarshalJSON(line)
		if json.Unmarshal(line, &j) == nil {
			m := j.Metadata
			want = Document{ID: j.ID, Title: m.Title, Text: j.Text, Source: j.Source, Lang: m.Lang,
				URL: string(m.URL), Revision: int64(m.Revision), Timestamp: string(m.Timestamp), License: string(m.License), SimilarTo: string(m.SimilarTo)}
		} else if err == nil {
			t.Fatalf("accepted %q, encoding/json does not", line)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Fatalf("%q: %s", line, diff)
		}
		var again Document
		if err := again.UnmarshalJSON(d.AppendJSON(nil)); err != nil || again != d {
			t.Fatalf("%q does not survive: %+v, %v", line, again, err)
		}
	})
}

func FuzzReadBlocks(f *testing.F) {
	var file bytes.Buffer
	w, _ := NewWriter(&file, 1<<10, DefaultLevel)
	for _, d := range documents(20) {
		w.Write(d)
	}
	w.Close()
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		blocks, err := ReadBlocks(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		r, err := NewBlockReader()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		end := int64(0)
		for _, b := range blocks {
			if b.Offset != end {
				t.Fatalf("block at %d, the one before ends at %d", b.Offset, end)
			}
			end += b.Length
			if b.RawLength > 1<<20 {
				continue
			}
			for d, err := range r.Documents(bytes.NewReader(file), b) {
				if err == nil && !utf8.ValidString(d.Text) {
					t.Fatal("a document with invalid UTF-8")
				}
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	docs := documents(500)
	total := int64(0)
	for _, d := range docs {
		total += int64(len(d.Text))
	}
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		w, _ := NewWriter(io.Discard, 64<<10, DefaultLevel)
		for _, d := range docs {
			w.Write(d)
		}
		w.Close()
	}
}

// A file of every level is read as one of the default, here and by zstd's tools.
func TestEveryLevelIsReadAlike(t *testing.T) {
	docs := documents(40)
	docs = append(docs, &Document{ID: "long", Text: strings.Repeat("A sentence of a long book. ", 20_000), Source: "book"})
	sizes := map[Level]int{}
	for level := Stored; level <= MaxLevel; level++ {
		var file bytes.Buffer
		w, err := NewWriter(&file, 2<<10, level)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			if err := w.Write(d); err != nil {
				t.Fatal(err)
			}
		}
		blocks, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		sizes[level] = file.Len()
		r, err := NewBlockReader()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, b := range blocks {
			for got, err := range r.Documents(bytes.NewReader(file.Bytes()), b) {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(docs[n], got); diff != "" {
					t.Fatal(diff)
				}
				n++
			}
		}
		r.Close()
		if n != len(docs) {
			t.Errorf("level %d: got %d documents, want %d", level, n, len(docs))
		}
		if tool, err := exec.LookPath("zstd"); err == nil {
			cmd := exec.Command(tool, "-dcq")
			cmd.Stdin = bytes.NewReader(file.Bytes())
			if out, err := cmd.Output(); err != nil || bytes.Count(out, []byte("\n")) != len(docs) {
				t.Errorf("level %d: zstd -dc: %v, %d bytes", level, err, len(out))
			}
		}
	}
	if sizes[Stored] <= 2*sizes[DefaultLevel] || sizes[MaxLevel] >= sizes[DefaultLevel] {
		t.Errorf("sizes by level: %v", sizes)
	}
	for _, bad := range []Level{-1, MaxLevel + 1} {
		if bad.Validate() == nil {
			t.Errorf("level %d is accepted", bad)
		}
	}
}

// Every changed bit of a stored frame is found: its checksum covers the text.
func TestAStoredFrameHasAChecksum(t *testing.T) {
	for _, n := range []int{0, 1, maxStoredBlock - 1, maxStoredBlock, maxStoredBlock + 1, 3*maxStoredBlock + 5} {
		raw := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		frame := appendStored([]byte("x"), raw)[1:]
		dec, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := dec.DecodeAll(frame, nil)
		if err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("%d bytes: got %d bytes, %v", n, len(got), err)
		}
		if n > 0 {
			frame[len(frame)-5] ^= 1 // the last byte of the text
			if _, err := dec.DecodeAll(frame, nil); !errors.Is(err, zstd.ErrCRCMismatch) {
				t.Errorf("%d bytes, one changed: got %v", n, err)
			}
		}
		dec.Close()
	}
}

// FuzzStoredFrame: what is stored is decoded by a zstd decoder, whatever it is.
func FuzzStoredFrame(f *testing.F) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(dec.Close)
	f.Add([]byte("text"), 0)
	f.Add([]byte("a text of many blocks"), 250)
	f.Fuzz(func(t *testing.T, raw []byte, times int) {
		if times = times & 0xff << 6; len(raw)*times < 1<<20 {
			raw = bytes.Repeat(raw, times)
		}
		if got, err := dec.DecodeAll(appendStored(nil, raw), nil); err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("%d bytes: %d, %v", len(raw), len(got), err)
		}
	})
}
