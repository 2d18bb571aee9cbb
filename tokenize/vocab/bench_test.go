package vocab_test

import (
	"bytes"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/tokenize/vocab"
)

func BenchmarkCounts(b *testing.B) {
	text := string(realdata.Read(b, "books/txt/84_frankenstein_or_the_modern_prometheus.txt"))
	c := newCounts(b, vocab.DefaultOptions())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for line := range strings.SplitSeq(text, "\n") {
			c.Add(line)
		}
	}
}

func BenchmarkTrain(b *testing.B) {
	c := newCounts(b, vocab.DefaultOptions())
	for _, name := range []string{"11_alices_adventures_in_wonderland", "209_the_turn_of_the_screw", "36_the_war_of_the_worlds", "84_frankenstein_or_the_modern_prometheus"} {
		c.Add(string(realdata.Read(b, "books/txt/"+name+".txt")))
	}
	file := []byte(written(b, c))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := vocab.Train(b.Context(), vocab.Merge(bytes.NewReader(file)), vocab.DefaultOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
