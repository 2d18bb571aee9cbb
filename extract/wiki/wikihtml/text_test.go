package wikihtml

import (
	"bufio"
	"bytes"
	"encoding/json"
	"html"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pretext/extract"
	"pretext/extract/wiki/wikitext"
)

// textOf returns the text of a page with the given HTML.
func textOf(src string, o wikitext.Options) string {
	var c converter
	c.convert([]byte(src), &page{}, extract.MaxPageBytes)
	return string(wikitext.NewScanner(o).AppendText(nil, c.out, wikitext.Page{Lang: "en", Wiki: "enwiki"}))
}

// oneSpace collapses spaces, as readers of HTML do.
func oneSpace(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

// The HTML was made by Parsoid (0.11.1) from the wikitext beside it.
func TestBothFormsOfAPageGiveTheSameText(t *testing.T) {
	f, err := os.Open("testdata/pairs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var pair struct{ Name, Wikitext, HTML string }
		if err := json.Unmarshal(lines.Bytes(), &pair); err != nil {
			t.Fatal(err)
		}
		options := map[string]func(*wikitext.Options){
			"default": func(*wikitext.Options) {}, "without lists": func(o *wikitext.Options) { o.Lists = false }, "without headings": func(o *wikitext.Options) { o.Headings = false },
			"with back matter": func(o *wikitext.Options) { o.BackMatter = true },
		}
		for with, change := range options {
			o := wikitext.DefaultOptions()
			change(&o)
			want := oneSpace(string(wikitext.NewScanner(o).AppendText(nil, []byte(pair.Wikitext), wikitext.Page{Lang: "en", Wiki: "enwiki"})))
			if got := oneSpace(textOf(pair.HTML, o)); got != want {
				t.Errorf("%s, %s:\ngot  %q\nwant %q", pair.Name, with, got, want)
			}
		}
	}
	if n < 12 {
		t.Errorf("%d pairs", n)
	}
}

func TestWhatIsNoProseIsDropped(t *testing.T) {
	for _, test := range []struct{ name, html, want string }{
		{"hatnote", `<div role="note" class="hatnote navigation-not-searchable">For the car, see X.</div><p>Text.</p>`, "Text."},
		{"infobox", `<table class="infobox vcard"><tbody><tr><th>Born</th></tr></tbody></table><p>Text.</p>`, "Text."},
		{"infobox of divs", `<div class="infobox_v3"><div>Naissance</div> 1900</div><p>Texte.</p>`, "Texte."},
		{"navbox", `<p>Text.</p><div role="navigation" class="navbox"><ul><li>One</li></ul></div>`, "Text."},
		{"edit link", `<div class="mw-heading mw-heading2"><h2 id="S">Song<span class="mw-editsection">[<a>edit</a>]</span></h2></div><p>Loud.</p>`, "Song\nLoud."},
		{"style", `<p>A<style data-mw-deduplicate="x">.a{color:red}</style> wren.</p>`, "A wren."},
		{"script", `<p>A</p><script>var x = "<p>no</p>";</script><p>wren.</p>`, "A\nwren."},
		{"formula", `<p>Let <span class="mwe-math-element" typeof="mw:Extension/math"><span class="mwe-math-mathml-inline"><math><mi>x</mi></math></span><img alt="x"></span> be.</p>`, "Let be."},
		{"citation", `<p>So<sup class="mw-ref reference" typeof="mw:Extension/ref"><a><span>[1]</span></a></sup>, it sings.</p>`, "So, it sings."},
		{"pronunciation", `<p>Wren (<span class="IPA nopopups noexcerpt">/rɛn/</span>) is a bird.</p>`, "Wren is a bird."},
		{"hidden", `<p>A <span style="color:red; display: none">secret</span>wren.</p>`, "A wren."},
		{"figure", `<figure typeof="mw:File/Thumb"><a><img src="x"></a><figcaption>A <b>caption</b></figcaption></figure><p>Text.</p>`, "Text."},
		{"inline file", `<p>A <span typeof="mw:File"><a><img></a></span> wren.</p>`, "A wren."},
		{"maintenance", `<p>Wrens sing<sup class="noprint Inline-Template">[<i>citation needed</i>]</sup>.</p>`, "Wrens sing."},
		{"template text stays", `<p>It weighs <span typeof="mw:Transclusion" about="#mwt1" data-mw='{"parts":[{"template":{"target":{"wt":"convert"}}}]}'>9 grams (0.3 oz)</span>.</p>`, "It weighs 9 grams (0.3 oz)."},
		{"back matter", `<p>Text.</p><section><h2>References</h2><ol><li>Smith</li></ol></section><section><h2>Song</h2><p>Loud.</p></section>`, "Text.\nSong\nLoud."},
		{"code", `<p>Text.</p><div class="mw-highlight" typeof="mw:Extension/syntaxhighlight"><pre><span>if</span> a &lt; b:</pre></div><p>End.</p>`, "Text.\nEnd."},
		{"list in a paragraph of a list", `<ul><li>One<ul><li>Two</li></ul>three</li></ul><p>Four</p>`, "One\nTwo\nthree\nFour"},
		{"unclosed heading", `<h2>Song<p>Loud.</p><p>Very.</p>`, "Song\nLoud.\nVery."},
		{"poem", `<div class="poem"><p>One,<br>two,
three.</p></div>`, "One,\ntwo, three."},
	} {
		if got := textOf(test.html, wikitext.DefaultOptions()); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	o := wikitext.DefaultOptions()
	o.Math, o.Code = "FORMULA", true
	if got, want := textOf(`<p>Let <math><mi>x</mi></math> be.</p><div class="mw-highlight" typeof="mw:Extension/syntaxhighlight"><pre>if a &lt; b:
  c[1]</pre></div><p>End.</p>`, o), "Let FORMULA be.\nif a < b:\nc[1]\nEnd."; oneSpace(got) != want {
		t.Errorf("with formulas and code: got %q, want %q", got, want)
	}
}

// Whatever signs text has, none is taken for markup.
func TestTextIsNeverMarkup(t *testing.T) {
	signs := []string{"[", "]", "{", "}", "|", "'", "''", "=", "==", "*", "#", ":", ";", "!", "-", "----", "_", "__NOTOC__", "<", ">", "&", "&amp;", "<ref>", "</ref>", "<math>", "{{", "}}", "{|", "|}", "[[File:", "~~~~",
		"a", "b c", "é", "http://example.org/", "#REDIRECT [[X]]", "-{", "}-", "/", `"`, ",", "1"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(signs), 1, 12).Draw(t, "signs"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
		want := oneSpace("Start " + text + " end.")
		if got := oneSpace(textOf("<p>Start "+html.EscapeString(text)+" end.</p>", wikitext.DefaultOptions())); got != want {
			t.Fatalf("inside a line: got %q, want %q", got, want)
		}
		want = oneSpace("x\n" + text + "z")
		if got := oneSpace(textOf("<p>x</p><p>"+html.EscapeString(text)+"z</p>", wikitext.DefaultOptions())); got != want {
			t.Fatalf("at the start of a line: got %q, want %q", got, want)
		}
		if got := oneSpace(textOf("<h2>"+html.EscapeString(text)+"z</h2><p>x</p>", wikitext.DefaultOptions())); got != oneSpace(text+"z\nx") {
			t.Fatalf("in a heading: got %q, want %q", got, oneSpace(text+"z\nx"))
		}
		if got := oneSpace(textOf("<ul><li>"+html.EscapeString(text)+"z</li></ul>", wikitext.DefaultOptions())); got != oneSpace(text+"z") {
			t.Fatalf("in a list: got %q, want %q", got, oneSpace(text+"z"))
		}
	})
}

func FuzzConvert(f *testing.F) {
	f.Add("<p>A <b>wren</b>.</p><ul><li>x</ul><h2>y<table><td>z")
	f.Add(`<div class="poem"><p>a<br>b</div><pre>c</pre><span typeof="mw:Entity">&nbsp;</span><math/><h1><h2>`)
	f.Add(`<title>T</title><meta property="mw:pageId" content="9"><div typeof="mw:Extension/syntaxhighlight mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"dab"}}}]}'>`)
	f.Fuzz(func(t *testing.T, src string) {
		src = strings.ToValidUTF8(src, "")
		var c converter
		if !c.convert([]byte(src), &page{}, extract.MaxPageBytes) {
			t.Fatal("too large")
		}
		if len(c.out) > 16*len(src)+16 {
			t.Errorf("%d bytes of wikitext from %d of HTML", len(c.out), len(src))
		}
		text := wikitext.NewScanner(wikitext.DefaultOptions()).AppendText(nil, c.out, wikitext.Page{Lang: "en"})
		if bytes.Contains(text, []byte("\n\n")) {
			t.Errorf("empty lines in %q", text)
		}
		again := append([]byte(nil), c.out...)
		c.convert([]byte(src), &page{}, extract.MaxPageBytes)
		if !bytes.Equal(again, c.out) {
			t.Error("a second conversion gives something else")
		}
	})
}
