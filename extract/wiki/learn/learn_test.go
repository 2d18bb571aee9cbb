package learn

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract/wiki"
	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikihtml"
	"pretext/extract/wiki/wikitext"
)

// A use is a template in a sentence of the wiki that the tests make: what an
// editor writes, and what the page shows.
type use struct{ name, args, shows string }

func (u use) wikitext() string {
	if u.args == "" {
		return "{{" + u.name + "}}"
	}
	return "{{" + u.name + "|" + u.args + "}}"
}

// html returns the use as Parsoid writes it.
func (u use) html(n int) string {
	var params []string
	position := 0
	for arg := range strings.SplitSeq(u.args, "|") {
		key, value, named := strings.Cut(arg, "=")
		if !named {
			position++
			key, value = fmt.Sprint(position), arg
		}
		if u.args != "" {
			params = append(params, fmt.Sprintf("%q:{\"wt\":%q}", key, value))
		}
	}
	data := fmt.Sprintf(`{"parts":[{"template":{"target":{"wt":%q,"href":"./Vorlage:%s"},"params":{%s},"i":0}}]}`, u.name, strings.ReplaceAll(u.name, " ", "_"), strings.Join(params, ","))
	return fmt.Sprintf(`<span about="#mwt%d" typeof="mw:Transclusion" data-mw="%s">%s</span>`, n, html.EscapeString(data), u.shows)
}

// uses are templates of a German wiki, with what they show.
func uses() (list []use) {
	for i := range 5 {
		n := fmt.Sprint(i + 2)
		list = append(list,
			use{"Zzhöhe", n, n + "&nbsp;m"},
			use{"Zzetwa", n, "etwa " + n},
			use{"Zzklammer", n, "‹" + n + "›"},
			use{"Zzfest", "", "immer gleich"},
			use{"Zzleer", n, ""},
			use{"Zzfußnote", n, `<sup class="noprint">[Beleg fehlt]</sup>`},
			use{"Zzname", "x|name=N" + n, "N" + n},
			use{"Zzreihe", n + "|a" + n + "|b", n + " und a" + n + " und b"},
			use{"Zzzweites", "x|<i>" + n + "</i>", n},
			use{"Zzpunkt", "", " · "},
			use{"Zzzufall", n, fmt.Sprint("r", i*i*7919%31)}, // no rule
			use{"Zztausend", n + "4321", n + "4.321"},
			use{"lang-qaa", "W" + n, "zzanisch W" + n},
			use{"lang-la", "W" + n, "lateinsch W" + n}, // known otherwise
			use{"höhe", n, n + " m"},                   // known
			use{"circa", n, "zirka " + n},              // known otherwise
			use{"Zzselten", "7", "sieben 7"},           // always the same argument
		)
		if i < 2 {
			list = append(list, use{"Zzzweimal", n, "zwei " + n})
		}
	}
	return list
}

// pageOf returns a page with uses, as HTML and as wikitext.
func pageOf(list []use) (page, source string) {
	var h, w strings.Builder
	for i, u := range list {
		fmt.Fprintf(&h, "<p>Hier steht %s im Satz %d.</p>\n", u.html(i), i)
		fmt.Fprintf(&w, "Hier steht %s im Satz %d.\n\n", u.wikitext(), i)
	}
	return h.String(), w.String()
}

// snapshot returns pages as JSON lines.
func snapshot(pages ...string) string {
	var b strings.Builder
	for i, page := range pages {
		fmt.Fprintf(&b, `{"name":"Seite %d","identifier":%d,"is_part_of":{"identifier":"zzwiki"},"in_language":{"identifier":"de"},"article_body":{"html":%q}}`+"\n", i, i+1, page)
	}
	return b.String()
}

func inputOf(text string) wikihtml.Input {
	return wikihtml.Input{Name: "x.ndjson", Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// labels holds the form of the names of languages, on which the test must not
// depend.
func labels(t testing.TB) *rendering.File {
	t.Helper()
	f, err := rendering.Parse("labels.txt", []byte("[zzwiki]\nlabel language | \"{name} \""))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func learned(t testing.TB, o Options, workers int, snapshots ...string) *Result {
	t.Helper()
	table := NewTable()
	var inputs []wikihtml.Input
	for _, s := range snapshots {
		inputs = append(inputs, inputOf(s))
	}
	if _, err := table.Read(context.Background(), inputs, workers); err != nil {
		t.Fatal(err)
	}
	o.Known = append([]*rendering.File{labels(t)}, o.Known...)
	return table.Propose(o)
}

func linesOf(list []Proposal) (lines []string) {
	for _, p := range list {
		lines = append(lines, "["+p.Scope+"] "+p.Line())
	}
	return lines
}

func TestLinesExplainWhatPagesShow(t *testing.T) {
	page, _ := pageOf(uses())
	res := learned(t, DefaultOptions(), 1, snapshot(page))
	want := []string{
		`[zzwiki] language qaa | "zzanisch"`,
		`[zzwiki] template zzetwa | arg 1 "etwa "`,
		`[zzwiki] template zzfest | text "immer gleich"`,
		`[zzwiki] template zzfußnote | drop`,
		`[zzwiki] template zzhöhe | arg-after 1 " m"`,
		`[zzwiki] template zzklammer | quoted 1 "‹|›"`,
		`[zzwiki] template zzleer | drop`,
		`[zzwiki] template zzname | alt 1 "name"`,
		`[zzwiki] template zzpunkt | text " · "`,
		`[zzwiki] template zzreihe | join 1 " und "`,
		`[zzwiki] template zztausend | number 1`,
		`[zzwiki] template zzzweites | arg 2`,
	}
	if diff := cmp.Diff(want, linesOf(res.Proposals)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{`[zzwiki] language la | "lateinsch"`, `[zzwiki] template circa | arg 1 "zirka "`}, linesOf(res.Contradictions)); diff != "" {
		t.Errorf("contradictions, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"[zzwiki] template zzzufall | "}, linesOf(res.OpenTemplates)); diff != "" {
		t.Errorf("open, -want +got:\n%s", diff)
	}
	if res.Templates != res.Known+res.Proposed+res.Disputed+res.Rare+res.Open || res.Known != 2 || res.Proposed != 11 || res.Disputed != 2 || res.Rare != 2 || res.Open != 1 || res.Uses != 87 || res.Unsampled != 0 {
		t.Errorf("counts: %+v", res)
	}
	if p := res.Contradictions[1]; !strings.HasPrefix(p.Known, "template circa | circa (") || p.KnownExplained != 0 || p.Explained != 5 {
		t.Errorf("contradiction: %+v", p)
	}
}

// The file that is proposed makes the wikitext of the pages show what their HTML
// shows.
func TestTheFileGivesTheTextOfTheHTML(t *testing.T) {
	var list []use
	for _, u := range uses() {
		switch u.name {
		case "Zzzufall", "circa", "Zzselten", "Zzzweimal", "lang-la":
		default:
			list = append(list, u)
		}
	}
	page, source := pageOf(list)
	var want string
	for doc, err := range wikihtml.NewReader(inputOf(snapshot(page)), wiki.DefaultOptions()).Documents() {
		if err != nil {
			t.Fatal(err)
		}
		want = strings.Clone(doc.Text)
	}
	text := learned(t, DefaultOptions(), 1, snapshot(page)).AppendFile(nil, "x\n[evil]")
	file, err := rendering.Parse("learned.txt", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	show := func(files ...*rendering.File) string {
		o := wikitext.DefaultOptions()
		o.Rendering = append([]*rendering.File{labels(t)}, files...)
		return string(wikitext.NewScanner(o).AppendText(nil, []byte(source), wikitext.Page{Lang: "de", Wiki: "zzwiki"}))
	}
	if show() == want {
		t.Error("the data know all templates: the test shows nothing")
	}
	clean := func(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }
	if diff := cmp.Diff(strings.Split(clean(want), "\n"), strings.Split(clean(show(file)), "\n")); diff != "" {
		t.Errorf("-HTML +wikitext:\n%s\n%s", diff, text)
	}
	if again := learned(t, Options{MinUses: 3, MinExplained: 0.9, Known: []*rendering.File{file}}, 1, snapshot(page)); len(again.Proposals)+len(again.Contradictions) > 0 {
		t.Errorf("with the file there is nothing to learn: %v %v", linesOf(again.Proposals), linesOf(again.Contradictions))
	}
}

func TestTheLimitsDecideWhatIsProposed(t *testing.T) {
	many := func(n int, name, shows string, wrong int) (list []use) {
		for i := range n {
			u := use{name, fmt.Sprint(i + 2), fmt.Sprintf(shows, i+2)}
			if i < wrong {
				u.shows = "anders " + fmt.Sprint(i*i)
			}
			list = append(list, u)
		}
		return list
	}
	for _, test := range []struct {
		o           Options
		list        []use
		lines, open int
	}{
		{DefaultOptions(), many(3, "Zzx", "um %d", 0), 1, 0},
		{DefaultOptions(), many(2, "Zzx", "um %d", 0), 0, 0},
		{DefaultOptions(), many(10, "Zzx", "um %d", 1), 1, 0},
		{DefaultOptions(), many(10, "Zzx", "um %d", 2), 0, 1},
		{Options{MinUses: 3, MinExplained: 0.8}, many(10, "Zzx", "um %d", 2), 1, 0},
		{Options{MinUses: 2, MinExplained: 1}, many(2, "Zzx", "um %d", 0), 1, 0},
		{Options{MinUses: 11, MinExplained: 0.9}, many(10, "Zzx", "um %d", 0), 0, 0},
	} {
		page, _ := pageOf(test.list)
		if res := learned(t, test.o, 1, snapshot(page)); len(res.Proposals) != test.lines || len(res.OpenTemplates) != test.open {
			t.Errorf("%+v with %d uses: %v, %d open", test.o, len(test.list), linesOf(res.Proposals), len(res.OpenTemplates))
		}
	}
	for _, o := range []Options{{0, 0.9, nil}, {3, 0.5, nil}, {3, 1.1, nil}} {
		if o.Validate() == nil {
			t.Errorf("%+v is valid", o)
		}
	}
}

// The result does not depend on the order of pages or the number of workers, even
// if the table has no room for all pairs.
func TestTheResultDoesNotDependOnTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var list []wikihtml.Transclusion
	for i := range 4000 {
		name := fmt.Sprintf("t%d", random.IntN(1+i%200))
		arg := random.IntN(40)
		list = append(list, wikihtml.Transclusion{Page: fmt.Sprintf("w:%d", i), Wiki: "zzwiki", Lang: "de", Name: name, Call: fmt.Sprintf("{{%s|%d}}", name, arg), Text: fmt.Sprintf("um %d", arg)})
	}
	for _, room := range []int{1 << 20, 600, 150, 20} {
		var want []Template
		for try := range 4 {
			table := NewTable()
			table.maxPairs = room
			for _, i := range random.Perm(len(list)) {
				table.Add(&list[i])
			}
			got := table.Templates()
			pairs, uses := 0, table.unkept
			for _, template := range got {
				pairs += len(template.Pairs)
				uses += template.Uses
			}
			if pairs > room || pairs != table.pairs || uses != int64(len(list)) || len(got) == 0 {
				t.Errorf("room for %d: %d pairs, %d uses", room, pairs, uses)
			}
			if try == 0 {
				want = got
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Pair{})); diff != "" {
				t.Fatalf("room for %d: another order gives something else:\n%s", room, diff)
			}
		}
	}
	var snapshots []string
	all := uses()
	for i := range 8 {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		page, _ := pageOf(all)
		snapshots = append(snapshots, snapshot(strings.Repeat("<p>x</p>", i)+page))
	}
	one := learned(t, DefaultOptions(), 1, snapshots...).AppendFile(nil, "x")
	if many := learned(t, DefaultOptions(), 4, snapshots...).AppendFile(nil, "x"); !bytes.Equal(one, many) {
		t.Errorf("with 4 workers:\n%s\nwith 1:\n%s", many, one)
	}
}

// Names that a file cannot hold, or that would be patterns, are not proposed, and
// whatever a page shows, the file can be parsed.
func FuzzPropose(f *testing.F) {
	f.Add("Höhe", "5", "5 m", "dewiki")
	f.Add("a*", "x|y", "x\u2028[de]", "[x]")
	f.Add(`"`, "\\", `"\|`, "")
	f.Add("#c", "|=|", "|", "DE wiki")
	f.Fuzz(func(t *testing.T, name, arg, shows, wikiName string) {
		table := NewTable()
		for i := range 4 {
			u := wikihtml.Transclusion{Page: "p", Wiki: wikiName, Lang: "de", Name: wikitext.TemplateName(name), Text: strings.ReplaceAll(shows, "$", fmt.Sprint(i))}
			u.Call = fmt.Sprintf("{{%s|%s|%d}}", u.Name, arg, i)
			table.Add(&u)
			u.Name, u.Call = "zz2"+u.Name, fmt.Sprintf("{{zz2%s|%d}}", u.Name, i)
			table.Add(&u)
		}
		res := table.Propose(DefaultOptions())
		if res.Templates != res.Known+res.Proposed+res.Disputed+res.Rare+res.Open {
			t.Errorf("counts: %+v", res)
		}
		text := res.AppendFile(nil, arg)
		file, err := rendering.Parse("learned.txt", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(file.Entries) != len(res.Proposals) {
			t.Errorf("%d lines, want %d:\n%s", len(file.Entries), len(res.Proposals), text)
		}
	})
}

func TestNamesOfLanguagesAreFoundInLabels(t *testing.T) {
	for _, test := range []struct{ text, body, form, want string }{
		{"Deutsch: Wort", "Wort", "{name}: ", "Deutsch"},
		{"deutsch Wort", "Wort", "{lower} ", "deutsch"},
		{"en allemand : Wort", "Wort", "en {name} : ", "allemand"},
		{"Wort", "Wort", "{name}: ", ""},
		{"Deutsch: ", "", "{name}: ", ""},
		{"a: b: Wort", "Wort", "{name}: ", ""},
	} {
		if got, ok := labelOf(test.text, test.body, test.form); got != test.want || ok != (got != "") {
			t.Errorf("%q, %q, %q: got %q, want %q", test.text, test.body, test.form, got, test.want)
		}
	}
}
