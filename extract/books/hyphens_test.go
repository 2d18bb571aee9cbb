package books

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// slowHyphens counts by looking up each word, as it is and without its hyphens.
func slowHyphens(lines string) map[string]int {
	h := map[string]int{}
	list := strings.Split(lines, "\n")
	for i := range len(list) - 1 {
		if key, ok := dividedWord([]byte(list[i]), []byte(list[i+1])); ok {
			h[key] = 0
		}
	}
	for _, line := range list {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) }) {
			word = strings.ToLower(word)
			joined := strings.ReplaceAll(word, "-", "")
			if _, ok := h[word]; ok {
				h[word]++
			} else if _, ok := h[joined]; ok && len(joined) == len(word)-1 {
				h[joined]--
			}
		}
	}
	return h
}

func TestHyphensAreCountedAsWordByWord(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"won-\nderful", "won", "derful", "Won-derful", "WONDERFUL", "a-\nb", "ab", "a-b", "-", "-ab", "ab-", " ", " ", "\n", "Bäu-\nme", "bäume", "BÄUME",
		"\u212a-\nk", "kk", "İ-\nx", "i\u0307x", strings.Repeat("x", 34) + "-\n" + strings.Repeat("y", 30), strings.Repeat("x", 34) + strings.Repeat("y", 30)}
	for range 2000 {
		var b strings.Builder
		for range 1 + rng.IntN(30) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
			if rng.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		var lines []string
		collected := ""
		for line := range strings.SplitSeq(b.String(), "\n") {
			lines = append(lines, strings.TrimSpace(line))
			collected += "!" + line + "\n" // as a collector stores a line without indentation
		}
		want := slowHyphens(strings.Join(lines, "\n"))
		if got := findHyphens([]byte(collected)); !maps.Equal(map[string]int(got), want) {
			t.Fatalf("%q: got %v, want %v", lines, got, want)
		}
	}
}
