package pipeline

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/extract/quality"
	"pretext/internal/dev/realdata"
	"pretext/pipeline/stage"
)

// Encyclopedias pass the rules for web pages but for their lists and stubs; a
// travel guide has two pages about the islands of Greece that say the same.
func TestRealArticlesAreFilteredWithSense(t *testing.T) {
	dir := t.TempDir()
	documents, out := filepath.Join(dir, "documents"), filepath.Join(dir, "out")
	sources := []Source{
		{KindWiki, realdata.Path(t, "wiki/enwiki-small-pages-articles.xml.bz2")},
		{KindWiki, realdata.Path(t, "wiki/elwikivoyage-medium-pages-articles.xml.bz2")},
	}
	if _, err := Extract(context.Background(), testRunner, ExtractConfig{Target: stage.Target{Out: documents}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: sources}); err != nil {
		t.Fatal(err)
	}
	c := filterConfig(documents, out)
	limits, err := quality.SetLimits("gopher", "c4", "fineweb")
	if err != nil {
		t.Fatal(err)
	}
	limits["min-script-share"] = 0.5
	c.Filter.Limits = limits
	m := runFilter(t, testRunner, c)
	english, total := 0, 0
	var lists int
	for id, r := range readRejects(t, out) {
		total++
		if strings.HasPrefix(id, "enwiki:") {
			english++
		}
		if id == "enwiki:734" || id == "enwiki:344" { // a list of actresses, of films
			lists++
		}
		if r.Reason == "near-duplicate" && (id != "elwikivoyage:1818" || r.Of != "elwikivoyage:585") {
			t.Errorf("%s is no copy of %s", id, r.Of)
		}
	}
	if english < 2 || english > 15 || lists == 0 {
		t.Errorf("%d of 106 English articles are rejected, %d lists among them", english, lists)
	}
	if m.Counts[counts.KeyOf("reject.near-duplicate")] != 1 || m.Counts[counts.KeyOf("reject.min-words")] < 300 || int64(total) != m.Counts[counts.KeyOf("read")]-m.Counts[counts.KeyOf("documents")] {
		t.Errorf("counts: %v", m.Counts)
	}
}
