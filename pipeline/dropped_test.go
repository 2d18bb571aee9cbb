package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/extract/wiki/facts"
	"pretext/pipeline/stage"
	"pretext/sharding/survey"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/sharding"
)

// templateDump returns a wiki of n pages. Page i uses "common" twice and
// "rare i%150" once, all of them templates that nobody knows.
func templateDump(n int) []byte {
	var b strings.Builder
	b.WriteString(`<mediawiki xml:lang="en"><siteinfo><dbname>testwiki</dbname></siteinfo>` + "\n")
	for i := range n {
		fmt.Fprintf(&b, "<page><title>P%d</title><ns>0</ns><id>%d</id><revision><id>1</id><text>", i, i+1)
		fmt.Fprintf(&b, "Text %d. {{Zzcommon|1}} {{zzrare %d}} {{ZZcommon}}\n%s", i, i%150, strings.Repeat("It goes on and on. ", 400))
		b.WriteString("</text></revision></page>\n")
	}
	b.WriteString("</mediawiki>\n")
	return []byte(b.String())
}

func TestTheManifestNamesTheTemplatesThatGaveNoText(t *testing.T) {
	c := ExtractConfig{Target: stage.Target{Out: filepath.Join(t.TempDir(), "documents")}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindWiki, writeFile(t, t.TempDir(), "a.xml", templateDump(450))}}}
	m, err := Extract(context.Background(), testRunner, c)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.DocumentsFiles()); n < 2 {
		t.Fatalf("%d documents files: the counts of several ranges must be added", n)
	}
	want := &facts.DroppedTemplates{Templates: []facts.TemplateUses{{Name: "zzcommon", Uses: 900}}}
	var rare []string
	for i := range 150 {
		rare = append(rare, fmt.Sprintf("zzrare %d", i))
	}
	for _, name := range slices.Sorted(slices.Values(rare))[:facts.MaxDropped-1] {
		want.Templates = append(want.Templates, facts.TemplateUses{Name: name, Uses: 3})
	}
	// Each page has the two templates in its sentence; the holes of the ranges are
	// added by wiki.
	if w := m.Dropped.Wikis; len(w) != 1 || w[0].Wiki != "testwiki" || w[0].Holes != 1350 || len(w[0].Templates) != facts.MaxDropped ||
		w[0].Templates[0] != (facts.WikiTemplate{Name: "zzcommon", Hole: facts.Hole{Uses: 900, First: "P0"}}) {
		t.Errorf("holes: %+v", w)
	}
	want.Wikis = m.Dropped.Wikis
	if diff := cmp.Diff(want, m.Dropped); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	all, err := survey.Inspect(context.Background(), c.Out, false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, all[0].Dropped); diff != "" {
		t.Errorf("inspect, -want +got:\n%s", diff)
	}
}

func TestVerifyHoldsTheDroppedTemplatesAgainstTheSideCars(t *testing.T) {
	c := ExtractConfig{Target: stage.Target{Out: filepath.Join(t.TempDir(), "documents")}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindWiki, writeFile(t, t.TempDir(), "a.xml", templateDump(20))}}}
	m, err := Extract(context.Background(), testRunner, c)
	if err != nil {
		t.Fatal(err)
	}
	if v := verify(t, c.Out); !v.OK() {
		t.Fatalf("before: %v", v.Problems)
	}
	m.Dropped.Templates[0].Uses++
	folder, err := store.Open(c.Out)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.WriteFile(context.Background(), folder, sharding.ManifestName, sharding.Marshal(m)); err != nil {
		t.Fatal(err)
	}
	v := verify(t, c.Out)
	if len(v.Problems) != 1 || !strings.Contains(v.Problems[0].String(), "manifest.json") || !strings.Contains(v.Problems[0].Reason, "dropped_templates") {
		t.Errorf("got %v", v.Problems)
	}
}

func TestCountsThatMayBeTooSmallSaySo(t *testing.T) {
	var page strings.Builder
	page.WriteString(`<mediawiki xml:lang="en"><siteinfo><dbname>w</dbname></siteinfo><page><title>P</title><ns>0</ns><id>1</id><revision><id>1</id><text>Words. `)
	for i := range 600 { // a range names 500
		fmt.Fprintf(&page, "{{zz %d}} {{zz %d}} ", i, i)
	}
	page.WriteString("</text></revision></page></mediawiki>\n")
	c := ExtractConfig{Target: stage.Target{Out: filepath.Join(t.TempDir(), "documents")}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindWiki, writeFile(t, t.TempDir(), "a.xml", []byte(page.String()))}}}
	m, err := Extract(context.Background(), testRunner, c)
	if err != nil {
		t.Fatal(err)
	}
	if d := m.Dropped; d == nil || len(d.Templates) != facts.MaxDropped || d.Slack != 2 || d.Templates[0] != (facts.TemplateUses{Name: "zz 0", Uses: 2}) {
		t.Errorf("got %+v", d)
	}
}
