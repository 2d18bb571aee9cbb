package quality

import (
	"fmt"
	"strings"
	"testing"

	"pretext/extract"
)

func TestALimitOfALanguageReplacesTheOthers(t *testing.T) {
	f, err := New(Options{Limits: map[string]float64{"min-words": 5, "no-spaces:min-words": 8, "ja:min-words": 2, "el:max-words": 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		lang, text, want string
	}{
		{"en", "one two three four", "min-words"},
		{"en", "one two three four five", ""},
		{"zh", "一二三四五六七", "min-words"},
		{"zh-Hans", "一二三四五六七八", ""},
		{"ja", "一二", ""},
		{"JA-JP", "一", "min-words"},
		{"el", "ένα δύο τρία τέσσερα πέντε", "max-words"},
	} {
		if v := f.Check(&extract.Document{Lang: tc.lang, Text: tc.text}); v.Rule != tc.want {
			t.Errorf("%s %q: rejected by %q, want %q", tc.lang, tc.text, v.Rule, tc.want)
		}
	}
}

func TestWrongLanguagesOfLimitsAreRefused(t *testing.T) {
	for key, want := range map[string]string{
		"ja:min-word":       `unknown rule "min-word", did you mean`,
		"JA:min-words":      "is not the code of a language",
		":min-words":        "is not the code of a language",
		"zh-Hans:min-words": "is not the code of a language",
	} {
		if err := (Options{Limits: map[string]float64{key: 1}}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
}

// The rule that [NoLimit] gives for a language rejects nothing in it.
func TestARuleIsSwitchedOffForALanguage(t *testing.T) {
	for _, rule := range []string{"min-words", "max-words"} {
		f, err := New(Options{Limits: map[string]float64{rule: 1.5, "ja:" + rule: NoLimit(rule)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"a", "a b c"} {
			if v := f.Check(&extract.Document{Lang: "ja", Text: text}); v.Rule != "" {
				t.Errorf("%q is rejected by %s", text, v.Rule)
			}
		}
	}
}

// A reference finds the limits that reject 1 % of its documents, for languages with enough
// of them, and only where the published limit rejects more.
func TestAReferenceFindsLimits(t *testing.T) {
	var r Reference
	for n := range 200 {
		// n % 100 of 100 lines are short
		text := strings.Repeat("This line is not a short one, because it goes on.\n", 100-n%100) + strings.Repeat("Short.\n", n%100)
		r.Add(&extract.Document{Lang: "en", Text: text})
		if n < 50 {
			r.Add(&extract.Document{Lang: "el", Text: text})
		}
		r.Add(&extract.Document{Lang: "fr", Text: "trop court"})
	}
	got := map[string]string{}
	for _, l := range r.Limits() {
		got[l.Key] = fmt.Sprint(l.Limit, l.Published, l.Documents)
	}
	if got["en:max-short-lines"] != "0.98 0.67 200" {
		t.Errorf("max-short-lines: %q", got["en:max-short-lines"])
	}
	if _, ok := got["en:min-punctuated-lines"]; ok || got["en:max-duplicate-lines"] == "" {
		t.Errorf("got %v", got)
	}
	for key := range got {
		if !strings.HasPrefix(key, "en:") {
			t.Errorf("%s has too few documents", key)
		}
	}
}
