package books

import (
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/extract"
)

// readEPUBText reads an EPUB that must give a document.
func readEPUBText(tb testing.TB, epub string) extract.Document {
	tb.Helper()
	docs, stats, err := read(tb, "b.epub", epub, Options{Lang: "en"})
	if err != nil || len(docs) != 1 {
		tb.Fatalf("got %d documents, %v, %+v", len(docs), err, stats)
	}
	return docs[0]
}

func TestEPUBIsReadInTheOrderOfItsSpine(t *testing.T) {
	got := readEPUBText(t, simpleEPUB(t))
	want := extract.Document{ID: "books:b.epub", Title: "The Title", Text: "One.\nTwo.", Source: "b.epub", Lang: "fr"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestXHTMLBecomesParagraphs(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"paragraphs", "<p>One\n  two.</p><p>Three.</p>", "One two.\nThree."},
		{"inline elements", "<p>T<b>his</b> is <i>one</i><span>,</span> word.</p>", "This is one, word."},
		{"entities", "<p>caf&eacute; &amp; th&#233; &#x2014; &lt;b&gt; &nbsp;&hellip;</p>", "café & thé — <b> \u00a0…"},
		{"headings and lists", "<h1>Title</h1>Text<ul><li>a</li><li>b</li></ul>more<hr/>end", "Title\nText\na\nb\nmore\nend"},
		{"line breaks", "<p>Verse<br/>goes on<br>so</p>", "Verse\ngoes on\nso"},
		{"tables", "<table><tr><td>a</td><td>b</td></tr><tr><th>c</th><td>d</td></tr></table>", "a b\nc d"},
		{"nothing from scripts", "<p>a</p><script>b</script><script src='x'/><style>c</style><style/><p>d</p>", "a\nd"},
		{"nor navigation", "<nav><ol><li>x</li></ol></nav><p>a</p>", "a"},
		{"nor pictures", `<p>a<img src="x" alt="y"/>b</p><svg><text>z</text></svg>`, "ab"},
		{"nor ruby", "<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字</p>", "漢字"},
		{"nested of a name", "<nav>a<nav>b</nav>c</nav><p>d</p>", "d"},
		{"marks of notes", `<p>Text.<a epub:type="noteref" href="#n">1</a> More.<sup role="doc-noteref">2</sup></p>`, "Text. More."},
		{"page numbers", `<p>one <span epub:type="pagebreak" id="p">12</span>two</p>`, "one two"},
		{"hidden", `<p hidden="hidden">a</p><p>b</p>`, "b"},
		{"boilerplate", `<section class="pg-boilerplate pgheader">Licence<p>long</p></section><p>Text.</p>`, "Text."},
		{"boilerplate by its marks", `<p>Head</p><p>*** START OF THE PROJECT GUTENBERG EBOOK X ***</p><p>Text.</p><p>*** END OF THE PROJECT GUTENBERG EBOOK X ***</p><p>Tail</p>`, "Text."},
		{"preformatted", "<pre>a\n  b\nc</pre><p>d\ne</p>", "a\nb\nc\nd e"},
		{"CDATA and comments", "<p>a<![CDATA[ <b> ]]>c<!-- d --></p>", "a <b> c"},
		{"elements never closed", "<div><p>a<p>b<i>c<div>d", "a\nbc\nd"},
		{"a name in capitals", "<P>a</P><SCRIPT>b</SCRIPT><P>c</P>", "a\nc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := readEPUBText(t, epubWith(t, xhtml(test.body))).Text; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEncodingsOfXHTML(t *testing.T) {
	body := "<html><head><title>x</title></head><body><p>café</p></body></html>"
	latin := strings.ReplaceAll(body, "é", "\xe9")
	for name, chapter := range map[string]string{
		"nothing declared":        body,
		"UTF-8":                   `<?xml version="1.0" encoding="UTF-8"?>` + body,
		"UTF-8 with a mark":       "\xef\xbb\xbf" + body,
		"UTF-16":                  utf16Bytes(`<?xml version="1.0" encoding="UTF-16"?>`+body, false),
		"ISO 8859-1":              `<?xml version="1.0" encoding="iso-8859-1"?>` + latin,
		"Windows-1252, in a meta": strings.Replace(latin, "<head>", `<head><meta http-equiv="Content-Type" content="text/html; charset=windows-1252"/>`, 1),
		"an empty meta first":     strings.Replace(latin, "<head>", `<head><meta charset=""/><meta charset=windows-1252/>`, 1),
		"none, only talk of one":  "<p>café</p><!-- charset=koi8-r <?xml encoding='koi8-r'?> -->",
		"unknown":                 `<?xml version="1.0" encoding="x-none"?>` + body,
		"far down":                strings.Repeat(" ", 2000) + body,
	} {
		if got := readEPUBText(t, epubWith(t, chapter)).Text; got != "café" {
			t.Errorf("%s: got %q, want café", name, got)
		}
	}
}

func TestOddEPUBs(t *testing.T) {
	change := func(name, old, new string) string {
		members := epubMembers()
		for i := range members {
			if members[i].name == name {
				if !strings.Contains(members[i].content, old) {
					t.Fatalf("BUG: no %q in %s", old, name)
				}
				members[i].content = strings.ReplaceAll(members[i].content, old, new)
			}
		}
		return zipOf(t, members...)
	}
	without := func(name string) string {
		var members []member
		for _, m := range epubMembers() {
			if m.name != name {
				members = append(members, m)
			}
		}
		return zipOf(t, members...)
	}
	opf := "OEBPS/package.opf"
	for _, test := range []struct {
		name, epub, text string
		reject           extract.Reject
	}{
		{"no mimetype", without("mimetype"), "One.\nTwo.", ""},
		{"a chapter missing", without("OEBPS/text/one.xhtml"), "Two.", ""},
		{"no package", without(opf), "", extract.RejectMalformed},
		{"no chapter at all", change(opf, "text/", "gone/"), "", extract.RejectMalformed},
		{"a package outside", change("META-INF/container.xml", "OEBPS/package.opf", "../../OEBPS/package.opf"), "One.\nTwo.", ""},
		{"chapters outside", change(opf, `href="text/one.xhtml#top"`, `href="../../../../etc/passwd"`), "Two.", ""},
		{"remote chapters", change(opf, `href="text/one.xhtml#top"`, `href="http://example.org/one.xhtml"`), "Two.", ""},
		{"a container that names nothing", change("META-INF/container.xml", "rootfile ", "rotfile "), "", extract.RejectMalformed},
		{"a package cut short", change(opf, `<itemref idref="c2"/>`, `<itemref idr`), "One.", ""},
		{"a package with entities", change(opf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", `<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c SYSTEM "file:///etc/passwd">]>`), "One.\nTwo.", ""},
		{"all outside of the reading order", change(opf, "<itemref idref=\"c1\"/><itemref idref=\"c2\"/><itemref idref=\"c1\"/>", `<itemref idref="c2" linear="no"/>`), "Two.\nA note.", ""},
		{"binary content", epubWith(t, xhtml("<p>\x00\x01\x02</p>")), "", extract.RejectBinary},
		{"no text", epubWith(t, xhtml("<p> </p><img src='x'/>")), "", extract.RejectEmpty},
		{"content of no encoding", epubWith(t, strings.Repeat("\xf0\xd2\xc9", 100)), "", extract.RejectEncoding},
	} {
		t.Run(test.name, func(t *testing.T) {
			docs, stats, err := read(t, "b.epub", test.epub, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if test.reject != "" {
				if stats.Rejects[test.reject] != 1 || len(docs) != 0 {
					t.Errorf("got %+v and %+v, want reject %s", docs, stats, test.reject)
				}
				return
			}
			if len(docs) != 1 || docs[0].Text != test.text {
				t.Errorf("got %+v, %+v; want %q", docs, stats, test.text)
			}
		})
	}
}

func TestEncryptedEPUBIsRejected(t *testing.T) {
	members := append(epubMembers(), member{encryptionName, `<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData><CipherData><CipherReference URI="OEBPS/text/one.xhtml"/></CipherData></EncryptedData></encryption>`})
	_, stats, err := read(t, "b.epub", zipOf(t, members...), Options{})
	if err != nil || stats.Rejects[extract.RejectMalformed] != 1 || stats.Notes[0].Text != "encrypted" {
		t.Errorf("got %v, %+v", err, stats)
	}
	fonts := append(epubMembers(), member{encryptionName, `<encryption><CipherReference URI="OEBPS/fonts/a.otf"/></encryption>`})
	if got := readEPUBText(t, zipOf(t, fonts...)).Text; got != "One.\nTwo." {
		t.Errorf("with encrypted fonts: got %q", got)
	}
}

func TestTooLargeEPUBsAreRejected(t *testing.T) {
	for body, kept := range map[string]bool{
		"<p>" + strings.Repeat("x", 100) + "</p>": true,
		"<p>" + strings.Repeat("x", 101) + "</p>": false,
		strings.Repeat("<p>x</p>", 50):            true,
		strings.Repeat("<p>x</p>", 51):            false,
		strings.Repeat("<p> </p>", 500) + "x":     true,
	} {
		store := memory{"b.epub": epubWith(t, xhtml(body))}
		r := NewReader(store, Task{Path: "b.epub", Kind: kindFile}, Options{})
		r.limit = 100
		docs, err := drain(r)
		if err != nil || (len(docs) == 1) != kept || !kept && r.stats.Rejects[extract.RejectTooLarge] != 1 {
			t.Errorf("%.30s…: got %d documents, %v, %+v", body, len(docs), err, r.stats)
		}
	}
}

func FuzzXHTML(f *testing.F) {
	for _, s := range []string{
		xhtml("<p>a &amp; b</p><nav>x</nav>"), "<pre>a\n b", "<title/>a<p>b", "<![CDATA[a]]>", "<p>\xff\x00", "<nav><script></nav>",
		`<?xml encoding="windows-1252"?><p>` + "\x93x\x94", "\xff\xfe<\x00p\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := &prose{limit: 1 << 20}
		if err := p.read(strings.NewReader(s)); err != nil && err != errRejected {
			if _, ok := err.(*memberError); !ok {
				t.Fatal(err)
			}
			return
		}
		if !utf8.Valid(p.out) || strings.Count(string(p.out), "\n") != p.count {
			t.Fatalf("bad paragraphs %q, %d", p.out, p.count)
		}
		for line := range strings.Lines(string(p.out)) {
			if line[0] != '!' || len(line) < 3 {
				t.Fatalf("bad paragraph %q", line)
			}
		}
		// Text escaped as XHTML reads back as itself.
		text := string(joinLines(p.out, true, 0))
		again := &prose{limit: 1 << 30, keepBoilerplate: true}
		escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
		if err := again.read(strings.NewReader("<p>" + strings.ReplaceAll(escaped, "\n", "</p><p>"))); err != nil {
			t.Fatal(err)
		}
		if got := string(joinLines(again.out, true, 0)); got != text {
			t.Fatalf("got %q the second time, %q the first", got, text)
		}
	})
}
