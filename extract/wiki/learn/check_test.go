package learn

import (
	"fmt"
	"strings"
	"testing"

	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikihtml"
	"pretext/extract/wiki/wikitext"
)

// tableOf returns the table of the uses in a snapshot of the test's wiki.
func tableOf(t *testing.T) *Table {
	t.Helper()
	page, _ := pageOf(uses())
	table := NewTable()
	if _, err := table.Read(t.Context(), []wikihtml.Input{inputOf(snapshot(page))}, 1); err != nil {
		t.Fatal(err)
	}
	return table
}

// Rules are confirmed or contradicted by the pages, whatever earlier evidence says; with the
// lines that a check writes, contradicted rules leave holes.
func TestRulesAreCheckedWithPages(t *testing.T) {
	table := tableOf(t)
	earlier, err := rendering.Parse("earlier.txt", []byte("[zzwiki]\nevidence höhe | 0 of 9\nevidence circa | 9 of 9\nlabel language | \"{name} \"\n"))
	if err != nil {
		t.Fatal(err)
	}
	checks := table.Check([]*rendering.File{earlier})
	got := ""
	for _, c := range checks {
		got += fmt.Sprintln(c.Scope, c.Name, c.Equal, c.Uses, c.Verdict)
	}
	if want := "zzwiki circa 0 5 contradicted\nzzwiki höhe 5 5 confirmed\nzzwiki lang-la 0 5 contradicted\nzzwiki lang-qaa 0 5 contradicted\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	text := string(AppendEvidence(nil, "pages.ndjson", checks))
	for _, want := range []string{"# Source: checked with pages.ndjson.\n\n[zzwiki]\n# template circa | circa", "→ \"zirka 2\", the rule gives \"um 2\"\nevidence circa | 0 of 5\nevidence höhe | 5 of 5\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	lines, err := rendering.Parse("checked.txt", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := wikitext.DefaultOptions()
	o.Rendering = []*rendering.File{lines}
	s := wikitext.NewScanner(o)
	shown := string(s.AppendText(nil, []byte("Aa {{höhe|5}} bb {{circa|1350}} cc."), wikitext.Page{Lang: "de", Wiki: "zzwiki"}))
	if shown != "Aa 5 m bb cc." || s.PageHoles() != 1 {
		t.Errorf("%q with %d holes", shown, s.PageHoles())
	}
}
