package wiki

import (
	"bytes"
	"io"
	"testing"
)

// BenchmarkPages measures all but the wikitext scanner: finding pages,
// filtering, unescaping, on an uncompressed dump in memory.
func BenchmarkPages(b *testing.B) {
	dump := bytes.Repeat(bigFile(b, "wiki/enwiki-small-pages-articles.xml.bz2"), 8)
	size := int64(len(dump))
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(Dump{bytes.NewReader(dump), size, "x.xml", Head{DBName: "enwiki"}}, Range{0, size}, DefaultOptions())
		text := 0
		for {
			p, err := r.split.next()
			if err == io.EOF {
				break
			}
			h, _, reject := r.header(p)
			if reject == "" {
				src, _, _ := r.wikitext(p, h)
				text += len(src)
			}
		}
		if text < len(dump)/2 {
			b.Fatalf("%d bytes of wikitext", text)
		}
	}
}

// BenchmarkSplitter measures finding pages alone.
func BenchmarkSplitter(b *testing.B) {
	dump := bytes.Repeat(bigFile(b, "wiki/enwiki-small-pages-articles.xml.bz2"), 8)
	b.SetBytes(int64(len(dump)))
	b.ReportAllocs()
	for b.Loop() {
		s := newSplitter(defaultBounds())
		s.reset(plainOf(dump, Range{0, int64(len(dump))}))
		for {
			if _, err := s.next(); err == io.EOF {
				break
			}
		}
	}
}

// BenchmarkDocuments measures the whole way from an uncompressed dump to text.
func BenchmarkDocuments(b *testing.B) {
	dump := bytes.Repeat(bigFile(b, "wiki/enwiki-small-pages-articles.xml.bz2"), 4)
	benchmarkDump(b, dump, int64(len(dump)), Head{DBName: "enwiki"})
}

// BenchmarkDocumentsBzip2 measures the whole way from a compressed dump; bytes
// are those of its XML.
func BenchmarkDocumentsBzip2(b *testing.B) {
	const name = "wiki/enwiki-small-pages-articles.xml.bz2"
	xml := len(bigFile(b, name))
	benchmarkDump(b, realDump(b, name), int64(xml), Head{DBName: "enwiki", Compression: CompressionBzip2})
}

func benchmarkDump(b *testing.B, dump []byte, bytesOfXML int64, head Head) {
	size := int64(len(dump))
	b.SetBytes(bytesOfXML)
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(Dump{bytes.NewReader(dump), size, "x.xml", head}, Range{0, size}, DefaultOptions())
		for _, err := range r.Documents() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
