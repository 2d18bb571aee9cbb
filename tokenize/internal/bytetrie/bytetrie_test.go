package bytetrie

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestATrieFindsEveryTokenWithWhichATextBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abcé\u4e16")), 1, 5, -1)
		values := map[string]int32{}
		for i, token := range rapid.SliceOfN(word, 0, 60).Draw(t, "tokens") {
			values[token] = int32(i)
		}
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abcé\u4e16")), 0, 9, -1).Draw(t, "text")
		var want, got []string
		for n := 1; n <= len(text); n++ {
			if id, ok := values[text[:n]]; ok {
				want = append(want, fmt.Sprint(text[:n], id))
			}
		}
		trie := New(values)
		for node, i := Root, 0; i < len(text); i++ {
			if node = trie.Next(node, text[i]); node < 0 {
				break
			}
			if id := trie.Value(node); id != None {
				got = append(got, fmt.Sprint(text[:i+1], id))
			}
		}
		longest, last := None, 0
		for n := range len(text) {
			if id, ok := values[text[:n+1]]; ok {
				longest, last = id, n+1
			}
		}
		if id, looked := trie.Longest(text); id != longest || looked < last || looked > len(text) {
			t.Errorf("the longest in %q: got %d after %d bytes, want %d", text, id, looked, longest)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in %q: got %s, want %s", strings.Join(slices.Sorted(func(yield func(string) bool) {
				for token := range values {
					if !yield(token) {
						return
					}
				}
			}), " "), text, got, want)
		}
	})
}
