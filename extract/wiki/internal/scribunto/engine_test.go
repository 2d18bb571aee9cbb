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

func (w wiki) host() Host {
	return Host{Module: w.Module, Interwiki: func(prefix string) bool { return prefix == "de" }, Expand: w.Expand, LanguageName: w.LanguageName, Assume: func(what string) { w["assumed"] += what + ";" },
		HasTemplate: func(title string) bool { return title == "T" }}
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
	e, page := NewEngine(), testPage
	if w["lang"] != "" {
		page.Lang = w["lang"]
	}
	e.Begin(page)
	return e.Invoke(w.host(), module, function, &Frame{Title: "Module:" + module, Args: arguments(args...),
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
		{`return mw.text.listToText({1, 2, 3}) .. mw.text.encode("<&'>") .. mw.text.decode("&lt;&#65;&eacute;") .. mw.text.decode("&eacute;", true) .. mw.text.nowiki("[[a]]") .. mw.text.truncate("abcdefgh", 3) .. mw.text.tag("b", {}, "x")`,
			"1, 2 and 3&lt;&amp;&#039;&gt;<A&eacute;é&#91;&#91;a&#93;&#93;abc...<b>x</b>"},
		{`local j = mw.text.jsonDecode('{"a":[1,2,{"b":null}],"c":"d"}') return j.a[2] .. j.c .. mw.text.jsonEncode({1, 2, {x = "y"}})`, `2d[1,2,{"x":"y"}]`},
		{`return mw.ustring.len("äöü") .. mw.ustring.sub("äöü", 2, -1) .. mw.ustring.upper("äß") .. mw.ustring.find("aäb", "ä") .. mw.ustring.gsub("Ünï x", "%a", "L") .. mw.ustring.match("日本 語", "(%a+)%s") .. mw.ustring.codepoint("ä") .. mw.ustring.char(228) .. mw.ustring.toNFD("ä")`,
			"3öüÄSS2LLL L日本228äa\u0308"},
		{`local s = "" for c in mw.ustring.gmatch("aäö", "[ä-ö]") do s = s .. c .. "." end for c in mw.ustring.gcodepoint("ab") do s = s .. c end return s`, "ä.ö.9798"},
		{`local t = mw.title.new("de:some page") local u = mw.title.new("xx: y") return t.interwiki .. t.text .. tostring(t.isExternal) .. t.fullText .. u.interwiki .. u.text`, "desome pagetruede:some pageXx: y"},
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
		{`return mw.message.newRawMessage("$1-$2", "a", "b"):plain()`, "a-b"},
		{`return frame:callParserFunction("#time", "j F Y", "2020-02-03") .. frame:callParserFunction{name = "#time", args = {"Y-m-d"}}`, "3 February 20202025-01-02"},
		{`local l = mw.getContentLanguage() return l:plural(1, "a", "b") .. l:plural(5, {"a", "b"}) .. l:plural(0, "0=none", "a", "b") .. l:gender("male", "he", "she", "they") .. l:gender("female", "he", "she")`, "abnoneheshe"},
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

// Results are those that the test modules of Scribunto's repository expect (August 2026),
// where they have such a case.
func TestTheLibraryInItsCorners(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`return mw.text.encode("<b>foo", "o") .. mw.text.decode("&#102;&#x6F;&#00111;&lt &hearts;&nosuch;&amp;quot;", true) .. mw.text.decode("&eacute;&#xD800;")`, "<b>f&#111;&#111;foo&lt ♥&nosuch;&quot;&eacute;&#xD800;"},
		{`return mw.text.nowiki("* a\n!b\n----\n\n__x__ ~~~~~ ISBN 4;\n")`, "&#42; a\n&#33;b\n&#45;---\n&#10;_&#95;x_&#95; ~~&#126;~~ ISBN&#32;4&#59;&#10;"},
		{`return mw.text.tag("b", {x = true, y = false, n = 42}, "z") .. mw.text.tag{name = "br", content = false} .. mw.text.tag("i")`, `<b x n="42">z</b><br /><i>`},
		{`return mw.text.truncate("foobarbaz", 6) .. mw.text.truncate("foobarbaz", -3) .. mw.text.truncate("foobarbaz", -6, nil, true) .. mw.text.truncate("foobarbaz", 3, "!") .. mw.text.truncate("foobarbaz", 1, nil, true)`,
			"foobarbaz...baz...bazfoo!..."},
		{`return mw.text.jsonEncode({"a", {b = "<é"}}, mw.text.JSON_PRETTY)`, "[\n    \"a\",\n    {\n        \"b\": \"<é\"\n    }\n]"},
		{`return mw.text.jsonEncode({1, 2}, mw.text.JSON_PRESERVE_KEYS) .. mw.text.jsonEncode({[0] = 1, 2}) .. mw.text.jsonEncode({}) .. tostring(pcall(mw.text.jsonEncode, {[true] = 1})) .. tostring(pcall(mw.text.jsonDecode, "[1] x"))`,
			`{"1":1,"2":2}[1,2][]falsefalse`},
		{`return mw.text.jsonDecode('{"x": [1, "a, ]", 3, ], }', mw.text.JSON_TRY_FIXING).x[2]`, "a, ]"},
		{`return tostring(mw.html.create("div"):attr{a = 1}:css{b = 2}:addClass(nil)) .. tostring(mw.html.create()) .. tostring(pcall(mw.html.create, "a b")) .. tostring(pcall(function() mw.html.create("br"):wikitext("x") end)) .. tostring(pcall(function() mw.html.create("p"):attr("a", true) end))`,
			`<div a="1" style="b:2"></div>falsefalsefalse`},
		{`local d = mw.loadData("Module:Data") local x = {} for _, change in ipairs{function() d.x = 1 end, function() d.x.y = 1 end, function() rawset(d, "x", 1) end, function() table.insert(d.list, 1) end, function() table.sort(d.list) end, function() table.remove(d.list) end, function() setmetatable(d, {}) end} do x[#x + 1] = tostring(pcall(change)) end return table.concat(x, " ") .. d.x.y .. #d.list .. tostring(mw.loadData("Module:Data") == d)`,
			"false false false false false false falsez2true"},
		{`local meta = {__index = {k = "v"}} local c = mw.clone(setmetatable({}, meta)) return tostring(getmetatable(c) == meta) .. c.k`, "falsev"},
		{`for k = 1, 600 do mw.incrementExpensiveFunctionCount() end return ""`, ""},
		{`string.own = 1 return tostring(("").own) .. tostring(package.loaded.string == string)`, "niltrue"},
		{`local t = setmetatable({}, {__pairs = function() return 1, 2, 3, 4 end}) return select("#", pairs(t)) .. tostring(pcall(unpack, {}, 1, 8000)) .. select("#", unpack({}, 1, 7999))`, "3false7999"},
		{`require("strict") local _, e = pcall(function() return undeclared end) return e:match(": (.*)")`, "variable 'undeclared' is not declared"},
		{`return mw.ustring.byteoffset("fóo", 3) .. mw.ustring.byteoffset("fóo", 0, 3) .. mw.ustring.byteoffset("fóo", 1, -1) .. tostring(mw.ustring.byteoffset("foó", 1, -1)) .. mw.ustring.gsub("foo", "foo", "x%yz") .. ("foo"):gsub("foo", "x%yz") .. tostring(pcall(mw.ustring.char, 0x110000))`, "424nilx%yzxyzfalse"},
		{`return mw.hash.hashValue("sha1", "abc") .. mw.hash.hashValue("md5", "abc")`, "a9993e364706816aba3e25717850c26c9cd0d89d900150983cd24fb0d6963f7d28e17f72"},
		{`local u = mw.uri.new("http://user:pass@www.example.com:81/test?foo=1&bar&baz=1&baz=2#end") return u.protocol .. " " .. u.host .. " " .. u.port .. " " .. u.user .. " " .. u.path .. " " .. u.query.foo .. tostring(u.query.bar) .. #u.query.baz .. " " .. u.fragment .. " " .. u.authority .. " " .. tostring(u)`,
			"http www.example.com 81 user /test 1false2 end user:pass@www.example.com:81 http://user:pass@www.example.com:81/test?foo=1&bar&baz=1&baz=2#end"},
		{`return tostring(mw.uri.localUrl("A b", {action = "edit"})) .. tostring(mw.uri.canonicalUrl("A")) .. mw.uri.anchorEncode("__foo b__")`, "/w/index.php?title=A_b&action=edithttps://enwiki/wiki/Afoo_b"},
		{`local t = mw.title.new("Module talk:Test") t.fragment = "__a__ b " return t.fullText .. mw.title.getCurrentTitle().fragment .. mw.title.compare(t, mw.title.new("A")) .. t.pageLang:getCode()`, "Module talk:Test# a b1en"},
		{`local l = mw.getContentLanguage() return l:gender("male", "m", "f", "n") .. l:gender("female", {"m", "f"}) .. l:caseFold("iX") .. mw.language.new("tr"):ucfirst("ip") .. l:plural(1, "one") .. tostring(pcall(mw.language.new("[[x]]").lc, mw.language.new("[[x]]"), "a"))`, "mfIXİponefalse"},
		{`return mw.message.newRawMessage("$1 $2", {"a", "b"}):plain() .. mw.message.newRawMessage("($1)", mw.message.newRawMessage("bar")):plain()`, "a b(bar)"},
	} {
		w := wiki{"Test": "local p = {} function p.f(frame) " + c.body + " end return p", "Data": `return {x = {y = "z"}, list = {2, 1}}`}
		got, err := invoke(w, "Test", "f")
		if strings.Contains(c.body, "incrementExpensive") {
			if reasonOf(err) != lua.FailError {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s\n got %q, %v\nwant %q", c.body, got, err, c.want)
		}
	}
}

// What depends on rules of a language that is not the wiki's own ends the call, as what only a
// running wiki knows: words of another language must not appear in silence.
func TestRulesOfOtherLanguagesAreNotGuessed(t *testing.T) {
	for _, body := range []string{`mw.language.new("pl"):plural(2, "a", "b", "c")`, `mw.language.new("ru"):grammar("genitive", "x")`, `mw.language.new("de"):formatNum(1.5)`,
		`mw.language.new("de"):parseFormattedNumber("1,5")`, `mw.language.getFallbacksFor("kaa")`, `mw.language.new("sr-ec"):toBcp47Code()`, `mw.getContentLanguage():formatDuration(5)`,
		`mw.getContentLanguage():gender("SomeUser", "m", "f")`, `mw.hash.listAlgorithms()`, `mw.hash.hashValue("whirlpool", "x")`} {
		w := wiki{"Test": "local p = {} function p.f(frame) return " + body + " end return p"}
		if got, err := invoke(w, "Test", "f"); reasonOf(err) != failWiki {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
}

func TestListsInEveryLanguage(t *testing.T) {
	for lang, want := range map[string]string{"en": "1, 2 and 3|x...", "de": "1, 2 und 3|x…", "ja": "1、2 および 3|x…", "zh": "1、\u200b2和\u200b3|x…", "ar": "1، 2 و 3|x...",
		"simple": "1, 2 and 3|x...", "zh-yue": "1、2 同埋3|x...", "be-tarask": "1, 2 і 3|x..."} {
		page := testPage
		page.Lang = lang
		e := NewEngine()
		e.Begin(page)
		w := wiki{"Test": `local p = {} function p.f() return mw.text.listToText({1, 2, 3}) .. "|" .. mw.text.truncate("xxxxxxxxx", 1) end return p`}
		if got, err := e.Invoke(w.host(), "Test", "f", &Frame{Title: "Module:Test"}); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", lang, got, err, want)
		}
	}
	page := testPage
	page.Lang = "xx"
	e := NewEngine()
	e.Begin(page)
	w := wiki{"Test": `local p = {} function p.f() return mw.text.listToText({1, 2}) end return p`}
	if _, err := e.Invoke(w.host(), "Test", "f", &Frame{Title: "Module:Test"}); reasonOf(err) != failWiki {
		t.Errorf("a list in an unknown language: %v", err)
	}
}
