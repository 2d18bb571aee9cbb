package wikihtml

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract/wiki"
)

// transclusion returns an element as Parsoid writes it: args are the members of
// "params", inner is the HTML of the text.
func transclusion(n int, name, args, inner string) string {
	data := fmt.Sprintf(`{"parts":[{"template":{"target":{"wt":%q,"href":"./Sjabloon:%s"},"params":{%s},"i":0}}]}`, name, name, args)
	return fmt.Sprintf(`<span about="#mwt%d" typeof="mw:Transclusion" data-mw="%s" id="mwAB">%s</span>`, n, html.EscapeString(data), inner)
}

// learnFrom returns the uses of templates in pages with the given HTML.
func learnFrom(t testing.TB, pages ...string) (uses []Transclusion, stats TransclusionStats) {
	t.Helper()
	var lines strings.Builder
	for i, page := range pages {
		lines.WriteString(pageLine(fmt.Sprintf("P%d", i), i+1, page, ""))
	}
	r := NewReader(Input{Name: "x", Open: opens(lines.String())}, wiki.DefaultOptions())
	r.OnTransclusion(func(u *Transclusion) { uses = append(uses, *u) })
	for _, err := range r.Documents() {
		if err != nil {
			t.Fatal(err)
		}
	}
	stats = r.Transclusions()
	if sum := stats.Uses + stats.Elsewhere + stats.Several + stats.Functions + stats.Malformed + stats.TooLong + stats.Unclosed + stats.OtherPage; sum != stats.Elements || stats.Uses != int64(len(uses)) {
		t.Errorf("%d uses, counts do not add up: %+v", len(uses), stats)
	}
	return uses, stats
}

func TestUsesInSentencesAreReported(t *testing.T) {
	hoogte := transclusion(1, "Hoogte", `"1":{"wt":"12"}`, `12<span typeof="mw:Entity">&nbsp;</span>m`)
	for _, test := range []struct{ name, page, call, text string }{
		{"in a sentence", "<p>De toren is " + hoogte + " hoog.</p>", "{{hoogte|12}}", "12 m"},
		{"at the end", "<p>De toren is " + hoogte + "</p>", "{{hoogte|12}}", "12 m"},
		{"at the start", "<p>" + hoogte + " is hoog.</p>", "{{hoogte|12}}", "12 m"},
		{"an item", "<ul><li>" + hoogte + "</li></ul>", "{{hoogte|12}}", "12 m"},
		{"a definition", "<dl><dt>Toren</dt><dd>" + hoogte + "</dd></dl>", "{{hoogte|12}}", "12 m"},
		{"in a link and bold", `<p>De <a href="./X">toren <b>` + hoogte + `</b></a>.</p>`, "{{hoogte|12}}", "12 m"},
		{"several arguments", "<p>Zo " + transclusion(1, "Datum", `"3":{"wt":"2020"},"1":{"wt":" 5 "},"2":{"wt":"mei"},"stijl":{"wt":"kort"},"af":{"wt":"ja"}`, "5 mei 2020") + " dus.</p>", "{{datum|5|mei|2020|af=ja|stijl=kort}}", "5 mei 2020"},
		{"an argument with a sign of equality, and one that is missing", "<p>Zo " + transclusion(1, "X_y", `"1":{"wt":"a=b"},"3":{"wt":"c"}`, "z") + " dus.</p>", "{{x y|1=a=b|3=c}}", "z"},
		{"nothing", "<p>Zo " + transclusion(1, "Leeg", ``, "") + " is dat.</p>", "{{leeg}}", ""},
		{"only dropped elements", "<p>Zo " + transclusion(1, "Bron?", ``, `<sup class="noprint">[bron?]</sup>`) + " is dat.</p>", "{{bron?}}", ""},
		{"a dropped element", `<p>Zo <sup class="noprint" about="#mwt3" typeof="mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"bron","href":"./Sjabloon:Bron"},"params":{},"i":0}}]}'><b>[bron?]</b></sup> is dat.</p>`, "{{bron}}", ""},
		{"a link only", `<p>Zo <link rel="mw:PageProp/Category" about="#mwt3" typeof="mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"bron","href":"./Sjabloon:Bron"},"params":{},"i":0}}]}'> is dat.</p>`, "{{bron}}", ""},
		{"spaces of its own", "<p>A" + transclusion(1, "Punt", "", " · ") + "b</p>", "{{punt}}", " · "},
		{"a group of elements", "<p>Zo " + strings.TrimSuffix(transclusion(4, "Paar", "", "<b>een</b>"), "") + `<span about="#mwt4"> en </span><i about="#mwt4">twee</i> dus.</p>`, "{{paar}}", "een en twee"},
		{"a group of a page in order", "<p>Zo " + transclusion(4, "Paar", "", "een") + " <span about=\"#mwt5\">niet</span> dus.</p>", "{{paar}}", "een"},
		{"the same element inside", "<p>Zo " + transclusion(4, "Paar", "", "<span>een <span>en</span></span> twee") + " dus.</p>", "{{paar}}", "een en twee"},
		{"signs of wikitext", "<p>Zo " + transclusion(4, "Teken", "", "* [[x]] ''y'' {{z}} | &lt;ref&gt;") + " dus.</p>", "{{teken}}", "* [[x]] ''y'' {{z}} | <ref>"},
		{"signs of wikitext in an item", "<ul><li>" + transclusion(4, "Teken", "", "* x") + "</li></ul>", "{{teken}}", "* x"},
		{"a template in an argument", "<p>Zo " + transclusion(4, "Vet", `"1":{"wt":"{{hoogte|5}}"}`, "5 m") + " dus.</p>", "{{vet|{{hoogte|5}}}}", "5 m"},
		{"after markup that does not count", "<p>Zo<sup class=\"mw-ref\">[1]</sup>" + hoogte + " dus.</p>", "{{hoogte|12}}", "12 m"},
	} {
		uses, stats := learnFrom(t, test.page)
		want := []Transclusion{{Page: "nlwiki:1", Wiki: "nlwiki", Lang: "nl", Call: test.call, Text: test.text}}
		want[0].Name, _, _ = strings.Cut(strings.Trim(test.call, "{}"), "|")
		if diff := cmp.Diff(want, uses); diff != "" {
			t.Errorf("%s: %+v, -want +got:\n%s", test.name, stats, diff)
		}
	}
}

func TestOtherElementsOfTemplatesAreCounted(t *testing.T) {
	with := func(data string) string {
		return `<p>Zo <span about="#mwt1" typeof="mw:Transclusion" data-mw="` + html.EscapeString(data) + `">x</span> dus.</p>`
	}
	part := func(more string) string {
		return `{"template":{"target":{"wt":"a","href":"./Sjabloon:A"}` + more + `}}`
	}
	long := strings.Repeat("x", 600)
	for _, test := range []struct {
		name, page string
		want       TransclusionStats
	}{
		{"a line of its own", "<p>" + transclusion(1, "A", "", "x") + "</p>", TransclusionStats{Elsewhere: 1}},
		{"a heading", "<h2>Zo " + transclusion(1, "A", "", "x") + "</h2><p>Tekst.</p>", TransclusionStats{Elsewhere: 1}},
		{"a box", `<p>Zo.</p><div about="#mwt1" typeof="mw:Transclusion" data-mw="` + html.EscapeString(`{"parts":[`+part("")+`]}`) + `"><p>x</p></div>`, TransclusionStats{Elsewhere: 1}},
		{"lines inside", "<p>Zo " + transclusion(1, "A", "", "x<p>y</p>z") + " dus.</p>", TransclusionStats{Elsewhere: 1}},
		{"lines in the group", "<p>Zo " + transclusion(1, "A", "", "x") + `<div about="#mwt1">y</div></p>`, TransclusionStats{Elsewhere: 1}},
		{"in an infobox", `<table class="infobox"><tr><td>` + transclusion(1, "A", "", "x") + `</td></tr></table><p>Zo.</p>`, TransclusionStats{}},
		{"several parts", with(`{"parts":["''",` + part("") + `,"''"]}`), TransclusionStats{Several: 1}},
		{"a function", with(`{"parts":[{"template":{"target":{"wt":"#if:x","function":"if"},"params":{}}}]}`), TransclusionStats{Functions: 1}},
		{"another kind of part", with(`{"parts":[{"parserfunction":{"target":{"wt":"#if:x","key":"if"},"params":{}}}]}`), TransclusionStats{Functions: 1}},
		{"an article", with(`{"parts":[{"template":{"target":{"wt":":Toren","href":"./Toren"},"params":{}}}]}`), TransclusionStats{Functions: 1}},
		{"no data", `<p>Zo <span about="#mwt1" typeof="mw:Transclusion">x</span> dus.</p>`, TransclusionStats{Malformed: 1}},
		{"no JSON", with(`{"parts":`), TransclusionStats{Malformed: 1}},
		{"another form", with(`{"parts":{"template":1}}`), TransclusionStats{Malformed: 1}},
		{"null", with(`null`), TransclusionStats{Malformed: 1}},
		{"no parts", with(`{"parts":[]}`), TransclusionStats{Malformed: 1}},
		{"an argument that is no text", with(`{"parts":[` + part(`,"params":{"1":{"wt":5}}`) + `]}`), TransclusionStats{Malformed: 1}},
		{"an argument without text", with(`{"parts":[` + part(`,"params":{"1":{}}`) + `]}`), TransclusionStats{Malformed: 1}},
		{"a name that is markup", with(`{"parts":[{"template":{"target":{"wt":"{{x}}","href":"./Sjabloon:{{x}}"},"params":{}}}]}`), TransclusionStats{Malformed: 1}},
		{"deep JSON", with(`{"parts":` + strings.Repeat("[", 12000) + strings.Repeat("]", 12000) + `}`), TransclusionStats{Malformed: 1}},
		{"large data", with(`{"parts":[` + part(`,"params":{"1":{"wt":"`+strings.Repeat("y", 70<<10)+`"}}`) + `]}`), TransclusionStats{TooLong: 1}},
		{"a long argument", with(`{"parts":[` + part(`,"params":{"1":{"wt":"`+long+`"}}`) + `]}`), TransclusionStats{TooLong: 1}},
		{"a long text", "<p>Zo " + transclusion(1, "A", "", long) + " dus.</p>", TransclusionStats{TooLong: 1}},
		{"no end", `<p>Zo <span about="#mwt1" typeof="mw:Transclusion" data-mw="` + html.EscapeString(`{"parts":[`+part("")+`]}`) + `">x dus.</p>`, TransclusionStats{Unclosed: 1}},
		{"inside another", "<p>Zo " + transclusion(1, "B", "", "x"+transclusion(2, "A", "", "y")) + " dus.</p>", TransclusionStats{Uses: 1}},
		{"a redirect", `<link rel="mw:PageProp/redirect" href="./X"><p>Zo ` + transclusion(1, "A", "", "x") + " dus.</p>", TransclusionStats{OtherPage: 1}},
	} {
		_, got := learnFrom(t, test.page)
		test.want.Elements = test.want.Elsewhere + test.want.Several + test.want.Functions + test.want.Malformed + test.want.TooLong + test.want.Unclosed + test.want.OtherPage + test.want.Uses
		if got != test.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", test.name, got, test.want)
		}
	}
}

// The text of the documents does not depend on whether uses are collected.
func FuzzTransclusions(f *testing.F) {
	f.Add("<p>A " + transclusion(1, "B", `"1":{"wt":"c"}`, "<b>d</b>") + `<span about="#mwt1">e</span> f</p>`)
	f.Add(`<p><span typeof="mw:Transclusion" about="#mwt1" data-mw='{"parts":["x",{"template":{}}]}'><table><tr><td></span>`)
	f.Add(`<h2><span typeof="mw:Transclusion" data-mw='{"parts":[{"template":{"target":{"wt":"a","href":"./T:%zz"}}}]}'></h2><ul><li></span><link typeof="mw:Transclusion">`)
	f.Fuzz(func(t *testing.T, page string) {
		page = strings.ToValidUTF8(page, "")
		uses, _ := learnFrom(t, page, "<p>Nog "+transclusion(1, "A", "", "een")+" pagina.</p>")
		for _, u := range uses {
			if len(u.Call) > maxCall || strings.ContainsAny(u.Text, "\n") || len(u.Text) > maxShown+2 {
				t.Errorf("%+v", u)
			}
		}
		with := read(t, []byte(pageLine("P0", 1, page, "")), wiki.DefaultOptions())
		r := NewReader(Input{Name: "test.tar.gz", Open: opens(pageLine("P0", 1, page, ""))}, wiki.DefaultOptions())
		r.OnTransclusion(func(*Transclusion) {})
		n := 0
		for doc, err := range r.Documents() {
			if err != nil {
				t.Fatal(err)
			}
			if n >= len(with.docs) || doc.Text != with.docs[n].Text {
				t.Errorf("another text when uses are collected: %q", doc.Text)
			}
			n++
		}
		if n != len(with.docs) {
			t.Errorf("%d documents, want %d", n, len(with.docs))
		}
	})
}
