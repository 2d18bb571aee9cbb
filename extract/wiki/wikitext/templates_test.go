package wikitext

import (
	"testing"

	"pretext/extract/wiki/rendering"
)

func TestNamesInRenderingDataAreFolded(t *testing.T) {
	var scratch []byte
	for e := range rendering.NewSet().Entries() {
		if e.Kind != rendering.Template {
			continue
		}
		if folded := string(fold(&scratch, []byte(e.Name))); folded != e.Name {
			t.Errorf("%s:%d: template %q: folded it is %q", e.File, e.Line, e.Name, folded)
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
