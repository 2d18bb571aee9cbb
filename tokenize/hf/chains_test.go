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

// A word has the ids that merging its symbols gives, through the heap as well as through the
// loop over few symbols, whatever the merges: with several that make one token, with ranks
// that fall, and with unknown characters.
func TestChainsGiveWhatMergesMake(t *testing.T) {
	kinds := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		b := drawBPE(t)
		if b.chains == nil {
			t.Fatal("the model has no chains")
		}
		w := newWorker(b)
		for range 8 {
			word := strings.Join(rapid.SliceOfN(rapid.SampledFrom(strings.Split("a b a b a b c ▁ é 界 ! ▁a bc x ζ", " ")[:rapid.SampledFrom([]int{2, 15}).Draw(t, "alphabet")]), 1, 60).Draw(t, "word"), "")
			checkChains(t, w, b, word, kinds)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		b := drawRawBPE(t)
		w := newWorker(b)
		for range 8 {
			word := rapid.StringOfN(rapid.RuneFrom([]rune(rawAlphabet)), 1, 40, -1).Draw(t, "word")
			checkChains(t, w, b, word, kinds)
		}
	})
	for _, kind := range []string{"mixed", "unknown", "taken back", "cannot tell"} {
		if kinds[kind] == 0 {
			t.Errorf("no word is %s", kind)
		}
	}
}

func checkChains(t *rapid.T, w *worker, b *bpe, word string, kinds map[string]int) {
	want := b.appendMerged(w, []int32{7}, word)
	if got := heapMerged(w, b, word); !slices.Equal(got, want[1:]) {
		t.Fatalf("%q: the heap gives %d, few symbols %d", word, got, want[1:])
	}
	got, ok := b.chains.appendIDs(w, []int32{7}, word)
	if !ok {
		kinds["cannot tell"]++
		if b.chains.gaps || !slices.Equal(got, []int32{7}) {
			t.Fatalf("%q: chains cannot tell, and give %d", word, got)
		}
		return
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q: chains give %d, merges %d", word, got, want)
	}
	for _, id := range got[1:] {
		if int(id) >= len(b.chains.tokens) || b.chains.tokens[id].size == 0 {
			kinds["unknown"]++
		} else if b.chains.tokens[id].mixed {
			kinds["mixed"]++
		}
	}
	if longest, _ := b.chains.trie.Longest(word); longest != noToken && longest != got[1] {
		kinds["taken back"]++
	}
}

// heapMerged encodes a word with the heap, however short it is.
func heapMerged(w *worker, b *bpe, word string) []int32 {
	w.symbols = w.symbols[:0]
	unknown := false
	if b.raw != nil {
		unknown = b.addBytes(w, word)
	} else {
		unknown = b.addCharacters(w, word)
	}
	if unknown {
		w.add(b.unk)
	}
	return w.appendMergedMany(nil, b)
}

// drawMerges returns a vocabulary without x and ζ, and merges of a few characters.
func drawMerges(t *rapid.T) (vocab map[string]int32, merges [][2]string) {
	tokens := strings.Split("<unk> a b c ▁ é 界 !", " ")
	for range rapid.IntRange(0, 40).Draw(t, "merges") {
		from := tokens[1:]
		if rapid.Bool().Draw(t, "dense") {
			from = append(slices.Clone(tokens[1:3]), tokens[8:]...)
		}
		two := rapid.SliceOfN(rapid.SampledFrom(from), 2, 2).Draw(t, "merge")
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

// drawBPE returns a model with the merges of drawMerges, in any order.
func drawBPE(t *rapid.T) *bpe {
	vocab, merges := drawMerges(t)
	m := modelFile{Type: modelBPE, FuseUnk: rapid.Bool().Draw(t, "fuse"), ByteFallback: rapid.Bool().Draw(t, "fallback")}
	if rapid.Bool().Draw(t, "shuffle") {
		merges = rapid.Permutation(merges).Draw(t, "order")
	}
	if m.ByteFallback { // of ζ, not of x
		vocab["<0xCE>"], vocab["<0xB6>"] = int32(len(vocab)), int32(len(vocab)+1)
	}
	unk := "<unk>"
	if rapid.IntRange(0, 4).Draw(t, "merged unknown") == 0 {
		vocab["<unk>a"] = int32(len(vocab))
		merges = append(merges, [2]string{unk, "a"})
	}
	m.Vocab, _ = json.Marshal(vocab)
	m.Merges = []json.RawMessage{}
	for _, p := range merges {
		raw, _ := json.Marshal(p)
		m.Merges = append(m.Merges, raw)
	}
	if rapid.Bool().Draw(t, "unknown token") {
		m.UnkToken = &unk
	}
	b, err := newBPE(&m)
	if err != nil {
		t.Fatal(err)
	}
	b.prepare()
	return b
}

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
		if _, ok := vocab[p[0]+p[1]]; ok && rapid.Bool().Draw(t, "once") {
			continue
		} else if !ok {
			vocab[p[0]+p[1]] = int32(len(vocab))
		}
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
	if !b.useRaw() {
		t.Fatal("the model does not take raw bytes")
	}
	b.prepare()
	return b
}

// A word that is a token has its id with ignore_merges, though merges do not make it, and a
// worker gives the same with and without its cache.
func TestWordsOfBytesAreTheirTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawRawBPE(t)
		w := newWorker(b)
		for range 12 {
			least := rapid.SampledFrom([]int{1, 12}).Draw(t, "least")
			word := rapid.StringOfN(rapid.RuneFrom([]rune(rawAlphabet)), least, 3*least, -1).Draw(t, "word")
			want := b.appendMerged(newWorker(b), nil, word)
			var token strings.Builder
			for _, c := range []byte(word) {
				token.WriteRune(byteChar(c))
			}
			if id, ok := b.vocab[token.String()]; ok && b.ignoreMerges {
				want = []int32{id}
			}
			if got := w.appendWord(nil, word); !slices.Equal(got, want) {
				t.Fatalf("%q: with the cache %d, want %d", word, got, want)
			}
		}
	})
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
