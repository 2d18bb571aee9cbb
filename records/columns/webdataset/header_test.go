package webdataset

import (
	"archive/tar"
	"bytes"
	"strings"
	"testing"

	"pretext/records/columns"
)

// Headers are those of archive/tar, whatever the number, the size and the length of the name.
func TestHeadersAreThoseOfArchiveTar(t *testing.T) {
	for _, stem := range []string{"train-00003-of-00010", "a/b", strings.Repeat("long/", 30) + "train-00003-of-00010"} {
		p := columns.Part{Stem: stem, Schema: []columns.Column{{Name: "input_ids"}, {Name: "next_sentence_labels"}}}
		first, err := newHeaders(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []int64{0, 1, 9, 10, 12_345_678, maxNumber, maxNumber + 1, 12_345_678_901} {
			headers := first
			if row > maxNumber {
				if headers, err = newHeaders(p, row); err != nil {
					t.Fatal(err)
				}
			}
			for _, size := range []int{0, 1, 132, 511, 512, 640, 1 << 30} {
				for i, c := range p.Schema {
					var want bytes.Buffer
					h := tar.Header{Typeflag: tar.TypeReg, Name: member(stem, row, c), Size: int64(size), Mode: 0o644, Format: tar.FormatUSTAR}
					if err := tar.NewWriter(&want).WriteHeader(&h); err != nil {
						t.Fatal(err)
					}
					if got := headers[i].append(nil, row, size); !bytes.Equal(got, want.Bytes()) {
						t.Fatalf("%s of %d bytes:\n%q, want\n%q", h.Name, size, got, want.Bytes())
					}
				}
			}
		}
	}
}

func TestATooLongNameIsAnError(t *testing.T) {
	p := columns.Part{Stem: strings.Repeat("x", 200), Schema: []columns.Column{{Name: "input_ids"}}}
	if _, err := newHeaders(p, 0); err == nil {
		t.Error("a name of over 200 bytes without a slash was taken")
	}
}
