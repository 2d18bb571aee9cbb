package tokenize_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
)

// englishLines returns the paragraphs of books, about 150 bytes each.
func englishLines(tb testing.TB) []string {
	text := string(realdata.Read(tb, "books/txt/36_the_war_of_the_worlds.txt")) +
		string(realdata.Read(tb, "books/txt/84_frankenstein_or_the_modern_prometheus.txt"))
	var lines []string
	for s := range strings.SplitSeq(text, ". ") {
		lines = append(lines, strings.ReplaceAll(s, "\n", " ")+".")
	}
	return lines
}

// multilingualLines returns lines of sixty languages.
func multilingualLines(tb testing.TB) []string {
	zr, err := gzip.NewReader(bytes.NewReader(realdata.Read(tb, "golden/tokenization.jsonl.gz")))
	if err != nil {
		tb.Fatal(err)
	}
	var lines []string
	for r := bufio.NewReader(zr); ; {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return lines
		}
		if err != nil {
			tb.Fatal(err)
		}
		var c struct{ Src, Text string }
		if err := json.Unmarshal(line, &c); err != nil {
			tb.Fatal(err)
		}
		if c.Src != "edge" && c.Src != "book" {
			lines = append(lines, c.Text)
		}
	}
}

func BenchmarkAppendIDs(b *testing.B) {
	for _, bench := range []struct {
		name, vocab string
		lower       bool
		lines       []string
	}{
		{"english/uncased", "uncased", true, englishLines(b)},
		{"english/cased", "cased", false, englishLines(b)},
		{"multilingual/uncased", "uncased", true, multilingualLines(b)},
		{"multilingual/cased", "multilingual-cased", false, multilingualLines(b)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			e := newEncoder(b, vocabFile(b, "vocab/bert-base-"+bench.vocab+"-vocab.txt"), bench.lower)
			size := 0
			for _, line := range bench.lines {
				size += len(line)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				for _, line := range bench.lines {
					ids = e.AppendIDs(ids[:0], line)
				}
			}
		})
	}
}

func BenchmarkWords(b *testing.B) {
	lines := englishLines(b)
	w := splitter(b, true)
	size := 0
	for _, line := range lines {
		size += len(line)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			for range w.Words(line) {
			}
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for _, name := range []string{"uncased", "multilingual-cased"} {
		data := realdata.Read(b, "vocab/bert-base-"+name+"-vocab.txt")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, err := tokenize.ReadVocab(name, data)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := tokenize.New(v, tokenize.DefaultOptions()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
