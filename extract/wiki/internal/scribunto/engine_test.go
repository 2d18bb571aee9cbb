package scribunto

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"pretext/extract/wiki/internal/lua"
)

// A wiki is a host with modules. Its templates show their own source in brackets.
type wiki map[string]string

func (w wiki) Module(title string) string { return w[title] }
func (w wiki) LanguageName(code string) string {
	return map[string]string{"de": "German", "fr": "French"}[code]
}
func (w wiki) Expand(text string, f *Frame) string {
	if f != nil {
		for _, a := range f.Args {
			text = strings.ReplaceAll(text, "{{{"+a.Name+"}}}", a.Value)
		}
	}
	text = strings.ReplaceAll(text, "{{formatnum:1234567}}", "1,234,567")
	return strings.NewReplacer("{{!}}", "|", "{{", "⟨", "}}", "⟩").Replace(text)
}

var testPage = Page{Title: "Some page", Wiki: "enwiki", Lang: "en", Today: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC),
	Namespaces: map[int]string{0: "", 1: "Talk", 10: "Template", 14: "Category", 828: "Module"}}

// arguments returns arguments for "a", "k=v" and so on.
func arguments(list ...string) (args []Arg) {
	place := 0
	for _, a := range list {
		name, value, named := strings.Cut(a, "=")
		if !named {
			place++
			name, value = strconv.Itoa(place), a
		}
		args = append(args, Arg{name, value})
	}
	return args
}

func invoke(w wiki, module, function string, args ...string) (string, error) {
	e := NewEngine()
	e.Begin(testPage)
	return e.Invoke(Host{w.Module, w.Expand, w.LanguageName}, module, function, &Frame{Title: "Module:" + module, Args: arguments(args...),
		Parent: &Frame{Title: "Template:Outer", Args: arguments("p1", "name=p2", "t={{x|y}}")}})
}

// reasonOf returns the reason of a failure, or "".
func reasonOf(err error) string {
	if f := (*lua.Failure)(nil); errors.As(err, &f) {
		return f.Reason
	}
	return ""
}

func TestTheLibraryOfScribunto(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`return frame.args[1] .. frame.args.k .. frame.args["2"] .. tostring(frame.args.none)`, "avbnil"},
		{`local s = "" for k, v in pairs(frame.args) do s = s .. k .. "=" .. v .. ";" end return s`, "1=a;2=b;k=v;"},
		{`local s = "" for k, v in ipairs(frame.args) do s = s .. k .. v end return s`, "1a2b"},
		{`local p = frame:getParent() return p.args.name .. p.args.t .. p:getTitle() .. frame:getTitle() .. tostring(p:getParent())`, "p2⟨x|y⟩Template:OuterModule:Testnil"},
		{`return frame:preprocess("{{{1}}} {{t}}") .. frame:preprocess{text = "x"}`, "a ⟨t⟩x"},
		{`return frame:expandTemplate{title = "t", args = {"a|b", k = "[[c|d]]"}}`, "⟨t|1=a|b|k=[[c|d]]⟩"},
		{`return frame:callParserFunction("#if", "x", "y") .. frame:callParserFunction{name = "lc", args = "X"} .. frame:callParserFunction("#tag", "ref", "n")`, "⟨#if:x|y⟩⟨lc:X⟩<ref>n</ref>"},
		{`return frame:newChild{title = "x", args = {"q"}}.args[1] .. frame:extensionTag("ref", "r", {name = "n"}) .. frame:getArgument("k"):expand()`, `q<ref name="n">r</ref>v`},
		{`return mw.getCurrentFrame().args[1] .. mw.title.getCurrentTitle().text .. mw.title.new("template:foo_bar#x").prefixedText`, "aSome pageTemplate:Foo bar"},
		{`local t = mw.title.new("Talk:A/b") return t.nsText .. t.namespace .. t.text .. tostring(t.isTalkPage) .. t.subjectNsText .. tostring(t == mw.title.makeTitle(1, "A/b")) .. t.subpageText .. tostring(mw.title.new("a|b"))`, "Talk1A/btruetruebnil"},
		{`return tostring(mw.html.create("div"):addClass("a"):addClass("b"):css("color", "red"):attr("id", "<x>"):wikitext("t", 1):tag("br"):done():tag("span"):wikitext("u"):allDone())`,
			`<div class="a b" id="&lt;x&gt;" style="color:red">t1<br /><span>u</span></div>`},
		{`return mw.text.trim("  x ") .. mw.text.trim("__x", "_") .. table.concat(mw.text.split("a, b,c", ",%s*"), ";") .. table.concat(mw.text.split("a.b", ".", true), ";") .. table.concat(mw.text.split("äöü", ""), ";")`, "xxa;b;ca;bä;ö;ü"},
		{`return mw.text.listToText({1, 2, 3}) .. mw.text.encode("<&'>") .. mw.text.decode("&lt;&#65;&eacute;") .. mw.text.decode("&eacute;", true) .. mw.text.nowiki("[[a]]") .. mw.text.truncate("abcdef", 3) .. mw.text.tag("b", {}, "x")`,
			"1, 2 and 3&lt;&amp;&#039;&gt;<A&eacute;é&#91;&#91;a&#93;&#93;abc…<b>x</b>"},
		{`local j = mw.text.jsonDecode('{"a":[1,2,{"b":null}],"c":"d"}') return j.a[2] .. j.c .. mw.text.jsonEncode({1, 2, {x = "y"}})`, `2d[1,2,{"x":"y"}]`},
		{`return mw.ustring.len("äöü") .. mw.ustring.sub("äöü", 2, -1) .. mw.ustring.upper("äß") .. mw.ustring.find("aäb", "ä") .. mw.ustring.gsub("Ünï x", "%a", "L") .. mw.ustring.match("日本 語", "(%a+)%s") .. mw.ustring.codepoint("ä") .. mw.ustring.char(228) .. mw.ustring.toNFD("ä")`,
			"3öüÄß2LLL L日本228äa\u0308"},
		{`local s = "" for c in mw.ustring.gmatch("aäö", "[ä-ö]") do s = s .. c .. "." end for c in mw.ustring.gcodepoint("ab") do s = s .. c end return s`, "ä.ö.9798"},
		{`local l = mw.getContentLanguage() return l:formatNum(1234567) .. l:ucfirst("ärger") .. l:lc("ÄB") .. l:formatDate("j F Y", "2020-02-03") .. l:formatDate("Y-m-d") .. l:getCode() .. mw.language.fetchLanguageName("de", "en") .. mw.language.fetchLanguageName("en") .. mw.language.fetchLanguageName("none")`,
			"1,234,567Ärgeräb3 February 20202025-01-02enGerman"},
		{`return os.date("%Y-%m-%d", os.time{year = 2001, month = 2, day = 3}) .. os.date("!%Y") .. os.time() - os.time() .. os.date("*t").day .. os.clock()`, "2001-02-032025020"},
		{`require("strict") local ok, e = pcall(function() undeclared = 1 end) return tostring(ok)`, "false"},
		{`local u = require("libraryUtil") return tostring(pcall(u.checkType, "f", 1, "x", "number")) .. tostring(pcall(u.checkType, "f", 1, nil, "number", true))`, "falsetrue"},
		{`local d = mw.loadData("Module:Data") return d.x.y .. tostring(pcall(function() d.new = 1 end)) .. tostring(mw.loadData("Module:Data") == d)`, "zfalsetrue"},
		{`return mw.loadJsonData("Module:J.json").list[2]`, "b"},
		{`return require("Module:Lib").twice("x") .. require("module:Lib").twice("y") .. tostring(pcall(require, "Module:None"))`, "xxyyfalse"},
		{`return mw.uri.encode("a b&c") .. mw.uri.encode("ä", "PATH") .. mw.uri.anchorEncode("a b") .. tostring(mw.uri.fullUrl("A b"))`, "a+b%26c%C3%A4a_b//enwiki/wiki/A_b"},
		{`return mw.site.namespaces[10].name .. mw.site.namespaces.Module.id .. mw.site.namespaces[1].subject.id`, "Template8280"},
		{`return require("bit32").band(12, 10) .. require("bit32").bor(12, 10) .. require("bit32").bxor(12, 10) .. require("bit32").lshift(1, 4)`, "814616"},
		{`return mw.message.newRawMessage("$1-$2", "a", "b"):plain() .. tostring(mw.message.new("x"):exists())`, "a-bfalse"},
		{`local c = mw.clone({1, {2}}) return c[2][1] .. tostring(io) .. tostring(loadstring) .. tostring(coroutine) .. tostring(os.getenv) .. tostring(os.execute) .. tostring(debug.getinfo)`, "2nilnilnilnilnilnil"},
		{`return tostring(mw.wikibase ~= nil) .. type(package.loaded)`, "truetable"},
	} {
		w := wiki{"Test": "local p = {} function p.f(frame) " + c.body + " end return p", "Data": `return {x = {y = "z"}}`,
			"J.json": `{"list": ["a", "b"]}`, "Lib": `local l = {} function l.twice(s) return s .. s end return l`}
		if got, err := invoke(w, "Test", "f", "a", "b", "k=v"); err != nil || got != c.want {
			t.Errorf("%s\n got %q, %v\nwant %q", c.body, got, err, c.want)
		}
	}
}

func TestHostileData(t *testing.T) {
	deep := `local t = {} for i = 1, 1e5 do t = {t} end return t`
	for body, want := range map[string]string{
		`return mw.loadData("Module:Deep")`:                              lua.FailError,
		`return mw.clone(require("Module:Deep"))`:                        lua.FailError,
		`return mw.text.jsonEncode(require("Module:Deep"))`:              lua.FailError,
		`return mw.text.jsonDecode(("["):rep(1e5))`:                      lua.FailError,
		`return mw.loadData("Module:Self")`:                              lua.FailError,
		`return mw.loadData("Module:Functions")`:                         lua.FailError,
		`return require("Module:Test").f()`:                              lua.FailDepth,
		`local h = mw.html.create("a") h:node(h) return tostring(h)`:     lua.FailDepth,
		`return mw.wikibase.getEntity("Q1")`:                             failWikidata,
		`return mw.title.new("X"):getContent()`:                          failWiki,
		`return mw.message.new("x"):plain()`:                             failWiki,
		`return mw.text.split(("a"):rep(1e6), (".-"):rep(30) .. "b")[1]`: "steps",
		`local s = ("a"):rep(1e6) while true do mw.ustring.toNFD(s) end`: "memory",
		`while true do frame:preprocess("{{x}}") end`:                    "steps",
		`return '<strong class="error">no</strong>'`:                     failShown,
	} {
		w := wiki{"Test": "local p = {} function p.f(frame) " + body + " end return p", "Deep": deep, "Self": `local t = {} t.t = t return setmetatable(t, {})`,
			"Functions": `return {f = function() end}`}
		if _, err := invoke(w, "Test", "f"); reasonOf(err) != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
