package tokenize

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// oneByOne returns the words of text, each found by nextWord.
func oneByOne(w *WordSplitter, text string) (words []string) {
	for i := 0; i < len(text); {
		i = nextWord(w, text, i)
		if 0 < w.chars && w.chars <= w.limit {
			words = append(words, string(w.word))
		}
	}
	return words
}

// Words cuts the text into parts, and finds the words that nextWord finds one by one:
// where a deleted character joins parts, where a word touches the end of a stretch, in
// text without white space.
func TestWordsAreFoundInParts(t *testing.T) {
	pieces := []string{"the ", "Ferry", "'s", " ", ".\n", "\t", "\x00", "\u00ad", "\u200b ", " \u200b", "\u200b\u2028x", "É", "e\u0301", "ΟΔΟΣ", " Σ", "한국", "世界", "、", "\xff", "\xe4\xb8", "\u00a0", "x1_", "\u0e47\u302e",
		strings.Repeat("long", 50), strings.Repeat("long", 60), strings.Repeat("界", 40), strings.Repeat("é", 120), strings.Repeat("\u200b", 90), strings.Repeat(" ", 70)}
	for _, o := range []Options{{}, {DoLowerCase: true}, {DoLowerCase: true, StripAccents: new(bool)}, {Profile: ProfileNVIDIA}, {DoLowerCase: true, Profile: ProfileHF}, {DoLowerCase: true, MaxCharsPerWord: 3}} {
		w, err := NewWordSplitter(o)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 800 {
			var b strings.Builder
			for size := rng.IntN(3 * stretchBytes); b.Len() < size; {
				piece := pieces[rng.IntN(len(pieces))]
				b.WriteString(strings.Repeat(piece, 1+rng.IntN(12)*rng.IntN(2)))
			}
			text := b.String()
			if got, want := w.AppendWords(nil, text), oneByOne(w, text); !slices.Equal(got, want) {
				t.Fatalf("%+v: %+q: got %+q, want %+q", o, text, got, want)
			}
		}
	}
}

func TestWordsStopWhenNoMoreAreWanted(t *testing.T) {
	w, err := NewWordSplitter(DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one two", "één twee", strings.Repeat("世界", stretchBytes)} {
		n := 0
		for range w.Words(text) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%.20q: %d words", text, n)
		}
	}
}
