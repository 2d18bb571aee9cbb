package sharding

import (
	"fmt"
	"strings"
	"testing"

	"pretext/extract"
	"pretext/tokenize"
)

// letterVocab returns a vocabulary of words made from Latin letters, with the
// Greek letters one by one, and with Greek words if greek is true.
func letterVocab(greek bool) []byte {
	tokens := tokenize.SpecialTokens()
	for _, r := range "abcdefghijklmnopqrstuvwxyzαβγδεζηθικλμνξοπρςστυφχψω" {
		tokens = append(tokens, string(r), "##"+string(r))
	}
	for i := range 1200 {
		tokens = append(tokens, fmt.Sprintf("%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
		if greek {
			tokens = append(tokens, fmt.Sprintf("%c%c%c", 'α'+i%17, 'α'+i/17%17, 'α'+i/289))
		}
	}
	return []byte(strings.Join(tokens, "\n") + "\n")
}

// Greek under a vocabulary that has Greek letters only is spelled out; English is
// not, nor is Greek under a vocabulary with Greek words.
func TestTextThatIsSpelledOutIsCounted(t *testing.T) {
	for _, test := range []struct {
		greek bool
		text  string
		want  bool
	}{
		{false, "αβγ δεζ ηθι, κλμ νξο.", true},
		{true, "αβγ δεζ ηθι, κλμ νξο.", false},
		{false, "a b c d e f g.", false},
		{false, "abc def. The letter α is the first of αβγ in the book of abc, def, ghi, jkl, mno and pqr.", false},
	} {
		o := DefaultExamplesOptions()
		tok, err := NewTokenizer("vocab.txt", letterVocab(test.greek), o)
		if err != nil {
			t.Fatal(err)
		}
		c := tok.NewCorpus()
		if err := tok.NewEncoder().Add(c, &extract.Document{ID: "a:1", Text: test.text}); err != nil {
			t.Fatal(err)
		}
		keepSpelled(c.Counts)
		if got := c.Counts[SpelledLetters.Key] > 0; got != test.want {
			t.Errorf("%q, Greek words %t: %v", test.text, test.greek, c.Counts)
		}
		if _, ok := c.Counts[SpelledLetters.Key]; ok != test.want {
			t.Errorf("%q: the count is there, or not: %v", test.text, c.Counts)
		}
	}
}

func TestLettersOfTokens(t *testing.T) {
	script := func(name string) int {
		for i, s := range spelledScripts {
			if s == name {
				return i
			}
		}
		return -1
	}
	for token, want := range map[string]struct {
		script, letters int
	}{
		"a": {script("Latin"), 1}, "ab": {script("Latin"), 2}, "α": {script("Greek"), 1}, "και": {script("Greek"), 3},
		"ж": {script("Cyrillic"), 1}, "हि": {script("Devanagari"), 2}, "ह": {script("Devanagari"), 1}, "ᄒ": {script("Hangul"), 1},
		"\xce": {script("Greek"), 1}, "\xd0": {script("Cyrillic"), 1}, "\xe0\xa4": {script("Devanagari"), 1}, "α\xce": {script("Greek"), 2},
		"": {-1, 0}, "1": {-1, 0}, "中": {-1, 0}, "か": {-1, 0}, "한": {-1, 0}, "ก": {-1, 0}, ",": {-1, 0}, "aα": {-1, 0}, "a1": {-1, 0}, "\xb1": {-1, 0}, "\xe0": {-1, 0}, "\xe4\xb8": {-1, 0},
	} {
		if script, letters := lettersOf(token); script != want.script || letters != want.letters {
			t.Errorf("%q: script %d, %d letters, want %d, %d", token, script, letters, want.script, want.letters)
		}
	}
}
