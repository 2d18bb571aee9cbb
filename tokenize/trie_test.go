package tokenize

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FuzzTrie compares the packed trie with the plain one. The vocabulary is the
// lines of a text.
func FuzzTrie(f *testing.F) {
	f.Add("a\n##b\nab\nabc\n##bcd\n##\n\n##c\xff\n\xff\xfe", []byte("abcdabbc\xff\xfe"))
	f.Add(strings.Repeat("x", 300)+"\nx\n##x", []byte("xxx"))
	f.Fuzz(func(t *testing.T, lines string, word []byte) {
		tokens := strings.Split(lines, "\n")
		slices.Sort(tokens)
		checkTries(t, slices.Compact(tokens), [][]byte{word})
	})
}

func TestPackedTrieEqualsPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(letters, length int) []byte {
		word := make([]byte, 1+rng.IntN(length))
		for i := range word {
			word[i] = byte(255 - rng.IntN(letters))
		}
		return word
	}
	for _, letters := range []int{2, 5, 30, 255} {
		var tokens []string
		for range 3000 {
			token := string(draw(letters, 6))
			if rng.IntN(2) == 0 {
				token = subwordPrefix + token
			}
			tokens = append(tokens, token)
		}
		slices.Sort(tokens)
		var words [][]byte
		for range 3000 {
			words = append(words, draw(letters, 15))
		}
		checkTries(t, slices.Compact(tokens), words)
	}
}

// checkTries compares the ids of words by a packed trie with those by a plain
// one.
func checkTries(t *testing.T, tokens []string, words [][]byte) {
	t.Helper()
	plain, packed := newPlainTrie(tokens, 100), newTrie(tokens, 100)
	if packed.packed == nil {
		t.Fatalf("the trie of %d tokens is not packed", len(tokens))
	}
	for _, word := range words {
		if slices.Contains(word, 0) {
			continue
		}
		if got, want := packed.appendPieces([]int32{-7}, word, -9), plain.appendPieces([]int32{-7}, word, -9); !slices.Equal(got, want) {
			t.Errorf("word %q with %d tokens: got %d, want %d", word, len(tokens), got, want)
		}
	}
}

func TestTokensAreSortedByTheirBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var tokens []string
	for range 5000 {
		token := make([]byte, rng.IntN(14))
		for i := range token {
			token[i] = []byte{0, 'a', 'b', 0xff}[min(rng.IntN(16), 3)]
		}
		tokens = append(tokens, string(token))
	}
	slices.Sort(tokens)
	tokens = slices.Compact(tokens)
	want := slices.Clone(tokens)
	rng.Shuffle(len(tokens), func(i, j int) { tokens[i], tokens[j] = tokens[j], tokens[i] })
	for i, id := range sorted(tokens) {
		if tokens[id] != want[i] {
			t.Fatalf("%d: %q, want %q", i, tokens[id], want[i])
		}
	}
}
