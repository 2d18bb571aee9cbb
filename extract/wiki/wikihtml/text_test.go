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
		{"keys for sorting", `<p>A <span class="sortkey">key</span>wren.</p>`, "A wren."},
		{"when a listing was edited", `<ul><li><b>Museum</b>, Main St.<span class="listing-metadata"> (<span class="listing-lastedit">updated May 2020</span>)</span></li></ul>`, "Museum, Main St."},
		{"a category at the end of a sentence", `<p>A wren <link rel="mw:PageProp/Category" href="./Category:Wren">.</p>`, "A wren."},
		{"hidden", `<p>A <span style="color:red; display: none">secret</span>wren.</p>`, "A wren."},
		{"a declaration that is not display", `<p>A <span style="border: none; display: inline">plain </span>wren.</p>`, "A plain wren."},
		{"a heading inside a block of text", `<div>Text.<h2>Song</h2>Loud.</div>`, "Text.\nSong\nLoud."},
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

// What Parsoid makes of a source today (its versions 2.5 to 2.8), by hand: the
// text is that of the source.
func TestTheHTMLOfASourceGivesItsText(t *testing.T) {
	for _, test := range []struct{ name, lang, source, html string }{
		{"language variants", "zh", "群、-{zh-cn:域; zh-tw:體}-等。-{H|zh-cn:a;zh-tw:b}-又-{文字}-。", `<p>群、<span typeof="mw:LanguageVariant" data-mw-variant='{"twoway":[{"l":"zh-cn","t":"域"},{"l":"zh-tw","t":"體"}]}'></span>等。<meta typeof="mw:LanguageVariant" data-mw-variant='{"add":true,"twoway":[{"l":"zh-cn","t":"a"}]}'/>又<span typeof="mw:LanguageVariant" data-mw-variant='{"disabled":{"t":"文字"}}'></span>。</p>`},
		{"links to other wikis", "en", "A [[:de:Berlin]] and [[wikt:word]] and [[w:x|y]].", `<p>A <a rel="mw:WikiLink/Interwiki" href="https://de.wikipedia.org/wiki/Berlin" title="de:Berlin" class="extiw">de:Berlin</a> and <a rel="mw:WikiLink/Interwiki" href="x" class="extiw">wikt:word</a> and <a rel="mw:WikiLink/Interwiki" class="extiw">y</a>.</p>`},
		{"spaces of the display", "en", "A is 5 % of « b ».", `<p>A is 5<span typeof="mw:DisplaySpace">` + "\u00a0" + `</span>% of «<span typeof="mw:DisplaySpace">` + "\u00a0" + `</span>b<span typeof="mw:DisplaySpace">` + "\u00a0" + `</span>».</p>`},
		{"a character reference", "en", "A is 5&nbsp;m.", `<p>A is 5<span typeof="mw:Entity">` + "\u00a0" + `</span>m.</p>`},
		{"coordinates in a sentence", "en", "It is at {{coord|1|2|display=inline,title}}.", `<p>It is at <span class="geo-inline-hidden noexcerpt"><span class="plainlinks nourlexpansion"><a rel="mw:ExtLink" class="external text"><span class="geo-default"><span class="geo-dms">1 2</span></span></a></span></span>.</p>`},
		{"coordinates of the article", "en", "{{coord|1|2|display=title}}\nText.", `<span style="font-size: small;"><span id="coordinates"><a rel="mw:WikiLink">Coordinates</a>: <span class="plainlinks nourlexpansion"><a><span class="geo-default">1</span></a></span></span></span><p>Text.</p>`},
		{"code in a sentence", "en", "A <code>x[1]</code> and <syntaxhighlight lang=\"c\" inline>y=2</syntaxhighlight> b.", `<p>A <code>x[1]</code> and <code class="mw-highlight mw-highlight-lang-c mw-content-ltr" dir="ltr" typeof="mw:Extension/syntaxhighlight"><span class="n">y</span><span class="o">=</span>2</code> b.</p>`},
		{"ruby", "en", "A <ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> b.", `<p>A <ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby> b.</p>`},
		{"inline elements", "en", "A <s>old</s> <del>gone</del> <ins>new</ins> <small>tiny</small> <abbr title=\"x\">ab.</abbr> H<sub>2</sub>O b<sup>2</sup>.", `<p>A <s>old</s> <del>gone</del> <ins>new</ins> <small>tiny</small> <abbr title="x">ab.</abbr> H<sub>2</sub>O b<sup>2</sup>.</p>`},
		{"addresses", "en", "See http://example.org/a and [http://example.org/b].", `<p>See <a rel="mw:ExtLink" class="external free" href="http://example.org/a">http://example.org/a</a> and <a rel="mw:ExtLink" class="external autonumber" href="http://example.org/b"></a>.</p>`},
		{"numbers of books", "en", "See ISBN 0-306-40615-2 and RFC 2616.", `<p>See <a rel="mw:WikiLink" href="./Special:BookSources/0306406152">ISBN<span> </span>0-306-40615-2</a> and <a rel="mw:ExtLink" class="external mw-magiclink">RFC 2616</a>.</p>`},
		{"a poem", "en", "A\n<poem>one\ntwo</poem>\nB", `<p>A</p><div class="poem" typeof="mw:Extension/poem"><p>one<br>` + "\n" + `two</p></div><p>B</p>`},
		{"formulas", "en", "A <math>x</math> b.\n\n<math display=\"block\">y</math>\n\nC <chem>H2O</chem> d.", `<p>A <span class="mwe-math-element mwe-math-element-inline" typeof="mw:Extension/math"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math alttext="x"><mi>x</mi><annotation>x</annotation></math></span><img alt="x"></span> b.</p><p><span class="mwe-math-element mwe-math-element-block" typeof="mw:Extension/math"><span class="mwe-math-mathml-display"><math><mi>y</mi></math></span><img alt="y"></span></p><p>C <span class="mwe-math-element" typeof="mw:Extension/chem"><math><mi>H</mi></math></span> d.</p>`},
		{"music and a gallery", "en", "A <score>c d</score> b.\n\n<gallery>\nFile:A.jpg|Cap\n</gallery>\nC", `<p>A <span class="mw-ext-score" typeof="mw:Extension/score"><img alt="c d"></span> b.</p><ul class="gallery mw-gallery-traditional" typeof="mw:Extension/gallery"><li class="gallerybox"><div class="thumb"></div><div class="gallerytext">Cap</div></li></ul><p>C</p>`},
		{"line ends", "en", "A<br>b<br/>c<wbr>d<hr>e", `<p>A<br>b<br>c<wbr>d</p><hr><p>e</p>`},
		{"lists", "en", "* a\n*: b\n*# c\n; d : e\n: f", `<ul><li>a<dl><dd>b</dd></dl><ol><li>c</li></ol></li></ul><dl><dt>d </dt><dd>e</dd><dd>f</dd></dl>`},
		{"a map link", "en", "A <maplink latitude=1 longitude=2 text=\"Map\">{}</maplink> b.", `<p>A <a class="mw-kartographer-maplink" typeof="mw:Extension/maplink">Map</a> b.</p>`},
		{"style and indicator", "en", "A <templatestyles src=\"x\"/> b <indicator name=\"x\">I</indicator>.", `<p>A <style data-mw-deduplicate="x" typeof="mw:Extension/templatestyles mw:Transclusion">.a{}</style> b <meta typeof="mw:Extension/indicator">.</p>`},
		{"nowiki and comment", "en", "A <nowiki>[[x]]</nowiki> b <!-- c --> d.", `<p>A <span typeof="mw:Nowiki">[[x]]</span> b <!-- c --> d.</p>`},
		{"headings", "en", "== H ==\n\n=== K ===\nText.\n== See also ==\n* x", `<section data-mw-section-id="1"><div class="mw-heading mw-heading2"><h2 id="H">H</h2><span class="mw-editsection">[edit]</span></div><section data-mw-section-id="2"><h3>K</h3><p>Text.</p></section></section><section><h2>See also</h2><ul><li>x</li></ul></section>`},
		{"files in a sentence", "en", "A [[File:a.jpg|20px|alt=x]] b [[Media:a.ogg|listen]].", `<p>A <span class="mw-default-size" typeof="mw:File"><a href="x" class="mw-file-description"><img alt="x" class="mw-file-element"></a></span> b <a rel="mw:MediaLink" href="x">listen</a>.</p>`},
		{"footnotes of templates", "en", "A{{sfn|x}}{{efn|note}} b{{r|x}}.", `<p>A<sup typeof="mw:Transclusion mw:Extension/ref" class="mw-ref reference"><a><span class="mw-reflink-text">[1]</span></a></sup><sup class="mw-ref reference" typeof="mw:Extension/ref">[a]</sup> b.</p>`},
		{"a quotation", "en", "<blockquote>\nA b.\n</blockquote>\nC", `<blockquote><p>A b.</p></blockquote><p>C</p>`},
		{"lines that begin with a space", "en", " pre text\n more\nA", `<pre>pre text` + "\n" + `more</pre><p>A</p>`},
		{"inline elements of text", "en", "A ''b'' '''c''' <u>d</u> <q>e</q> <kbd>f</kbd> <tt>g</tt> <big>h</big> <font color=red>i</font> <cite>j</cite> <time>k</time> <data value=1>l</data> <bdi>m</bdi> <mark>n</mark> <var>o</var>.", `<p>A <i>b</i> <b>c</b> <u>d</u> <q>e</q> <kbd>f</kbd> <tt>g</tt> <big>h</big> <font color=red>i</font> <cite>j</cite> <time>k</time> <data value=1>l</data> <bdi>m</bdi> <mark>n</mark> <var>o</var>.</p>`},
		{"invisible characters", "en", "A\u00adb c\u200ed e\u200bf g\u202fh i\ufeffj k\u2060l.", "<p>A\u00adb c\u200ed e\u200bf g\u202fh i\ufeffj k\u2060l.</p>"},
		{"references to invisible characters", "en", "A&shy;b c&lrm;d e&#8203;f g&thinsp;h i&#8239;j k&zwj;l m&zwnj;n o&ensp;p q&ndash;r s&#160;t u&#x2060;v.", `<p>A<span typeof="mw:Entity">` + "\u00ad" + `</span>b c<span typeof="mw:Entity">` + "\u200e" + `</span>d e<span typeof="mw:Entity">` + "\u200b" + `</span>f g<span typeof="mw:Entity">` + "\u2009" + `</span>h i<span typeof="mw:Entity">` + "\u202f" + `</span>j k<span typeof="mw:Entity">` + "\u200d" + `</span>l m<span typeof="mw:Entity">` + "\u200c" + `</span>n o<span typeof="mw:Entity">` + "\u2002" + `</span>p q<span typeof="mw:Entity">–</span>r s<span typeof="mw:Entity">` + "\u00a0" + `</span>t u<span typeof="mw:Entity">` + "\u2060" + `</span>v.</p>`},
		{"special spaces", "en", "A\u00a0b c\u2009d.", "<p>A\u00a0b c\u2009d.</p>"},
	} {
		want := string(wikitext.NewScanner(wikitext.DefaultOptions()).AppendText(nil, []byte(test.source), wikitext.Page{Lang: test.lang, Wiki: test.lang + "wiki"}))
		if got := textOf(test.html, wikitext.DefaultOptions()); got != want {
			t.Errorf("%s:\ngot  %q\nwant %q", test.name, got, want)
		}
	}
}

func TestLanguageVariants(t *testing.T) {
	with := func(data, inner string) string {
		return `<p>A <span typeof="mw:LanguageVariant" data-mw-variant="` + html.EscapeString(data) + `">` + inner + `</span> z.</p>`
	}
	nested := `{"disabled":{"t":"deep"}}`
	for range 10 {
		b, _ := json.Marshal(map[string]any{"disabled": map[string]any{"t": `<b>x</b><span typeof="mw:LanguageVariant" data-mw-variant="` + html.EscapeString(nested) + `"></span>`}})
		nested = string(b)
	}
	for _, test := range []struct{ name, html, want string }{
		{"of two", with(`{"twoway":[{"l":"zh-cn","t":"b"},{"l":"zh-tw","t":"c"}]}`, ""), "A b z."},
		{"one way", with(`{"oneway":[{"f":"x","l":"zh-cn","t":"b"}]}`, ""), "A b z."},
		{"a filter", with(`{"filter":{"l":["zh-cn"],"t":"b"}}`, ""), "A b z."},
		{"with markup", with(`{"disabled":{"t":"b <i>c</i> &amp; [d]<sup class=\"mw-ref\">1</sup>"}}`, ""), "A b c & [d] z."},
		{"converted already", with(`{"twoway":[{"l":"zh-cn","t":"b"}]}`, "c"), "A c z."},
		{"converted to an element", with(`{"twoway":[{"l":"zh-cn","t":"b"}]}`, "<b>c</b>"), "A c z."},
		{"converted to a picture", with(`{"twoway":[{"l":"zh-cn","t":"b"}]}`, `<img src="x">`), "A z."},
		{"a rule", with(`{"add":true,"twoway":[{"l":"zh-cn","t":"b"}]}`, ""), "A z."},
		{"a rule that is shown", with(`{"add":true,"show":true,"twoway":[{"l":"zh-cn","t":"b"}]}`, ""), "A b z."},
		{"a title", with(`{"title":true,"twoway":[{"l":"zh-cn","t":"b"}]}`, ""), "A z."},
		{"no JSON", with(`{`, ""), "A z."},
		{"another form", with(`{"twoway":{"t":1}}`, ""), "A z."},
		{"too deep", with(nested, ""), "A xxxxxxxx z."},
		{"in an element that is dropped", `<p>A</p><table><tr><td>` + with(`{"disabled":{"t":"b"}}`, "") + `</td></tr></table>`, "A"},
	} {
		if got := textOf(test.html, wikitext.DefaultOptions()); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
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
	f.Add(`<p>A <span typeof="mw:LanguageVariant" data-mw-variant='{"twoway":[{"l":"a","t":"<b>x</b><span typeof=\"mw:LanguageVariant\" data-mw-variant=\"{}\">"}]}'></span></p>`)
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
