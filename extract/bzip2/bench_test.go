package bzip2

import (
	"bytes"
	stdbzip2 "compress/bzip2"
	"io"
	"testing"

	"pretext/internal/dev/realdata"
)

var benchFiles = []struct{ name, file string }{
	{"single", "wiki/enwiki-small-pages-articles.xml.bz2"},
	{"multistream", "wiki/enwiki-reconstructed-pages-articles-multistream.xml.bz2"},
}

// BenchmarkReader and [BenchmarkStdlib] compare this package with the
// standard library: bytes are those of the decoded text.
func BenchmarkReader(b *testing.B) {
	for _, f := range benchFiles {
		b.Run(f.name, func(b *testing.B) {
			file := realdata.Read(b, f.file)
			src, size := bytes.NewReader(file), int64(len(file))
			r := NewReader(src, size, Range{0, size})
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(src, size, Range{0, size})
				n, err := io.Copy(io.Discard, &streamReader{r: r})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
			}
		})
	}
}

func BenchmarkStdlib(b *testing.B) {
	for _, f := range benchFiles {
		b.Run(f.name, func(b *testing.B) {
			file := realdata.Read(b, f.file)
			b.ReportAllocs()
			for b.Loop() {
				n, err := io.Copy(io.Discard, stdbzip2.NewReader(bytes.NewReader(file)))
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
			}
		})
	}
}
