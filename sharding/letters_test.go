package sharding

import (
	"fmt"
	"strings"
	"testing"

	"pretext/extract"
	"pretext/tokenize"
)

const letters = "abcdefghijklmnopqrstuvwxyzαβγδεζηθικλμνξοπρςστυφχψω"

// letterWords returns words made from Latin letters, and Greek words if greek is true.
func letterWords(greek bool) (words []string) {
	for i := range 1200 {
		words = append(words, fmt.Sprintf("%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676))
		if greek {
			words = append(words, fmt.Sprintf("%c%c%c", 'α'+i%17, 'α'+i/17%17, 'α'+i/289))
		}
	}
	return words
}

// letterVocab returns a vocabulary of letterWords and of the letters one by one.
func letterVocab(greek bool) []byte {
	tokens := tokenize.SpecialTokens()
	for _, r := range letters {
		tokens = append(tokens, string(r), "##"+string(r))
	}
	return []byte(strings.Join(append(tokens, letterWords(greek)...), "\n") + "\n")
}

// letterTokenizer returns a byte-level tokenizer.json with the same tokens. It encodes
// text letter by letter, because only letters have merges.
func letterTokenizer(greek bool) []byte {
	vocab, added, merges := map[string]int{}, []any{}, [][]string{}
	add := func(token string) { vocab[token] = len(vocab) }
	spelled := func(s string) (bytes []string) { // the character of each byte
		for _, b := range []byte(s) {
			r := rune(b)
			switch {
			case b <= ' ':
				r += 0x100
			case 0x7f <= b && b <= 0xa0:
				r += 0x121 - 0x7f
			case b == 0xad:
				r = 0x143
			}
			bytes = append(bytes, string(r))
		}
		return bytes
	}
	for b := range 256 {
		add(spelled(string([]byte{byte(b)}))[0])
	}
	for _, r := range letters {
		if bytes := spelled(string(r)); len(bytes) == 2 {
			add(bytes[0] + bytes[1])
			merges = append(merges, bytes)
		}
	}
	for _, word := range letterWords(greek) {
		add(strings.Join(spelled(word), ""))
	}
	for _, token := range tokenize.SpecialTokens() {
		added = append(added, map[string]any{"id": len(vocab) + len(added), "content": token, "special": true})
	}
	return Compact(map[string]any{"added_tokens": added, "pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false},
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": merges}})
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
		for name, raw := range map[string][]byte{"vocab.txt": letterVocab(test.greek), "tokenizer.json": letterTokenizer(test.greek)} {
			o := DefaultExamplesOptions()
			if name == "tokenizer.json" {
				var err error
				if o, err = TokenizerOptions(name, raw, o); err != nil {
					t.Fatal(err)
				}
			}
			tok, err := NewTokenizer(name, raw, o)
			if err != nil {
				t.Fatal(err)
			}
			c := tok.NewCorpus()
			if err := tok.NewEncoder().Add(c, &extract.Document{ID: "a:1", Text: test.text}); err != nil {
				t.Fatal(err)
			}
			keepSpelled(c.Counts)
			if got := c.Counts[SpelledLetters.Key] > 0; got != test.want {
				t.Errorf("%s: %q, Greek words %t: %v", name, test.text, test.greek, c.Counts)
			}
			if _, ok := c.Counts[SpelledLetters.Key]; ok != test.want {
				t.Errorf("%s: %q: the count is there, or not: %v", name, test.text, c.Counts)
			}
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
