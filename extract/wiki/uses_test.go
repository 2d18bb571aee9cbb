package wiki

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"pretext/extract/wiki/facts"
	"pretext/extract/wiki/wikitext"
)

// simpleUse matches a template without markup in its arguments.
var simpleUse = regexp.MustCompile(`\{\{[^{}\[\]<>|:#][^{}\[\]<>]*\}\}`)

// TestEveryTemplateUseOfARealDumpIsCounted compares the counts with the templates that a
// regular expression finds: each line of a real dump that has templates, but no other
// markup that could hide one, is a page.
func TestEveryTemplateUseOfARealDumpIsCounted(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, dump := range []string{"enwiki-small-pages-articles", "enwiktionary-20150224-pages-articles-multistream", "frwiki-sample", "dewiki-20170701-sample", "elwikivoyage-medium-pages-articles",
		"enwiki-reconstructed-pages-articles-multistream", "shintowiki-medium-pages-articles-multistream", "jawiki-articles-multistream", "ltgwiki-pages-articles",
		"zhwiki-sample", "ngwiki-20130702-pages-articles", "enwiki-table-markup"} {
		scanner := wikitext.NewScanner(wikitext.DefaultOptions())
		for line := range strings.SplitSeq(string(bigFile(t, "wiki/"+dump+".xml.bz2")), "\n") {
			if strings.Contains(line, "<") || !strings.Contains(line, "{{") {
				continue
			}
			line = html.UnescapeString(line)
			uses := len(simpleUse.FindAllString(line, -1))
			if bare := simpleUse.ReplaceAllString(line, ""); uses == 0 || strings.ContainsAny(bare, "{}[]<>|=") || strings.HasPrefix(line, "#") {
				continue
			}
			lines++
			scanner.AppendText(nil, []byte(line), wikitext.Page{Title: "Page", Lang: dump[:2], Wiki: dump[:6]})
			got := 0
			for source := range wikitext.Sources() {
				got += scanner.PageUses(source)
			}
			if got != uses {
				t.Errorf("%s: %d uses counted, want %d: %q", dump, got, uses, line)
			}
		}
	}
	if lines < 5_000 {
		t.Errorf("%d lines compared, want 5,000", lines)
	}
}

// checkUses checks the sums of a dump: those by name are those of all pages, and the uses
// that are holes are the holes of the documents.
func checkUses(t *testing.T, s Stats) {
	t.Helper()
	total := facts.Sources{}
	for _, uses := range s.Uses {
		total = total.Add(uses)
	}
	for source, n := range s.UseCount {
		if len(s.Uses) < maxUses && total[source] < n {
			t.Errorf("%d uses %s by name, %d in documents alone", total[source], source, n)
		}
	}
	if s.UseCount["hole"] != s.Holes {
		t.Errorf("%d uses are holes, want %d", s.UseCount["hole"], s.Holes)
	}
}

// The names of package facts are those of package wikitext, in the same order.
func TestSourcesAreDisplayedInOrder(t *testing.T) {
	var want []string
	uses := facts.Sources{}
	for source := range wikitext.Sources() {
		want = append(want, source.String()+" 1")
		uses[source.String()] = 1
	}
	if got := uses.String(); got != strings.Join(want, ", ") || uses.Total() != int64(len(want)) {
		t.Errorf("got %q, want %q", got, want)
	}
}
