package wiki

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/extract/wiki/definitions"
	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikitext"
	"pretext/internal/dev/realdata"
)

func openDump(t *testing.T, path string) Dump {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	head, err := ReadHead(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return Dump{File: f, Size: info.Size(), Name: filepath.Base(path), Head: head}
}

// The definitions of real dumps are the same for any number of workers, parse as
// rendering data, and fill nine of ten holes at least.
func TestDefinitionsOfRealDumpsFillTheirHoles(t *testing.T) {
	d := openDump(t, realdata.Path(t, "wiki/elwikivoyage-medium-pages-articles.xml.bz2"))
	one, err := CollectDefinitions(t.Context(), d, 1)
	if err != nil {
		t.Fatal(err)
	}
	text := AppendDefinitions(nil, d.Wiki(), one)
	four, err := CollectDefinitions(t.Context(), d, 4)
	if err != nil || string(AppendDefinitions(nil, d.Wiki(), four)) != string(text) {
		t.Errorf("four workers give other definitions, or %v", err)
	}
	file, err := rendering.Parse("own.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	holes := func(o Options) int64 {
		var sum Stats
		for _, rng := range Ranges(d.Size) {
			r := NewReader(d, rng, o)
			for _, err := range r.Documents() {
				if err != nil {
					t.Fatal(err)
				}
			}
			sum.Add(r.Stats())
		}
		rejected := int64(0)
		for _, n := range sum.Rejects {
			rejected += n
		}
		if sum.Pages != sum.Kept+rejected {
			t.Errorf("%d pages, %d documents, %d rejects", sum.Pages, sum.Kept, rejected)
		}
		return sum.Holes
	}
	o := DefaultOptions()
	before := holes(o)
	o.Wikitext.Rendering = []*rendering.File{file}
	if after := holes(o); before < 1000 || after > before/10 {
		t.Errorf("%d holes, %d with the definitions", before, after)
	}
}

func TestTheShortestDefinitionsAreKept(t *testing.T) {
	var s, reversed definitionSet
	const n = 3 * maxDefinitions / 4000
	for k := range n {
		add := func(s *definitionSet, k int) {
			s.add(definitions.Definition{Name: fmt.Sprint(k), Value: strings.Repeat("x", 2000+k%4000)})
			if s.size > 2*maxDefinitions+MaxDefinition {
				t.Fatalf("%d bytes are held", s.size)
			}
		}
		add(&s, k)
		add(&reversed, n-1-k)
	}
	s.trim()
	reversed.trim()
	if len(s.list) == 0 || len(s.list) == n || fmt.Sprint(s.list[0].Name, s.list[len(s.list)-1].Name, len(s.list)) != fmt.Sprint(reversed.list[0].Name, reversed.list[len(reversed.list)-1].Name, len(reversed.list)) {
		t.Errorf("%d kept of %d, %d in the other order", len(s.list), n, len(reversed.list))
	}
}

func TestAParameterWithoutANameIsNoTable(t *testing.T) {
	for text, want := range map[string]bool{"{{{{{|safesubst:}}}#if:{{{1|}}}|{{{1}}}}}": false, "{|\n|a\n|}": true, "x\n{| y": true, "{{{|}}}\n{|": true, "{{{1|{|}}}": true, "": false} {
		if hasTable([]byte(text)) != want {
			t.Errorf("%q: a table: %v, want %v", text, !want, want)
		}
	}
}

func TestWhatAPageIncludes(t *testing.T) {
	for source, want := range map[string]string{
		"a<noinclude>b</noinclude>c":                                 "ac",
		"<includeonly>a</includeonly>b":                              "ab",
		"a<onlyinclude>b</onlyinclude>c<onlyinclude>d</onlyinclude>": "bd",
		"a<!-- b -->c<noinclude>d":                                   "ac",
		"":                                                           "",
	} {
		if got := string(wikitext.Included([]byte(source))); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}
