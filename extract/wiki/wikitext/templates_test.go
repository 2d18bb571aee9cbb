package wikitext

import (
	"strings"
	"testing"
)

func TestTemplateNamesAreFoldedAndListedOnce(t *testing.T) {
	seen := map[string]bool{}
	var scratch []byte
	for _, list := range templateNames {
		for name := range strings.SplitSeq(list.names, "|") {
			if name == "" {
				continue
			}
			if seen[name] {
				t.Errorf("template %q is listed twice", name)
			}
			seen[name] = true
			if folded := string(fold(&scratch, []byte(name))); folded != name {
				t.Errorf("template %q: folded it is %q", name, folded)
			}
		}
	}
}

// The lists of cases compare texts with their white space folded.
func TestSpacesThatTemplatesBringAreNotDoubled(t *testing.T) {
	s := NewScanner(DefaultOptions())
	for source, want := range map[string]string{
		"a {{·}} b {{nbsp}}c":       "a · b c",
		"a {{snd}}b{{snd}}c":        "a – b – c",
		"a{{nbsp}}{{nbsp}}b":        "a b",
		"a{{spaced en dash}}{{x}}b": "a – b",
	} {
		if got := string(s.AppendText(nil, []byte(source), Page{Lang: "en"})); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}
