package squad_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pretext/trainer/finetune/squad"
)

// What get_final_text of run_squad.py gives, by its rules.
func TestTheTextOfAnAnswerIsFoundInItsWords(t *testing.T) {
	for _, c := range []struct {
		predicted, original, want string
		lower                     bool
	}{
		{"steve smith", "Steve Smith's", "Steve Smith", true},
		{"denver broncos", "the Denver Broncos,", "Denver Broncos", true},
		{"24 – 10", "24–10", "24–10", true},                   // a dash of its own
		{"resume", "Résumé:", "Résumé", true},                 // accents taken off one for one
		{"Résumé", "Résumé:", "Résumé", false},                // cased vocabularies keep them
		{"strasse", "Straße", "Straße", true},                 // not found: all of it
		{"[UNK]", "日本", "日本", true},                           // likewise
		{"i", "İ.", "İ", true},                                // one letter for one
		{"", "any thing", "any thing", true},                  // nothing to look for
		{"b", "a b", "b", true},                               // the middle
		{"a", "b a a", "a", true},                             // the first of several
		{"x", "", "", true},                                   // nothing to look in
		{"ab", "a\u0301b", "a\u0301b", true},                  // an accent is one character more: all of it
		{"$ 5 million", "$5 million for", "$5 million", true}, // blanks that the text lacks
	} {
		if got := squad.FinalText(c.predicted, c.original, c.lower); got != c.want {
			t.Errorf("FinalText(%q, %q, %v) = %q, want %q", c.predicted, c.original, c.lower, got, c.want)
		}
	}
}

func FuzzFinalTextIsAPartOfTheOriginal(f *testing.F) {
	f.Add("steve smith", "Steve Smith's", true)
	f.Add("a", "\u0301a b", true)
	f.Add("İ", "xİ", false)
	f.Fuzz(func(t *testing.T, predicted, original string, lower bool) {
		if !utf8.ValidString(predicted) || !utf8.ValidString(original) {
			return // texts of a dataset are UTF-8
		}
		if got := squad.FinalText(predicted, original, lower); !strings.Contains(original, got) {
			t.Errorf("FinalText(%q, %q, %v) = %q", predicted, original, lower, got)
		}
	})
}

// The values are those of Python 3.11's rules: str.lower, string.punctuation,
// re with \b, str.split.
func TestAnswersAreNormalizedAsTheOfficialScriptDoes(t *testing.T) {
	for in, want := range map[string]string{
		"The  Cat's a-b, an\u00a0END.": "cats ab end",
		"a":                            "",
		"the theatre":                  "theatre",
		"U.S.A.":                       "usa",
		"ΟΔΟΣ ΣΑΣ":                     "οδος σας",
		"ΑΣ.Α":                         "ασα", // punctuation does not end a word for the sigma
		"İzmir":                        "i\u0307zmir",
		"“the” … an":                   "“ ” …",
		"a\u0301 b":                    "\u0301 b", // an accent is no word character
		"a1 an_ the":                   "a1",       // "_" goes as punctuation first
		"\u001c x \u3000":              "x",
		"a½":                           "a½",
		"":                             "",
	} {
		if got := squad.Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}
