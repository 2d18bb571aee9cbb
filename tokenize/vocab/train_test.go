package vocab_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"pretext/internal/realdata"
	"pretext/tokenize/vocab"
)

func TestBooks(t *testing.T) {
	o := vocab.DefaultOptions()
	c, _ := vocab.NewCounts(o)
	for _, f := range []string{"36_the_war_of_the_worlds.txt", "84_frankenstein_or_the_modern_prometheus.txt", "11_alices_adventures_in_wonderland.txt"} {
		c.Add(string(realdata.Read(t, "books/txt/"+f)))
	}
	var b bytes.Buffer
	c.WriteTo(&b)
	t.Log(c.Len(), c.Size(), b.Len())
	for _, n := range []int{1000, 8000, 30522} {
		o.VocabSize = n
		tokens, err := vocab.Train(vocab.Merge(io.Reader(bytes.NewReader(b.Bytes()))), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(len(tokens), strings.Join(tokens[len(tokens)-30:], " "))
		t.Log(strings.Join(tokens[:300], " "))
	}
}
