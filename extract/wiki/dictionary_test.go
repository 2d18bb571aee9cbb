package wiki

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dictionaryDump returns a dump of a small dictionary, whose templates call modules as those
// of the English Wiktionary do: objects of languages whose data are in modules by code, typed
// parameters, links, words in other scripts, etymologies, compounds. It was written for this
// test; testdata/dictionary/texts has the text of each page as readers see it, written by hand.
func dictionaryDump(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(`<mediawiki xml:lang="en"><siteinfo><sitename>Wiktionary</sitename><dbname>enwiktionary</dbname><base>https://en.wiktionary.org/wiki/Main_Page</base><case>case-sensitive</case>
<namespaces><namespace key="0" case="case-sensitive" /><namespace key="10" case="case-sensitive">Template</namespace><namespace key="828" case="case-sensitive">Module</namespace></namespaces></siteinfo>
`)
	id := 0
	page := func(ns int, title, model, text string) {
		id++
		fmt.Fprintf(&b, "<page><title>%s</title><ns>%d</ns><id>%d</id><revision><id>%d</id><timestamp>2025-01-02T03:04:05Z</timestamp>%s<text xml:space=\"preserve\">", title, ns, id, id, model)
		xml.EscapeText(&b, []byte(text))
		b.WriteString("</text></revision></page>\n")
	}
	each := func(folder, suffix string, add func(name, text string)) {
		root := filepath.Join("testdata/dictionary", folder)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			rel, _ := filepath.Rel(root, path)
			add(strings.TrimSuffix(filepath.ToSlash(rel), suffix), string(raw))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	each("templates", ".wiki", func(name, text string) { page(10, "Template:"+name, inWikitext, text) })
	each("modules", ".lua", func(name, text string) { page(828, "Module:"+name, inLua, text) })
	page(828, "Module:links/old", inWikitext, "#REDIRECT [[Module:links/templates]]")
	page(10, "Template:mention", inWikitext, "{{#invoke:links/old|l_term_t|face=term}}")
	each("pages", ".wiki", func(name, text string) { page(0, name, inWikitext, text) })
	page(0, "redirected", inWikitext, "The word {{mention|la|habeō}} is found by a module that redirects.")
	b.WriteString("</mediawiki>\n")
	return b.Bytes()
}

const (
	inWikitext = "<model>wikitext</model><format>text/x-wiki</format>"
	inLua      = "<model>Scribunto</model><format>text/plain</format>"
)

// The text of a dictionary whose templates are modules is the one that readers see; what the
// modules refuse has the text of a rule or leaves a hole, and no language has a wrong name.
func TestADictionaryOfModules(t *testing.T) {
	raw := dictionaryDump(t)
	head, err := ReadHead(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	d := Dump{File: bytes.NewReader(raw), Size: int64(len(raw)), Name: "enwiktionary-20250103-pages-articles.xml", Head: head}
	all := dumpModules{}
	var defined DefinitionStats
	for definition, err := range NewReader(d, Range{0, d.Size}, DefaultOptions()).Definitions(&defined, nil) {
		if err != nil {
			t.Fatal(err)
		}
		all[definition.Name] = definition.Value
	}
	r := NewReader(d, Range{0, d.Size}, DefaultOptions())
	r.Expand(all)
	texts := map[string]string{}
	for doc, err := range r.Documents() {
		if err != nil {
			t.Fatal(err)
		}
		texts[doc.Title] = strings.Clone(doc.Text)
	}
	var f figures
	for _, name := range []string{"avere", "morning", "blackbird", "дом", "errors"} {
		want, err := os.ReadFile(filepath.Join("testdata/dictionary/texts", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		got := f.add(texts[name], string(want))
		t.Logf("%s: F1 %.3f", name, got)
		if got < 0.97 {
			t.Errorf("%s: F1 %.3f\n got %q\nwant %q", name, got, texts[name], want)
		}
		for _, language := range []string{"Occitan", "Proto-Germanic", "Proto-Indo-European", "Latin", "Gothic", "Old English"} {
			if strings.Count(texts[name], language) != strings.Count(string(want), language) {
				t.Errorf("%s: %d times %q, want %d: %s", name, strings.Count(texts[name], language), language, strings.Count(string(want), language), texts[name])
			}
		}
	}
	t.Logf("all pages: F1 %.4f of %d words", f.f1(), f.want)
	if f.f1() < 0.995 {
		t.Errorf("F1 %.4f, want 0.995", f.f1())
	}
	if got := texts["redirected"]; got != "The word habeō is found by a module that redirects." {
		t.Errorf("got %q", got)
	}
	s := r.Stats()
	if s.Holes != 2 || s.ModuleFailures["error"] != 3 || s.ModuleCalls < 30 {
		t.Errorf("%d holes %v of %d calls, failures %v; want those of the page of errors", s.Holes, s.HoleUses, s.ModuleCalls, s.ModuleFailures)
	}
}

// figures compares bags of words.
type figures struct{ same, got, want int }

// add compares two texts and returns their F1.
func (f *figures) add(got, want string) float64 {
	counts := map[string]int{}
	one := figures{}
	for _, w := range strings.Fields(want) {
		counts[w]++
		one.want++
	}
	for _, w := range strings.Fields(got) {
		if one.got++; counts[w] > 0 {
			counts[w]--
			one.same++
		}
	}
	f.same, f.got, f.want = f.same+one.same, f.got+one.got, f.want+one.want
	return one.f1()
}

func (f *figures) f1() float64 { return 2 * float64(f.same) / float64(f.got+f.want) }
