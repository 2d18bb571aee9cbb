package text

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"pretext/internal/dev/realdata"
)

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(s))
	if err := errors.Join(err, w.Close()); err != nil {
		panic("BUG: " + err.Error())
	}
	return b.Bytes()
}

func zstandard(s string) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return w.EncodeAll([]byte(s), nil)
}

func TestCompressedSourcesAreToldByTheirFirstBytes(t *testing.T) {
	for name, content := range map[string]string{
		"plain":                 "one\n\ntwo\n",
		"gzip":                  string(gzipped("one\n\ntwo\n")),
		"gzip of two members":   string(gzipped("one\n")) + string(gzipped("\ntwo\n")),
		"gzip, an empty member": string(gzipped("")) + string(gzipped("one\n\ntwo\n")),
		"gzip and padding":      string(gzipped("one\n\ntwo\n")) + strings.Repeat("\x00", 1000),
		"zstd":                  string(zstandard("one\n\ntwo\n")),
		"zstd of two frames":    string(zstandard("one\n")) + "\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + string(zstandard("\ntwo\n")),
		"zstd, skippable head":  "\x5f\x2a\x4d\x18\x01\x00\x00\x00a" + string(zstandard("one\n\ntwo\n")),
	} {
		got := texts(collect(t, NewLines([]Source{memory("f.txt", content)}, Options{})))
		if want := []string{"one", "two"}; !cmp.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestDamageIsReportedWithItsPlace(t *testing.T) {
	whole := strings.Repeat("one line of text\n\n", 20000)
	gz, zs := gzipped(whole), zstandard(whole)
	flipped := bytes.Clone(gz)
	flipped[len(flipped)-6] ^= 1
	for name, content := range map[string][]byte{
		"gzip cut in the header":  gz[:5],
		"gzip cut in the middle":  gz[:len(gz)/2],
		"gzip cut in the trailer": gz[:len(gz)-3],
		"gzip, wrong checksum":    flipped,
		"gzip, junk after":        append(bytes.Clone(gz), "junk"...),
		"gzip, a byte after":      append(bytes.Clone(gz), 'j'),
		"gzip, half a member":     append(bytes.Clone(gz), gz[:4]...),
		"zstd cut":                zs[:len(zs)/2],
		"zstd cut in the header":  zs[:5],
		"zstd, junk after":        append(bytes.Clone(zs), "junk"...),
	} {
		t.Run(name, func(t *testing.T) {
			var last error
			for _, err := range NewLines([]Source{memory("f.gz", string(content))}, Options{}).Documents() {
				last = err
			}
			var corrupt *CorruptError
			if !errors.As(last, &corrupt) || !errors.Is(last, ErrCorrupt) {
				t.Fatalf("got error %v, want a CorruptError", last)
			}
			if corrupt.File != "f.gz" || corrupt.Offset <= 0 || corrupt.Offset > int64(len(content)) {
				t.Errorf("got place %+v", corrupt)
			}
		})
	}
}

func TestDocumentsBeforeDamageAreRead(t *testing.T) {
	content := string(gzipped("one\n\ntwo\n\nthr")) + "junk"
	var got []string
	for doc, err := range NewLines([]Source{memory("f", content)}, Options{}).Documents() {
		if err == nil {
			got = append(got, doc.Text)
		}
	}
	if want := []string{"one", "two"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzDecompress checks that no bytes make Decompress panic, and that it gives
// exactly what was compressed.
func FuzzDecompress(f *testing.F) {
	f.Add([]byte("text"), uint(3))
	f.Add(gzipped("text"), uint(5))
	f.Add(zstandard("text"), uint(5))
	f.Fuzz(func(t *testing.T, b []byte, cut uint) {
		for _, packed := range [][]byte{gzipped(string(b)), zstandard(string(b))} {
			got, err := decompressAll(packed)
			if err != nil || !bytes.Equal(got, b) {
				t.Fatalf("got %q, %v; want %q", got, err, b)
			}
			part := packed[:cut%uint(len(packed))]
			if _, err := decompressAll(part); len(part) > 4 && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("cut at %d: got %v, want ErrCorrupt", len(part), err)
			}
		}
		if _, err := decompressAll(b); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt", err)
		}
	})
}

func decompressAll(b []byte) ([]byte, error) {
	r, err := Decompress("f", bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, 1<<24))
}

func TestSentencesOfARealBookCorpus(t *testing.T) {
	content := realdata.Read(t, "books/bookcorpus-layout/all.txt.gz")
	r := NewLines([]Source{{"all.txt.gz", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}}, Options{})
	docs := texts(collect(t, r))
	plain, err := decompressAll(content)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := plainLines(string(plain))
	if !cmp.Equal(docs, want) || len(docs) != 6490 {
		t.Errorf("got %d documents, want %d", len(docs), len(want))
	}
	if got := r.Stats().Lines; got != 25914 {
		t.Errorf("got %d lines, want 25914", got)
	}
}

func ExampleNewLines() {
	r := NewLines([]Source{memory("corpus.txt", "The first sentence.\nThe second one.\n\nAnother document.\n")}, Options{Lang: "en"})
	for doc, err := range r.Documents() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.12s… %q\n", doc.ID, doc.Text)
	}
	fmt.Println(r.Stats().Kept, "documents,", r.Stats().Lines, "lines")
	// Output:
	// text:81c6361… "The first sentence.\nThe second one."
	// text:9ff2f59… "Another document."
	// 2 documents, 4 lines
}
