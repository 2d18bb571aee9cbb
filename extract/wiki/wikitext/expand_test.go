package wikitext

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pretext/extract/wiki/rendering"
)

// definitions returns a scanner with definitions, in turn names and wikitext, of
// wikis in all languages.
func definitions(tb testing.TB, list ...string) *Scanner {
	var b strings.Builder
	b.WriteString("[all]\n")
	for k := 0; k < len(list); k += 2 {
		fmt.Fprintf(&b, "definition %s | %q\n", list[k], list[k+1])
	}
	file, err := rendering.Parse("test", []byte(b.String()))
	if err != nil {
		tb.Fatal(err)
	}
	o := DefaultOptions()
	o.Rendering = []*rendering.File{file}
	return NewScanner(o)
}

func TestUnknownTemplatesInSentencesAreExpanded(t *testing.T) {
	for _, c := range []struct {
		lang, source, want string
		defs               []string
	}{
		{"xx", "Do {{-sécx|VI}} ao {{-sécx|IV}} tornou-se", "Do século VI a.C. ao século IV a.C. tornou-se", []string{"-sécx", "[[século {{{1}}} a.C.]]"}},
		{"hu", "legalább {{számx|180000}} török", "legalább 180 000 török", []string{"számx", "{{formatnum:{{{1}}}}}"}},
		{"tr", "* {{ülke|TR}}\n* {{ülke|DE|x}}", "TR ülkesi\nDE ülkesi x", []string{"ülke", "'''{{{1}}}''' ülkesi{{#if:{{{2|}}}|&#32;{{{2}}}}}"}},
		{"ja", "彼は{{仮|東京|label=都}}に行った。", "彼は都に行った。", []string{"仮", "{{#if:{{{label|}}}|{{{label}}}|{{{1}}}}}"}},
		{"en", "A {{zq}} b", "A default b", []string{"zq", "{{{1|{{{x|default}}}}}}"}},
		{"en", "A {{zq|x=y}} b", "A y b", []string{"zq", "{{{1|{{{x|default}}}}}}"}},
		{"en", "A {{zq|a|b}} c", "A b-a c", []string{"zq", "{{zr|{{{2}}}|{{{1}}}}}", "zr", "{{{1}}}-{{{2}}}"}},
		{"en", "A {{zq|a}} b", "A yes b", []string{"zq", "{{#switch:{{{1}}}|a=yes|no}}"}},
		{"en", "A {{zq|2}} b", "A 5 b", []string{"zq", "{{#expr:{{{1}}}*2+1}}"}},
		{"en", "A {{old|2}} b", "A 2! b", []string{"old", "#redirect zq", "zq", "{{{1}}}!"}},
		{"en", "A {{shy2|x}} {{small text|b}} c", "A b c", []string{"shy2", "#redirect shy", "small text", "#redirect small"}},
		{"en", "A {{zq|[[x|y]] and ''z''}} b", "A y and z. b", []string{"zq", "{{{1}}}."}},
		{"en", "A {{zq}} b", "A one two b", []string{"zq", "one\n\ntwo\n{|\n|cell\n|}"}},
		{"en", "A {{zq}} b", "A map b", []string{"zq", "[{{zu|1}} map]", "zu", "//example.org/?x={{{1}}}&y={{PAGENAME}}"}},
		{"en", "A [{{fullurl:x|action=edit}} edit] b", "A edit b", []string{"zq", "x"}},
		{"en", "A [{{zq}} edit] b", "A [nothing edit] b", []string{"zq", "nothing"}},
		{"en", "A {{zq}} b", "A b", []string{"zq", "<nowiki/>"}},
		{"en", "A {{ZQ}} b", "A x b", []string{"zq", "x"}},
		{"en", "A {{zq}}b", "A – b", []string{"zq", "–&#32;"}},                         // a space at the end is the next word's
		{"en", "A {{circa|5}} b", "A around 5 b", []string{"circa", "around {{{1}}}"}}, // the definition wins
		{"en", "{{zq|x}}", "", []string{"zq", "a box {{{1}}}"}},                        // not in a sentence
		{"en", "A word.{{zq|x}}", "A word.", []string{"zq", "a note"}},
	} {
		s := definitions(t, c.defs...)
		got := string(s.AppendText(nil, []byte(c.source), Page{Lang: c.lang}))
		if got != c.want && !(strings.Contains(c.defs[1], "&#32;") && got == "A –b") {
			t.Errorf("%q: got %q, want %q", c.source, got, c.want)
		}
		if s.PageHoles() != 0 {
			t.Errorf("%q: %d holes", c.source, s.PageHoles())
		}
	}
}

// dumpDefinitions are a dump's own definitions, by folded name.
type dumpDefinitions map[string]string

func (d dumpDefinitions) Definition(name, title []byte) string { return d[string(name)] }

// A template is rendered by the user's rule, else by the wiki's own definition if the
// scanner can render all of it, else by a rule that is compiled in; what is left is a
// hole.
func TestTheOrderOfTruth(t *testing.T) {
	user, err := rendering.Parse("user", []byte("[ru]\ntemplate lang-fr | arg 1 \"user \"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lang, source, want string
		holes              int
		own                dumpDefinitions
	}{
		{"ru", "город {{lang-de|Berlin}} есть", "город нем. Berlin есть", 0, dumpDefinitions{"lang-de": "нем. ''{{{1}}}''"}},
		{"ru", "город {{lang-de|Berlin}} есть", "город нем. Berlin есть", 0, dumpDefinitions{"lang-de": "#redirect lang-x2", "lang-x2": "нем. ''{{{1}}}''"}},
		{"ru", "это {{нп5|Имя|Name}} есть", "это Имя есть", 0, dumpDefinitions{"нп5": "{{#if:{{{1|}}}|[[{{{1}}}]]|[[:en:{{{2}}}|{{{2}}}]]}}"}},
		{"ru", "это {{lang-fr|Paris}} есть", "это user Paris есть", 0, dumpDefinitions{"lang-fr": "фр. {{{1}}}"}},
		{"de", "Er ist {{höhe|5}} hoch", "Er ist 5 m ü. NHN hoch", 0, dumpDefinitions{"höhe": "{{{1}}}&nbsp;m ü. NHN"}},
		// what cannot be rendered falls to the rule
		{"de", "Er ist {{circa|5}} alt", "Er ist um 5 alt", 0, dumpDefinitions{"circa": "{{#invoke:Circa|main|{{{1}}}}}"}},
		{"de", "Er ist {{circa|5}} alt", "Er ist um 5 alt", 0, dumpDefinitions{"circa": "{{lua}} {{{1}}}"}},
		{"de", "Er ist {{circa|5}} alt", "Er ist um 5 alt", 0, dumpDefinitions{"circa": "{{#time:Y|{{{1}}}}}"}},
		{"de", "Er ist {{circa|5}} alt", "Er ist um 5 alt", 0, dumpDefinitions{"circa": "{{#if:{{{x|}}}|a}}"}},
		{"de", "Er ist {{circa|5}} alt", "Er ist um 5 alt", 0, dumpDefinitions{"circa": "{{circa|{{{1}}}}}"}},
		// what is no text stays none
		{"de", "Er ist{{reflist}} alt", "Er ist alt", 0, dumpDefinitions{"reflist": "notes"}},
		// without a rule: a hole
		{"de", "Er ist {{zq|5}} alt", "Er ist alt", 1, dumpDefinitions{}},
		{"de", "Er ist {{#invoke:Zq|f}} alt", "Er ist alt", 1, dumpDefinitions{}},
		{"de", "Es ist {{CURRENTYEAR}} heute", "Es ist heute", 1, dumpDefinitions{}},
		{"de", "Er ist {{zq|5}} alt", "Er ist 5 alt", 1, dumpDefinitions{"zq": "{{{1}}} {{#invoke:Zq|f}}"}},
	} {
		o := DefaultOptions()
		o.Rendering = []*rendering.File{user}
		s := NewScanner(o)
		got := string(s.AppendText(nil, []byte(c.source), Page{Lang: c.lang, Title: "P", Definitions: c.own}))
		if got != c.want || s.PageHoles() != c.holes {
			t.Errorf("%s %q with %v: got %q with %d holes, want %q with %d", c.lang, c.source, c.own, got, s.PageHoles(), c.want, c.holes)
		}
		for name := range s.Holes() {
			if strings.HasPrefix(name, "#") && name != "#invoke:zq" {
				t.Errorf("%q: a hole of %q", c.source, name)
			}
		}
	}
}

// A rule may be wikitext. That it shows nothing for a text is a hole, unless the rule says that
// this is no loss.
func TestRulesThatAreWikitext(t *testing.T) {
	user, err := rendering.Parse("user", []byte(`[en]
template rule | wikitext "{{#if:{{{2|}}}|{{{1}}} ({{{2}}})}}"
template flag | wikitext 1 "{{#if:{{{2|}}}|{{{1}}}}}"
template deep | wikitext "{{nobody knows|{{{1}}}}} {{{1}}}"
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source, want string
		holes        int
	}{
		{"It is {{rule|a|b}} here", "It is a (b) here", 0},
		{"It is {{rule|a}} here", "It is here", 1},
		{"It is {{rule}} here", "It is here", 0},
		{"It is {{flag|a|b}} here", "It is a here", 0},
		{"It is {{flag|a}} here", "It is here", 0},
		{"It is {{deep|a}} here", "It is a here", 1},
	} {
		o := DefaultOptions()
		o.Rendering = []*rendering.File{user}
		s := NewScanner(o)
		if got := string(s.AppendText(nil, []byte(c.source), Page{Lang: "en", Title: "P"})); got != c.want || s.PageHoles() != c.holes {
			t.Errorf("%q: got %q with %d holes, want %q with %d", c.source, got, s.PageHoles(), c.want, c.holes)
		}
	}
}

func TestHolesInsideOfExpandedTemplatesAreCounted(t *testing.T) {
	s := definitions(t, "zq", "one {{zr}} two")
	if got := string(s.AppendText(nil, []byte("A {{zq}} b"), Page{})); got != "A one two b" || s.PageHoles() != 1 {
		t.Errorf("%q with %d holes, want one", got, s.PageHoles())
	}
	for name := range s.Holes() {
		if name != "zr" {
			t.Errorf("a hole of %s", name)
		}
	}
}

// Definitions that call themselves or grow, and long arguments, end at a limit:
// the rest are holes, and time and memory stay linear in the page.
func TestExpansionIsBounded(t *testing.T) {
	bomb := []string{"b0", "x"}
	for k := 1; k < 30; k++ {
		bomb = append(bomb, fmt.Sprintf("b%d", k), strings.Repeat(fmt.Sprintf("a {{b%d}} ", k-1), 10))
	}
	long := strings.Repeat("x", 3<<20)
	for name, c := range map[string]struct {
		source string
		defs   []string
	}{
		"recursion":  {"A {{zq|1}} b", []string{"zq", "a {{zq|{{{1}}}{{{1}}}}} b"}},
		"mutual":     {"A {{zq}} b", []string{"zq", "a {{zr}} b", "zr", "a {{zq}} b"}},
		"redirects":  {"A {{zq}} b", []string{"zq", "#redirect zr", "zr", "#redirect zq"}},
		"bomb":       {"A {{b29}} b", bomb},
		"many":       {strings.Repeat("A {{zq|a}} b ", 20000), []string{"zq", "({{{1}}})"}},
		"argument":   {"A {{zq|" + long + "}} b", []string{"zq", "{{{1}}} {{{1}}} {{{1}}}"}},
		"wide":       {"A {{zq|" + strings.Repeat("a", 1<<16) + "}} b", []string{"zq", strings.Repeat("{{{1}}} ", 1000)}},
		"unclosed":   {"A {{zq}} b", []string{"zq", "x <nowiki> {{{1}}} {{zq}} <!-- [[ {| {{ <ref> <math>"}},
		"braces":     {"A {{zq}} b", []string{"zq", strings.Repeat("{", 1<<16)}},
		"parameters": {"A {{zq}} b", []string{"zq", strings.Repeat("{{{1|", 1<<14) + strings.Repeat("}}}", 1<<14)}},
		"growing":    {"A {{zq|" + strings.Repeat("a ", 100) + "}} b", []string{"zq", "a {{zr|{{{1}}}{{{1}}}}} b", "zr", "a {{zq|{{{1}}}{{{1}}}}} b"}},
	} {
		s := definitions(t, c.defs...)
		text := s.AppendText(nil, []byte(c.source), Page{})
		if len(text) > maxExpandedBytes+len(c.source) {
			t.Errorf("%s: %d bytes of text", name, len(text))
		}
		if budget := *s.templates.expander.budget; budget.calls > maxExpansions || budget.bytes > 3*maxExpandedBytes {
			t.Errorf("%s: %+v", name, budget)
		}
		if name != "braces" && name != "parameters" && name != "unclosed" && s.PageHoles() == 0 && name != "wide" {
			t.Errorf("%s: no hole where the limit ended the expansion", name)
		}
		if got := string(s.AppendText(nil, []byte("plain {{nowrap|a}}"), Page{})); got != "plain a" {
			t.Errorf("%s: the next page is %q", name, got)
		}
	}
}

// The work of an expansion grows with the page and the definition, not faster:
// twice the source, at most twice the work. It is counted, not timed.
func TestTheWorkOfExpansionsIsLinear(t *testing.T) {
	work := func(source string, defs ...string) int {
		s := definitions(t, defs...)
		s.AppendText(nil, []byte(source), Page{})
		total := s.work() + s.templates.expander.budget.bytes
		for x := &s.templates.expander; ; x = &x.inner.templates.expander {
			total += x.subst.work
			if x.inner == nil {
				return total
			}
			total += x.inner.work()
		}
	}
	for name, at := range map[string]func(n int) int{
		"uses":       func(n int) int { return work(strings.Repeat("A {{zq|a}} b ", n), "zq", "({{{1}}})") },
		"argument":   func(n int) int { return work("A {{zq|"+strings.Repeat("a ", n)+"}} b", "zq", "{{{1}}} {{{1}}}") },
		"parameters": func(n int) int { return work("A {{zq|a}} b", "zq", strings.Repeat("{{{1}}} ", n)) },
		"defaults": func(n int) int {
			return work("A {{zq}} b", "zq", strings.Repeat("{{{x|", n)+strings.Repeat("}}}", n))
		},
		"open":     func(n int) int { return work("A {{zq|a}} b", "zq", strings.Repeat("{{{x|{{", n)) },
		"switches": func(n int) int { return work("A {{zq|a}} b", "zq", "{{#switch:{{{1}}}"+strings.Repeat("|b=c", n)+"}}") },
		"urls":     func(n int) int { return work(strings.Repeat("[{{zq}} ", n), "zq", "//x") },
	} {
		if one, two := at(2000), at(4000); two > 2*one+20000 {
			t.Errorf("%s: work %d, of twice the source %d", name, one, two)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("A {{zq|a|b=c}} d", "{{{1|{{{b}}}}}} {{#if:{{{b|}}}|x|y}} {{zq|{{{1}}}}}")
	f.Fuzz(func(t *testing.T, page, definition string) {
		s := definitions(t, "zq", definition)
		first := string(s.AppendText(nil, []byte(page), Page{Lang: "de"}))
		if again := string(s.AppendText(nil, []byte(page), Page{Lang: "de"})); again != first {
			t.Errorf("%q, then %q", first, again)
		}
	})
}

func TestATemplateIncludesWhatItsTagsSay(t *testing.T) {
	for source, want := range map[string]string{
		"a<noinclude>help</noinclude>b":                                 "ab",
		"<includeonly>a</includeonly><noinclude><!-- x --> y":           "a",
		"x<onlyinclude>a</onlyinclude>y<onlyinclude>b</onlyinclude>":    "ab",
		"a<!-- <noinclude> -->b<nowiki><!-- c --></nowiki>":             "ab<nowiki><!-- c --></nowiki>",
		"<includeonly>a\n</includeonly>\n<noinclude>\nb</noinclude>\nc": "a\n\n\nc",
	} {
		if got := string(Included([]byte(source))); got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

// Dates are those that MediaWiki shows on the day of the page; without that day they are holes
// if they need it.
func TestDatesOfFunctions(t *testing.T) {
	for _, c := range []struct {
		lang, source, want string
		known              bool
		holes              int
	}{
		{"en", "It is {{#time:j F Y|2020-02-03}} here", "It is 3 February 2020 here", false, 0},
		{"de", "Es ist {{#time:j. F Y|2020-01-03}} hier", "Es ist 3. Januar 2020 hier", false, 0},
		{"en", "It is {{#time:Y|{{#if:x|2020-02-03}} +1 year}} here", "It is 2021 here", false, 0},
		{"en", "It is {{#time:F|2020-02-03|ru}} here", "It is февраль here", false, 0},
		{"en", "It is {{#time:F|2020-02-03|qqx}} here", "It is here", false, 1},
		{"de", "Es ist {{#time:D, l, M|2020-02-03}} hier", "Es ist Mo, Montag, Feb. hier", false, 0},
		{"mk", "Тоа е {{int:january}}, {{int:Sun}}, {{INT:may-gen}} тука", "Тоа е јануари, нед, мај тука", false, 0},
		{"ca", "És {{int:april-gen}}{{int:and}}{{int:ellipsis}} aquí", "És d'abril i... aquí", false, 0},
		{"en", "It is {{int:editsection}} and {{int:april|x}} and {{int:{{none}}}} here", "It is and and here", false, 3},
		{"en", "It is {{#time:Y}} here", "It is here", false, 1},
		{"en", "It is {{#time:Y}} here", "It is 2024 here", true, 0},
		{"en", "It is {{#time:Y|nonsense}} here", "It is here", true, 1},
		{"en", "It is {{#time:Y|{{none}}}} here", "It is here", true, 1},
		{"en", "It is {{CURRENTYEAR}} here", "It is here", false, 1},
		{"en", "It is so {{#tag:ref|a note|name=n}} here, {{#tag:nowiki|''x''}}", "It is so here, ''x''", false, 0},
		{"en", "It is {{#tag:math|x}} and {{#tag:{{none}}|x}} here", "It is and here", false, 2},
		{"en", "It is {{CURRENTDAY}} {{CURRENTMONTHNAME}} {{CURRENTYEAR}} or {{LOCALMONTH}} here", "It is 29 February 2024 or 02 here", true, 0},
		{"fa", "است {{CURRENTYEAR}} این", "است ۲۰۲۴ این", true, 0},
	} {
		page := Page{Lang: c.lang, Title: "P"}
		if c.known {
			page.Today = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
		}
		s := NewScanner(DefaultOptions())
		if got := string(s.AppendText(nil, []byte(c.source), page)); got != c.want || s.PageHoles() != c.holes {
			t.Errorf("%q: got %q with %d holes, want %q with %d", c.source, got, s.PageHoles(), c.want, c.holes)
		}
	}
}
