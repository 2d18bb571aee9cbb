package hf

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A word that is cut has the ids of the whole, whatever the merges, with unknown
// characters, and through the heap as well as through the loop over few symbols.
func TestPartsOfAWordAreEncodedAsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBPE(t)
		if b.cuts == nil {
			t.Fatal("the model has no cuts")
		}
		w := newWorker(b)
		for range 4 {
			word := strings.Join(rapid.SliceOfN(rapid.SampledFrom(strings.Split("a b c ▁ é 界 ! ▁a bc x ζ", " ")), 1, 60).Draw(t, "word"), "")
			want := b.appendPart(w, nil, word)
			if got := b.appendCut(w, nil, word); !slices.Equal(got, want) {
				t.Fatalf("%q: parts give %d, the whole %d", word, got, want)
			}
			if got := heapMerged(w, b, word); !slices.Equal(got, want) {
				t.Fatalf("%q: the heap gives %d, few symbols %d", word, got, want)
			}
		}
	})
}

// heapMerged encodes a word with the heap, however short it is.
func heapMerged(w *worker, b *bpe, word string) []int32 {
	w.symbols = w.symbols[:0]
	if b.addCharacters(w, word) {
		w.add(b.unk)
	}
	return w.appendMergedMany(nil, b)
}

// drawMerges returns a vocabulary without x and ζ, and merges of a few characters.
func drawMerges(t *rapid.T) (vocab map[string]int32, merges [][2]string) {
	tokens := strings.Split("<unk> a b c ▁ é 界 !", " ")
	for range rapid.IntRange(0, 25).Draw(t, "merges") {
		two := rapid.SliceOfN(rapid.SampledFrom(tokens[1:]), 2, 2).Draw(t, "merge")
		if joined := two[0] + two[1]; !slices.Contains(tokens, joined) {
			tokens = append(tokens, joined)
		}
		if m := [2]string(two); !slices.Contains(merges, m) {
			merges = append(merges, m)
		}
	}
	vocab = map[string]int32{}
	for id, token := range tokens {
		vocab[token] = int32(id)
	}
	return vocab, merges
}

// drawBPE returns a model with the merges of drawMerges.
func drawBPE(t *rapid.T) *bpe {
	vocab, merges := drawMerges(t)
	m := modelFile{Type: modelBPE, FuseUnk: rapid.Bool().Draw(t, "fuse")}
	m.Vocab, _ = json.Marshal(vocab)
	m.Merges = []json.RawMessage{}
	for _, p := range merges {
		raw, _ := json.Marshal(p)
		m.Merges = append(m.Merges, raw)
	}
	if unk := "<unk>"; rapid.Bool().Draw(t, "unknown token") {
		m.UnkToken = &unk
	}
	b, err := newBPE(&m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A worker that sees many words keeps a bounded number of them.
func TestTheCacheOfShortWordsIsBounded(t *testing.T) {
	w := newWorker(nil)
	for range 8 * maxShort {
		w.grow()
	}
	if n := len(w.short); n != maxShort {
		t.Errorf("it has %d entries, want %d", n, maxShort)
	}
}
