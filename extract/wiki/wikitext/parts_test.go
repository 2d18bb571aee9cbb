package wikitext

import (
	"strings"
	"testing"

	"pretext/extract/wiki/rendering"
)

// Each test uses one part alone, with no more of the others than it calls.

func TestTheWriterRepairsSeams(t *testing.T) {
	var w writer
	w.start([]byte("before"))
	w.text([]byte("a ("))
	w.removed()
	w.str("; b")
	w.removed()
	w.str(") ")
	w.quote(3)
	w.str("c")
	w.endLine()
	w.heads.push(2, []byte("empty"))
	w.heads.push(2, []byte("head"))
	saved := w.divert()
	w.str("examined")
	if text := string(w.resume(saved)); text != "examined" {
		t.Errorf("a diversion gives %q", text)
	}
	w.str("d")
	if got, want := string(w.finish()), "beforea (b) c\nhead\nd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheFinderFindsEnds(t *testing.T) {
	const page = "{{a|{{b}}}} [[c|d]] <ref>]]</ref> {|\n|}\n== h ==\n{|\n|}\n[//x y] -{z}-"
	f := finder{wiki: &wiki{}}
	f.wiki.enter(Page{})
	f.load([]byte(page))
	at := func(s string) int { return strings.Index(page, s) }
	if end := f.bracesEnd(0, len(page)); page[:end] != "{{a|{{b}}}}" {
		t.Errorf("the template ends at %d", end)
	}
	if l, ok := f.linkAt(at("[[c"), len(page)); !ok || page[l.label:l.labelEnd] != "d" {
		t.Errorf("link %+v, %v", l, ok)
	}
	if ref, ok := f.extTagAt(at("<ref"), len(page)); !ok || page[ref.body:ref.bodyEnd] != "]]" {
		t.Errorf("tag %+v, %v", ref, ok)
	}
	if end, ok := f.tableEnd(strings.LastIndex(page, "{|"), len(page)); !ok || end != strings.LastIndex(page, "|}")+2 {
		t.Errorf("the table ends at %d, %v", end, ok)
	}
	if h, ok := f.headingAt(at("=="), len(page)); !ok || h.level != 2 || page[h.start:h.end] != " h " {
		t.Errorf("heading %+v, %v", h, ok)
	}
	if l, ok := f.extLinkAt(at("[//"), len(page)); !ok || page[l.label:l.labelEnd] != " y" {
		t.Errorf("external link %+v, %v", l, ok)
	}
	if end := f.variantEnd(at("z}-"), len(page)); end != at("}-") {
		t.Errorf("the variant ends at %d", end)
	}
}

func TestCommentsAreRemovedWithTheirLines(t *testing.T) {
	var c comments
	for source, want := range map[string]string{
		"a<!-- b -->c":                "ac",
		"a\n <!-- b --> \nc":          "a\nc",
		"a <!-- b --> c":              "a c",
		"<nowiki><!-- a --></nowiki>": "<nowiki><!-- a --></nowiki>",
		"<noinclude>a</noinclude>":    "a",
		"a":                           "a",
	} {
		if got := string(c.remove([]byte(source))); got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

func TestEntitiesAreRemembered(t *testing.T) {
	var n entities
	for range 2 {
		if ent, ok := n.at([]byte("x&eacute;y"), 1); !ok || ent.text != "é" || ent.next != len("x&eacute;") {
			t.Errorf("%+v, %v", ent, ok)
		}
	}
	if ent, ok := n.at([]byte("&nope;"), 0); ok || len(n.met) != 1 {
		t.Errorf("%+v, %v, %d names remembered", ent, ok, len(n.met))
	}
}

func TestAWikiResolvesNamesInItsLanguage(t *testing.T) {
	var w wiki
	for _, c := range []struct {
		lang, name string
		op         rendering.Op
		known      bool
	}{
		{"fr", "XIVe", rendering.OpGiven, true}, {"en", "XIVe", 0, false}, {"de", "FRA", rendering.OpText, true}, {"de", "enS", rendering.OpLang, true},
		{"en", "Template:Circa", rendering.OpCirca, true}, {"en", "no such template", 0, false}, {"fr", "XIVe", rendering.OpGiven, true},
	} {
		w.enter(Page{Lang: c.lang})
		for range 2 { // looked up, then from the cache
			if rule, _, known := w.resolve([]byte(c.name)); known != c.known || rule.Op != c.op {
				t.Errorf("%s in %s: %v, %v", c.name, c.lang, rule, known)
			}
		}
	}
	if _, f, known := w.resolve([]byte("lc:A")); !known || f != funcLower {
		t.Errorf("lc: is function %d, %v", f, known)
	}
}

func TestHolesAreCountedWithTheirFirstPage(t *testing.T) {
	var l losses
	l.holes.add([]byte("a"), 1, "first")
	l.holes.add([]byte("a"), 2, "second")
	if l.holes.page != 3 || l.holes.first["a"] != "first" {
		t.Errorf("%+v", l.holes)
	}
}

// leaves returns the parts that call no others, for a page in English.
func leaves(source string) (*finder, *writer) {
	f, w := &finder{wiki: &wiki{}}, &writer{}
	f.wiki.enter(Page{Lang: "en"})
	f.load([]byte(source))
	w.start(nil)
	return f, w
}

func TestInlineStopsWhereItsModeSays(t *testing.T) {
	const page = "a ''b'' -{c}-: d\ne"
	f, w := leaves(page)
	n := inline{in: f, w: w, tags: &tags{}}
	n.reset("en")
	if end := n.render(0, len(page), modeLine); page[end] != '\n' {
		t.Errorf("a line ends at %d", end)
	}
	w.endLine()
	n.reset("zh")
	if end := n.render(0, len(page), modeTerm); page[end] != ':' {
		t.Errorf("a term ends at %d", end)
	}
	if got, want := string(w.finish()), "a b -{c}-: d\na b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLinksRenderTheirLabels(t *testing.T) {
	const page = "[[a|b]][[c (d)|]][[File:e|f]][//g h][[http://i|j]]"
	f, w := leaves(page)
	lk := links{in: f, w: w, inline: &inline{in: f, w: w}}
	for i := 0; i < len(page); {
		next := lk.bracket(i, i, len(page))
		if next == i {
			t.Fatalf("no link at %d", i)
		}
		i = next
	}
	if got, want := string(w.finish()), "bchj"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTagsKeepOrDropTheirContent(t *testing.T) {
	for source, want := range map[string]string{
		"<nowiki>''a''</nowiki>": "''a''", "<ref>a</ref>": "", "<math>a</math>": "[formula]", "<pre>a\nb</pre>": "a\nb",
		"<table><tr><td>a</table>": "", "<span style='display:none'>a</span>": "",
	} {
		f, w := leaves(source)
		g := tags{opt: Options{Math: "[formula]"}, in: f, w: w, tables: &tables{}}
		if next := g.angle(0, 0, len(source)); next != len(source) {
			t.Errorf("%s: ends at %d", source, next)
		}
		if got := string(w.finish()); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
	g := tags{tables: &tables{}}
	div := htmlTag{tagInfo: tagInfo{kind: tagBlock}, closing: true}
	if !g.isOrphan(div) {
		t.Error("</div> without <div> is no orphan")
	}
	if g.tables.residue = true; g.isOrphan(div) {
		t.Error("</div> is an orphan where a dropped template may have opened it")
	}
}

func TestTablesAreDroppedButForFosteredText(t *testing.T) {
	f, w := leaves("{|\nfostered\n|a\n|}b")
	tb := tables{in: f, w: w, inline: &inline{in: f, w: w}}
	next, closed := tb.drop(0, len(f.src))
	if !closed || string(f.src[next:]) != "b" || tb.residue {
		t.Errorf("ends at %d, closed %v, residue %v", next, closed, tb.residue)
	}
	if got := string(w.finish()); got != "fostered" {
		t.Errorf("got %q", got)
	}
	f.load([]byte("{|\n|a\n== b =="))
	if next, closed := tb.drop(0, len(f.src)); closed || string(f.src[next:]) != "== b ==" || !tb.residue {
		t.Errorf("not closed: ends at %d, closed %v, residue %v", next, closed, tb.residue)
	}
}

func TestBlocksCountTermsOfDefinitionLists(t *testing.T) {
	var b blocks
	for _, c := range []struct {
		markers string
		terms   int
	}{{";", 1}, {";", 1}, {":", 0}, {";;", 2}, {"*", 0}, {"*;", 1}, {";;", 2}} {
		if n := b.terms([]byte(c.markers)); n != c.terms {
			t.Errorf("%s: %d terms, want %d", c.markers, n, c.terms)
		}
	}
}

func TestTemplatesSplitTheirArguments(t *testing.T) {
	const text = "name| a |k = {{x|y}}|[[l|m]]|1=b"
	var in finder
	in.load([]byte("{{" + text + "}}"))
	tm := templates{in: &in}
	if el, ok := in.elementAt(0); !ok || int(el.end) != len(text)+4 { // pairs the brackets too
		t.Fatalf("%+v, %v", el, ok)
	}
	tm.split(2, 2+len(text))
	c := call{templates: &tm, args: tm.args}
	for want, p := range map[string]span{"b": c.arg(1), "[[l|m]]": c.arg(2), "{{x|y}}": c.named("no", "k"), "": c.arg(3), "name": c.args[0].value} {
		if got := string(c.bytes(p)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestASubstitutionReplacesParameters(t *testing.T) {
	page := []byte("xk")
	args := []argument{{}, {value: span{0, 1}}, {key: span{1, 2}, value: span{0, 1}}}
	var b substitution
	text, ok := b.replace("{{{1}}}-{{{k}}}-{{{no|{{{1}}}!}}}-{{{no}}}", page, args, 100)
	if got := string(text); !ok || got != "x-x-x!-{{{no}}}" {
		t.Errorf("%q, %v", got, ok)
	}
	if _, ok := b.replace("{{{1}}}{{{1}}}", page, args, 1); ok {
		t.Error("longer than the limit")
	}
}

// What one page leaves behind must not change the next.
func TestPagesInEitherOrderGiveTheirText(t *testing.T) {
	pages := []string{
		"* a {{zq}} [[File:x|[[y]]\n{| \n|}\n<pre>\n* b\n<div><poem>\n; c : d",
		"''a'' {{convert|5|km}} <ref>x</ref>\n== b ==\n{|\n|c\n{{quote|\n* d\n}}\n|}\n-{e}- {{{f|g}}}",
		"== References ==\nx\n== h ==\n</div>\n'''i",
		"{{{{\n|-\n| residue\n",
		"-{a|b}- {{s|XIX|e}} {{FRA}} {{lang-de|c}}",
		"| no row\n</div>x\n::y",
		";;a:b:c\n{|",
	}
	fresh := func(page string, of Page) string {
		return string(NewScanner(DefaultOptions()).AppendText(nil, []byte(page), of))
	}
	s := NewScanner(DefaultOptions())
	for _, lang := range []string{"en", "zh"} {
		first, second := Page{Title: "A", Lang: lang}, Page{Title: "B", Lang: "fr"}
		for _, a := range pages {
			for _, b := range pages {
				if got, want := string(s.AppendText(nil, []byte(a), first)), fresh(a, first); got != want {
					t.Errorf("%q: got %q, want %q", a, got, want)
				}
				if got, want := string(s.AppendText(nil, []byte(b), second)), fresh(b, second); got != want {
					t.Errorf("%q behind %q: got %q, want %q", b, a, got, want)
				}
			}
		}
	}
}
