package tokenize

import (
	"fmt"
	"testing"

	"pretext/internal/dev/realdata"
)

func TestTheVocabulariesOfBERTLookAsTheyAre(t *testing.T) {
	for name, want := range map[string]bool{
		"bert-base-uncased": true, "bert-base-cased": false, "bert-base-multilingual-cased": false, "bert-base-chinese": true,
	} {
		t.Run(name, func(t *testing.T) {
			v, err := ReadVocab(name, realdata.Read(t, "vocab/"+name+"-vocab.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if got := v.LooksUncased(); got != want {
				t.Errorf("looks uncased: %v, want %v", got, want)
			}
		})
	}
}

func TestLooksUncased(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("word%d", i))
	}
	for _, test := range []struct {
		name   string
		tokens []string
		want   bool
	}{
		{"words in lower case", []string{"the", "##s", "paris"}, true},
		{"a capital", []string{"the", "##s", "Paris"}, false},
		{"a capital in a subword", []string{"the", "##S"}, false},
		{"capitals only in names", []string{"[unused1]", "[ENTITY]", "<S>", "<T>", "the"}, true},
		{"a bracket is no name", []string{"[", "]", "[A", "the"}, false},
		{"capitals without a small letter", []string{"ℝ", "##ℝ", "Ⴀ", "the"}, true},
		{"capitals beyond ASCII of an old Unicode", []string{"Ꭰ", "the"}, true},
		{"some capitals added to many words", append([]string{"COVID", "[NEW]", "URL"}, many...), true},
		{"one word in fifty with a capital", append(make20("Name"), many...), false},
		{"letters of one case only", []string{"的", "中", "##文", "，"}, true},
		{"Greek without accents", []string{"και", "το", "##ς"}, true},
		{"Greek with capitals", []string{"Και", "το"}, false},
		{"Greek with accents", []string{"Ελλάδα", "ναί"}, false},
		{"Hangul", []string{"한국", "##어"}, false},
		{"no tokens but the special ones", nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := NewVocab(append(SpecialTokens(), test.tokens...))
			if err != nil {
				t.Fatal(err)
			}
			if got := v.LooksUncased(); got != test.want {
				t.Errorf("looks uncased: %v, want %v", got, test.want)
			}
		})
	}
}

// make20 returns twenty tokens that begin with a word.
func make20(word string) (out []string) {
	for i := range 20 {
		out = append(out, fmt.Sprint(word, i))
	}
	return out
}
