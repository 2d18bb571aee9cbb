package wikitext

import "testing"

// benchmarkPages are the articles of the real dump that figures are given for.
func benchmarkPages(b *testing.B) (pages []realPage, size int) {
	for _, p := range readPages(b, "enwiki-small-pages-articles.xml.bz2") {
		if p.ns == "0" {
			pages = append(pages, p)
			size += len(p.text)
		}
	}
	return pages, size
}

func BenchmarkScanner(b *testing.B) {
	pages, size := benchmarkPages(b)
	s := NewScanner(DefaultOptions())
	var text []byte
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for _, p := range pages {
			text = s.AppendText(text[:0], p.text, Page{Title: p.title, Lang: "en"})
		}
	}
}
