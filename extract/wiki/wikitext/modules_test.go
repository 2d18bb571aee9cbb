package wikitext

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// withModules returns definitions of templates and, under "#module:…", of modules.
func withModules(list ...string) dumpDefinitions {
	d := dumpDefinitions{}
	for k := 0; k < len(list); k += 2 {
		name := strings.ToLower(list[k])
		d[name] = list[k+1]
	}
	return d
}

func TestModules(t *testing.T) {
	const echo = `local p = {}
		function p.echo(frame) local s = {} for k, v in pairs(frame.args) do s[#s + 1] = k .. "=" .. v end table.sort(s) return table.concat(s, ";") end
		function p.parent(frame) local a = frame:getParent().args return (a[1] or "-") .. "/" .. (a.x or "-") .. "/" .. frame:getParent():getTitle() end
		function p.markup() return "'''bold''' [[a|link]] {{zr}} <ref>note</ref>" end
		function p.expand(frame) return frame:expandTemplate{title = "zr", args = {"a|b"}} .. frame:preprocess("{{zr|{{{1|}}}}}") end
		function p.fail() error("no") end
		function p.empty() end
		function p.number(frame) return tostring(mw.getContentLanguage():parseFormattedNumber(frame.args[1])) end
		function p.itself() return mw.language.fetchLanguageName("fr") end
		function p.list() return mw.text.listToText({"A", "B", "C"}) end
		function p.date() return mw.getContentLanguage():formatDate("j xg Y", "2020-02-03") .. mw.getContentLanguage():formatDate(" F", "2020-02-03") end
		function p.forms(frame) return mw.getContentLanguage():plural(5, "один", "два", "много") end
		function p.name(frame) return mw.title.getCurrentTitle().text .. mw.language.fetchLanguageName("fr", "de") .. frame:callParserFunction("lc", "ABC") end
		return p`
	for _, c := range []struct {
		lang, source, want string
		holes              int
		failed             string
		own                []string
	}{
		{"en", "It is {{#invoke:E|echo|a| b |k=v}} here", "It is 1=a;2=b;k=v here", 0, "", nil},
		{"en", "It is {{#Invoke: E | parent }} here", "It is -/-/P here", 0, "", nil},
		{"en", "It is {{zq|p|x=q}} here", "It is p/q/Template:zq here", 0, "", []string{"zq", "{{#invoke:E|parent}}"}},
		{"en", "It is {{zq|{{zr|in}}}} here", "It is <in>/-/Template:zq here", 0, "", []string{"zq", "{{#invoke:E|parent}}"}},
		{"en", "It is {{zq|v}} here", "It is 1=v here", 0, "", []string{"zq", "{{#invoke:E|echo|{{{1}}}}}"}},
		{"en", "It is {{#invoke:E|echo|{{#invoke:E|echo|x}}}} here", "It is 1=1=x here", 0, "", nil},
		{"en", "It is {{#invoke:E|markup}} here", "It is bold link {{zr}} here", 0, "", nil},
		{"en", "It is {{#if:{{#invoke:E|empty}}|yes|no}} here", "It is no here", 0, "", nil},
		{"en", "It is {{zq|w}} here", "It is <a|b><m> here", 0, "", []string{"zq", "{{#invoke:E|expand|m}}"}},
		{"de", "Es ist {{#invoke:E|name}} hier", "Es ist PFranzösischabc hier", 0, "", nil},
		// words of the wiki's language, or none
		{"en", "It is {{#invoke:E|list}} here", "It is A, B and C here", 0, "", nil},
		{"de", "Es ist {{#invoke:E|number|1.234,5}} hier", "Es ist 1234.5 hier", 0, "", nil},
		{"en", "It is {{#invoke:E|number|1,234.5}} here", "It is 1234.5 here", 0, "", nil},
		{"fr", "C'est {{#invoke:E|number|{{formatnum:1234.5}}}} ici", "C'est 1234.5 ici", 0, "", nil},
		{"fa", "است {{#invoke:E|number|۱٬۲۳۴٫۵}} این", "است 1234.5 این", 0, "", nil},
		{"en", "It is {{#invoke:E|number|abc}} here", "It is nil here", 0, "", nil},
		{"ru", "Это {{#invoke:E|list}} тут", "Это A, B и C тут", 0, "", nil},
		{"ltg", "Tys {{#invoke:E|list}} te", "Tys A, B i C te", 0, "", nil},
		{"ru", "Это {{#invoke:E|date}} тут", "Это 3 февраля 2020 февраль тут", 0, "", nil},
		{"ltg", "Tys {{#invoke:E|date}} te", "Tys 3 svacainis mieneša 2020 svacainis mieness te", 0, "", nil},
		{"ru", "Это {{#invoke:E|forms}} тут", "Это много тут", 0, "", nil},
		{"ltg", "Tys {{#invoke:E|forms}} te", "Tys много te", 0, "", nil}, // by the rules of Latvian, as {{plural:}}
		{"qqx", "Tys {{#invoke:E|forms}} te", "Tys te", 1, "wiki", nil},
		// words for substitution change nothing when a page is shown
		{"en", "It is {{safesubst:#invoke:E|echo|a}} and {{subst: #if: x|y}} and {{safesubst:zq|p|x=q}} here", "It is 1=a and y and p/q/Template:zq here", 0, "", []string{"zq", "{{#invoke:E|parent}}"}},
		{"en", "It is {{zq|p|x=q}} here", "It is p/q/Template:zq here", 0, "", []string{"zq", "{{{{{|safesubst:}}}#invoke:E|parent}}"}},
		{"en", "It is {{zq|v}} here", "It is yes v here", 0, "", []string{"zq", "{{ {{{|safesubst:}}}#if:{{{1|}}}|yes {{{1}}}|no}}"}},
		{"en", "It is {{zq|v}} here", "It is 1=v here", 0, "", []string{"zq", "{{safesubst:#invoke:E|echo|{{{1}}}}}"}},
		// what fails is the next in the order of truth, and at last a hole
		{"en", "It is {{#invoke:E|fail}} here", "It is here", 1, "error", nil},
		{"en", "It is {{#invoke:E|itself}} here", "It is here", 1, "wiki", nil},
		{"en", "It is {{#invoke:None|f}} here", "It is here", 1, "no_module", nil},
		{"en", "It is {{#invoke:E|none}} here", "It is here", 1, "no_function", nil},
		{"en", "It is {{zq}} here", "It is here", 1, "error", []string{"zq", "{{#invoke:E|fail}}"}},
		{"de", "Er ist {{circa|5}} alt", "Er ist um 5 alt", 0, "error", []string{"circa", "{{#invoke:E|fail}}"}},
		{"de", "Er ist {{circa|5}} alt", "Er ist 1=5 alt", 0, "", []string{"circa", "{{#invoke:E|echo|{{{1}}}}}"}},
		{"en", "It is {{#invoke:Loop|f}} here", "It is here", 1, "steps", nil},
		{"en", "It is {{#invoke:Deep|f}} here", "It is here", 1, "depth", nil},
		{"en", "It is {{#invoke:Wide|f}} here", "It is here", 1, "memory", nil},
		{"en", "It is {{#invoke:Broken|f}} here", "It is here", 1, "syntax", nil},
		{"en", "It is {{#invoke:Again|f}} here", "It is" + strings.Repeat(" x", 8) + " here", 1, "depth", nil},
		// a box is not rendered
		{"en", "{{#invoke:Loop|f}}", "", 0, "", nil},
	} {
		list := append([]string{"#module:e", echo, "zr", "&lt;{{{1}}}&gt;", "#module:loop", `local p = {} function p.f() while true do end end return p`,
			"#module:deep", `local p = {} function p.f() return p.f() + 1 end return p`, "#module:wide", `local p = {} function p.f() local s = "xxxxxxxx" while true do s = s .. s end end return p`,
			"#module:broken", `local p = {`, "#module:again", `local p = {} function p.f(frame) return frame:preprocess("x {{zagain}}") end return p`,
			"zagain", "{{#invoke:Again|f}}"}, c.own...)
		s := NewScanner(DefaultOptions())
		got := string(s.AppendText(nil, []byte(c.source), Page{Lang: c.lang, Title: "P", Definitions: withModules(list...)}))
		if got != c.want || s.PageHoles() != c.holes {
			t.Errorf("%q: got %q with %d holes, want %q with %d", c.source, got, s.PageHoles(), c.want, c.holes)
		}
		failed := ""
		for reason := range s.ModuleFailures() {
			failed = reason
		}
		if failed != c.failed {
			t.Errorf("%q: failed by %q, want %q", c.source, failed, c.failed)
		}
	}
}

// A page of calls that each take all they may ends at the limits of the page.
func TestAPageOfHostileCallsEnds(t *testing.T) {
	d := withModules("#module:loop", `local p = {} function p.f() while true do end end return p`, "zq", "{{#invoke:Loop|f}}")
	s := NewScanner(DefaultOptions())
	start := time.Now()
	source := "It " + strings.Repeat("is {{#invoke:Loop|f}} or {{zq}} ", 2000) + "."
	s.AppendText(nil, []byte(source), Page{Title: "P", Definitions: d})
	if n := s.PageHoles(); n != 4000 {
		t.Errorf("%d holes, want 4000", n)
	}
	if took := time.Since(start); took > 60*time.Second {
		t.Errorf("%v", took)
	}
}

// The text of a page is the same after other pages: what a scanner keeps changes nothing.
func TestModulesDoNotRememberPages(t *testing.T) {
	d := withModules("#module:count", `count = (count or 0) + 1 local data = mw.loadData("Module:Data") local p = {}
		function p.f(frame) string.x = (string.x or 0) + 1 return count .. string.x .. data.n .. math.random(1000) .. frame.args[1] end return p`,
		"#module:data", `return {n = 7}`)
	pages := []string{"A {{#invoke:Count|f|x}} b {{#invoke:Count|f|y}} c", "D {{#invoke:Count|f|z}} e"}
	var want []string
	for k, source := range pages {
		want = append(want, string(NewScanner(DefaultOptions()).AppendText(nil, []byte(source), Page{Title: fmt.Sprint(k), Definitions: d})))
	}
	s := NewScanner(DefaultOptions())
	for _, k := range []int{1, 0, 0, 1} {
		if got := string(s.AppendText(nil, []byte(pages[k]), Page{Title: fmt.Sprint(k), Definitions: d})); got != want[k] {
			t.Errorf("page %d: %q, want %q", k, got, want[k])
		}
	}
	if n := strings.Count(want[0], "117"); n != 2 {
		t.Errorf("%q: want a new environment for each call", want[0])
	}
}

func TestNamesOfModules(t *testing.T) {
	if got := ModuleName("Convert/Data"); got != "#module:convert/data" {
		t.Error(got)
	}
	calls := []string{"{{#invoke:a|b}}", "x {{ #Invoke:a}}", "{{#if:x|{{#invoke:a}}}}", "{{{{#invoke:a}}}}"}
	if slices.ContainsFunc(calls, func(s string) bool { return !CallsModule(s) }) || CallsModule("{{a}} #invoke:b") {
		t.Error("calls of modules")
	}
}

// The line of a headword is what the wiki's own module shows; a rule shows it where the dump
// lacks the module, or the module fails.
func TestHeadwordsAreThoseOfTheWiki(t *testing.T) {
	const module = `local p = {}
		function p.show(frame) local a = frame:getParent().args return (a.head or mw.title.getCurrentTitle().text) .. " (''plural'' " .. a[3] .. ")" end
		return p`
	for _, c := range []struct {
		own   []string
		want  string
		holes int
	}{
		{[]string{"head", "{{#invoke:Head|show}}", "#module:head", module}, "English\nNoun\nwren (plural wrens)\nA bird.", 0},
		{[]string{"head", "{{#invoke:Head|show}}"}, "English\nNoun\nwren (wrens)\nA bird.", 0},
		{[]string{"head", "{{#invoke:Head|none}}", "#module:head", module}, "English\nNoun\nwren (wrens)\nA bird.", 0},
		{nil, "English\nNoun\nwren (wrens)\nA bird.", 0},
	} {
		s := NewScanner(DefaultOptions())
		page := Page{Lang: "en", Wiki: "enwiktionary", Title: "wren", CaseSensitive: true, Definitions: withModules(c.own...)}
		got := string(s.AppendText(nil, []byte("==English==\n\n===Noun===\n{{head|en|noun|wrens}}\n\n# A bird."), page))
		if got != c.want || s.PageHoles() != c.holes {
			t.Errorf("%q: got %q with %d holes, want %q with %d", c.own, got, s.PageHoles(), c.want, c.holes)
		}
	}
}
