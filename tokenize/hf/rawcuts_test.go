package hf

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rawAlphabet has characters of one to four bytes that share bytes.
const rawAlphabet = "ab éèθ界語畍𝄞𝄢"

// drawRawBPE returns a model of raw bytes whose merges join any bytes of rawAlphabet, parts
// of characters too.
func drawRawBPE(t *rapid.T) *bpe {
	vocab := map[string]int32{}
	for c := range 256 {
		vocab[string(byteChar(byte(c)))] = int32(c)
	}
	var tokens []string
	for _, c := range []byte(rawAlphabet) {
		if s := string(byteChar(c)); !slices.Contains(tokens, s) {
			tokens = append(tokens, s)
		}
	}
	m := modelFile{Type: modelBPE, IgnoreMerges: rapid.Bool().Draw(t, "ignore"), Merges: []json.RawMessage{}}
	for range rapid.IntRange(0, 40).Draw(t, "merges") {
		p := rapid.SliceOfN(rapid.SampledFrom(tokens), 2, 2).Draw(t, "merge")
		if _, ok := vocab[p[0]+p[1]]; ok {
			continue
		}
		vocab[p[0]+p[1]] = int32(len(vocab))
		if rapid.IntRange(0, 9).Draw(t, "left out") == 0 {
			continue // a token that no merge makes
		}
		tokens = append(tokens, p[0]+p[1])
		raw, _ := json.Marshal(p)
		m.Merges = append(m.Merges, raw)
	}
	for _, word := range rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune(rawAlphabet)), 1, 3, -1), 0, 4).Draw(t, "words") {
		var token strings.Builder
		for _, c := range []byte(word) {
			token.WriteRune(byteChar(c))
		}
		if _, ok := vocab[token.String()]; !ok {
			vocab[token.String()] = int32(len(vocab))
		}
	}
	m.Vocab, _ = json.Marshal(vocab)
	b, err := newBPE(&m)
	if err != nil {
		t.Fatal(err)
	}
	if !b.useRaw() || b.cuts == nil {
		t.Fatal("the model has no cuts")
	}
	return b
}

// A worker that cuts words, and keeps words and parts in one cache, gives the ids of each
// word as a whole.
func TestPartsOfAWordOfBytesAreEncodedAsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawRawBPE(t)
		w := newWorker(b)
		for range 12 {
			least := rapid.SampledFrom([]int{1, 12}).Draw(t, "least")
			word := rapid.StringOfN(rapid.RuneFrom([]rune(rawAlphabet)), least, 3*least, -1).Draw(t, "word")
			want := b.appendIDs(newWorker(b), nil, word)
			if got := b.appendCut(w, nil, word); !slices.Equal(got, want) {
				t.Fatalf("%q: parts give %d, the whole %d", word, got, want)
			}
			if got := w.appendWord(nil, word); !slices.Equal(got, want) {
				t.Fatalf("%q: with the cache %d, the whole %d", word, got, want)
			}
		}
	})
}

// A model without the tokens of all bytes does not cut.
func TestUnknownBytesAreNotCut(t *testing.T) {
	var ids [256]int32
	if newRawCuts(nil, &ids) == nil {
		t.Error("no cuts though all bytes are known")
	}
	ids[7] = noToken
	if newRawCuts(nil, &ids) != nil {
		t.Error("cuts though a byte is unknown")
	}
}
