package wikitext

import "testing"

func TestNamedReferencesAreThoseOfHTML(t *testing.T) {
	s := NewScanner(DefaultOptions())
	for source, want := range map[string]string{
		"a&mdash;b &ndash; c":  "a—b – c",
		"&lt;b&gt; &amp;amp;":  "<b> &amp;",
		"&quot;x&quot; &semi;": `"x" ;`,
		"a&nbsp;b&thinsp;c":    "a b c",
		"soft&shy;hyphen":      "softhyphen",
		"&eacute;&Sigma;":      "éΣ",
		"&Rrightarrow;":        "⇛",
		"&acE;":                "∾̳", // two characters
		"&notin; &notit; &not": "∉ &notit; &not",
		"&ampx; &Amp; &nope;":  "&ampx; &Amp; &nope;",
		"&semix; &;":           "&semix; &;",
	} {
		if got := string(s.AppendText(nil, []byte(source), Page{})); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}
