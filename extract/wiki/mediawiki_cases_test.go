package wiki

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// manyLanguages are those in which words and numbers are compared.
var manyLanguages = strings.Fields("en de fr es it pt nl pl ru uk cs sv fi hu tr ar fa hi ja zh ko el he bn ro ca da bg lt vi ga sl lv sr mt cy gd eo la ta ml ku de-ch simple")

// A caseList collects cases.
type caseList struct {
	cases []wikiCase
	r     *rand.Rand
}

// add adds a case: text in a sentence, and pages as titles and sources in turn.
func (l *caseList) add(lang, text string, pages ...string) {
	c := wikiCase{lang: lang, Title: "Some page", Text: "It is " + text + " here."}
	for k := 0; k < len(pages); k += 2 {
		if c.Pages == nil {
			c.Pages = map[string]string{}
		}
		c.Pages[pages[k]] = pages[k+1]
	}
	l.cases = append(l.cases, c)
}

func (l *caseList) pick(list ...string) string { return list[l.r.IntN(len(list))] }

// wikiCases returns what MediaWiki and we are compared on.
func wikiCases() []wikiCase {
	l := &caseList{r: rand.New(rand.NewPCG(31, 1))}
	for range 300 {
		l.add("en", "{{#expr:"+l.expression(3)+"}}")
	}
	for range 100 {
		l.add("en", "{{#ifexpr:"+l.expression(2)+"|yes|no}}")
	}
	l.languages()
	l.functions()
	for range 600 {
		l.templates()
	}
	l.dates()
	l.lua()
	return l.cases
}

func (l *caseList) languages() {
	for _, lang := range manyLanguages {
		for _, n := range []string{"1", "12", "123", "1234", "12345", "1234567", "-1234", "0.5", "1234.5678", "12345678.9", "1e10", "abc", "1,234", "007", "+5", "", "12 345", "1234 km", "a1234567", "-0", ".5", "5."} {
			l.add(lang, "{{formatnum:"+n+"}}")
			l.add(lang, "{{formatnum:"+n+"|R}}")
			l.add(lang, "{{formatnum:"+n+"|NOSEP}}")
		}
		for _, n := range []string{"0", "1", "2", "3", "5", "6", "11", "12", "21", "22", "100", "101", "1000000", "1.5", "-1", "1,000", "x"} {
			l.add(lang, "{{plural:"+n+"|a|b|c|d|e|f}}")
			l.add(lang, "{{plural:"+n+"|one|two}}")
		}
		l.add(lang, "{{plural:12|12=dozen|one|many}} {{plural:3|12=dozen|one|many}}")
		for _, word := range []string{"Wikipedia", "Википедия", "Wikitieto", "talo"} {
			for _, grammar := range []string{"genitive", "elative", "prepositional", "genitiv", "akuzativ", "illative", "nothing"} {
				l.add(lang, "{{grammar:"+grammar+"|"+word+"}}")
			}
		}
		l.add(lang, "{{gender:|he|she|they}} {{#language:de}} {{#language:fr|"+lang+"}} {{ns:4}} {{ns:10}} {{int:editsection}}")
		l.add(lang, "{{lc:ÀÉİIŠÑ ΣΑΣ}} {{uc:straße iıſ}} {{lcfirst:ÉI x}} {{ucfirst:éi}} {{ucfirst:i}} {{lc:I}}")
		l.add(lang, "{{CONTENTLANGUAGE}} {{#expr:1/4}} {{#expr:1234567.5}}")
	}
}

func (l *caseList) functions() {
	texts := []string{"", " ", "a", "A b", " a ", "x_y", "a/b/c", "ä&ö", "a#b", "[[x|y]]", "''it''", "1", "01", "1.0", "yes", "Talk:Ab c/d", "é", "<b>q</b>", "\"q\"", "a=b", "{{!}}", "50%", "a+b", "A:B"}
	for _, a := range texts {
		for _, f := range []string{"lc:", "uc:", "lcfirst:", "ucfirst:", "urlencode:", "anchorencode:", "#titleparts:", "#if:", "padleft:", "padright:", "#iferror:", "PAGENAME:", "FULLPAGENAME:", "BASEPAGENAME:", "SUBPAGENAME:", "ROOTPAGENAME:", "NAMESPACE:", "TALKPAGENAME:", "PAGENAMEE:", "formatnum:", "#ifexist:", "#rel2abs:", "ns:", "#tag:b", "#len:"} {
			l.add("en", "{{"+f+a+"}}")
		}
		for _, b := range texts {
			l.add("en", "{{#ifeq:"+a+"|"+b+"|same|other}} {{#switch:"+a+"|"+b+"=hit|rest}}")
		}
		for _, rest := range []string{"|1", "|2|1", "|-1", "|1|2", "||2", "|0", "|-2|-1"} {
			l.add("en", "{{#titleparts:"+a+rest+"}}")
		}
		for _, rest := range []string{"|3", "|5|x", "|7|ab", "|3|", "|-1", "|600|.", "|x"} {
			l.add("en", "{{padleft:"+a+rest+"}} {{padright:"+a+rest+"}}")
		}
		for _, rest := range []string{"|QUERY", "|PATH", "|WIKI"} {
			l.add("en", "{{urlencode:"+a+rest+"}}")
		}
		l.add("en", "{{#if:"+a+"|yes}} {{#if:"+a+"||no}} {{#if:"+a+"| yes | no }}")
		l.add("en", "{{#ifexist:"+a+"|yes|no}}")
		l.add("en", "{{#iferror:"+a+"|bad|good}} {{#iferror:{{#expr:"+a+"}}|bad|good}} {{#iferror:{{#expr:"+a+"}}|bad}} {{#iferror:{{#expr:"+a+"}}}}")
		l.add("en", "{{#ifexpr:"+a+"|yes|no}}")
	}
	for _, text := range []string{
		"{{PAGENAME}} {{FULLPAGENAME}} {{NAMESPACE}} {{BASEPAGENAME}} {{SUBPAGENAME}} {{ROOTPAGENAME}} {{TALKPAGENAME}} {{NAMESPACENUMBER}}", "{{CURRENTYEAR}} {{CURRENTMONTH}} {{CURRENTMONTHNAME}} {{CURRENTDAY}} {{CURRENTDAY2}} {{CURRENTDOW}} {{LOCALYEAR}}",
		"{{SITENAME}} {{SERVER}} {{SERVERNAME}} {{SCRIPTPATH}}", "{{!}} {{=}}", "{{ #if: x | {{!}} }}", "{{#if:x|a{{=}}b}}", "{{safesubst:uc:x}}", "{{SAFESUBST:lc:X}}",
		"{{#switch:x|x}}", "{{#switch:x|y=1|#default=2|z=3}}", "{{#switch:x|y=1|z}}", "{{#switch:x|y=1|x|z=3|4}}", "{{#switch:|=empty|x=1}}", "{{#switch:|x=1|rest}}", "{{#switch: x |  x  =  a  }}", "{{#switch:x|#default|y=3}}", "{{#switch:x|a=1|#default}}", "{{#switch:x|x|y}}",
		"{{#switch:1.0|1=a|b}}", "{{#switch:1e1|10=a|b}}", "{{#switch:a|A=x|y}}", "{{#switch:x|x=|y=2}}", "{{#switch:x|y = 1|x = a = b}}", "{{#switch:{{uc:x}}|X=up|low}}", "{{#switch:x|{{lc:X}}=yes|no}}", "{{#switch:x}}", "{{#switch:x|}}",
		"{{#if:|a}}", "{{#if:x}}", "{{#ifeq:a|a}}", "{{#ifeq:01|1|same|not}}", "{{#ifeq:\"01\"|\"1\"|same|not}}", "{{#ifeq:a|b|x}}", "{{#ifeq:|}}", "{{#ifeq:1e3|1000|y|n}}", "{{#ifeq: x | x |y|n}}",
		"{{#tag:ref|note}}", "{{#tag:nowiki|''x''}}", "{{#tag:poem|a}}", "{{#tag:span|x}}", "{{#tag:pre|x}}", "<nowiki>''x'' {{uc:a}}</nowiki>",
		"{{#expr:}}", "{{#expr:1+}}", "{{#expr:abc}}", "{{#expr:1 2}}", "{{#expr:2^0.5}}", "{{#expr:ln 10}}", "{{#expr:sin 1}}", "{{#expr:cos 0}}", "{{#expr:tan 1}}", "{{#expr:asin 1}}", "{{#expr:acos 0}}", "{{#expr:atan 1}}", "{{#expr:e}}", "{{#expr:pi}}", "{{#expr:exp 1}}", "{{#expr:1e-5}}", "{{#expr:1e-10*3}}", "{{#expr:10^20}}", "{{#expr:123456789*987654321}}", "{{#expr:0.1+0.2}}", "{{#expr:1/3}}", "{{#expr:2/3 round 2}}", "{{#expr:-2.5 round 0}}", "{{#expr:2.5 round 0}}", "{{#expr:1234.5 round -2}}", "{{#expr:1e15}}", "{{#expr:99999999999999}}", "{{#expr:1e14+1}}", "{{#expr:5 mod 3}}", "{{#expr:-5 mod 3}}", "{{#expr:5.5 fmod 2}}", "{{#expr:1.005 round 2}}", "{{#expr:&minus;5}}", "{{#expr:3 &lt; 5}}", "{{#expr:{{formatnum:1,234|R}}+1}}", "{{#expr:{{#expr:1+1}}*2}}", "{{#expr:1.}}", "{{#expr:1.5e3}}", "{{#expr:1e}}", "{{#expr:(1}}", "{{#expr:1)}}", "{{#expr:trunc -1.5}}", "{{#expr:not 0}}", "{{#expr:3 = 3.0}}", "{{#expr:5 div 2}}", "{{#expr:0^0}}", "{{#expr:2^-1}}", "{{#expr:(-8)^(1/3)}}", "{{#expr:2 * -3}}", "{{#expr:2--3}}", "{{#expr:1e3}}", "{{#expr:.5}}", "{{#expr:07}}", "{{#expr:1,000}}", "{{#expr:1<2}}",
		"{{#ifexpr:1 = 1|y|n}}", "{{#ifexpr:|y|n}}", "{{#ifexpr:a|y|n}}", "{{#ifexpr:1/0|y|n}}", "{{#ifexpr:2|y}}", "{{#ifexpr:0|y}}",
		"{{#rel2abs:/x}}", "{{#rel2abs:../x|A/B}}", "{{#rel2abs:./x|A/B}}", "{{#rel2abs:x|A}}",

		"{{DEFAULTSORT:x}}", "{{DISPLAYTITLE:x}}", "__NOTOC__", "{{NUMBEROFARTICLES}}", "{{#special:x}}", "{{#speciale:x}}", "{{PAGESIZE:x}}", "{{REVISIONID}}", "{{PROTECTIONLEVEL:edit}}", "{{#unknown:x|y}}", "{{lc}}", "{{lc:}}", "{{uc: {{lc:A}} }}", "{{formatnum:{{#expr:1000*2}}}}", "{{plural:{{#expr:1+0}}|one|many}}", "{{padleft:{{#expr:7}}|3}}", "{{padleft:|3|xy}}", "{{padleft:7|3|00}}", "{{padleft:é|3|ü}}",
		"{{ucfirst:{{lc:ABC}}}}", "{{lc:[[Foo|BAR]]}}", "{{uc:<b>x</b>}}", "{{uc:&amp;}}", "{{lc:&Eacute;}}", "{{#if:<!-- c -->|y|n}}", "{{#if:<nowiki/>|y|n}}", "{{#if:&nbsp;|y|n}}", "{{#if: {{#if:|x}} |y|n}}", "{{#if:\n|y|n}}", "{{#if:x|\ny\n}}", "{{#ifeq:{{lc:A}}|a|y|n}}", "{{#iferror:{{#expr:1/0}}|bad|good}}", "{{#iferror:<span class=\"error\">x</span>|bad|good}}", "{{#iferror:x}}", "{{#iferror:{{#expr:1/0}}}}", "{{PAGENAME:Talk:X}}", "{{NAMESPACE:Talk:X}}", "{{urlencode:a b&c}}", "{{anchorencode:a b&c}}", "{{#titleparts:Talk:A/B/C|2}}", "{{LC:ABC}}", "{{#IF:x|y}}", "{{Pagename}}", "{{pagename}}", "{{PLURAL:2|a|b}}", "{{Formatnum:1234}}", "{{#dateformat:25 dec 2009|ymd}}", "{{#formatdate:dec 25,2009|dmy}}", "{{formatdate:2009-12-25|mdy}}", "{{#lst:x|y}}", "{{#property:P1}}", "{{#timel:Y|2020-02-03}}",
	} {
		l.add("en", text)
	}
}

// expression returns a random expression for #expr.
func (l *caseList) expression(depth int) string {
	if depth == 0 || l.r.IntN(4) == 0 {
		return l.pick("0", "1", "2", "3.5", "10", "-7", "0.1", "1e3", "1234567", "12.345", ".5", "100", "1/3", "pi")
	}
	if l.r.IntN(3) == 0 {
		op := l.pick("-", "+", "not ", "abs ", "floor ", "ceil ", "trunc ", "sqrt ", "(", "exp ", "ln ")
		if op == "(" {
			return "(" + l.expression(depth-1) + ")"
		}
		return op + l.expression(depth-1)
	}
	op := l.pick("+", "-", "*", "/", "div", "mod", "^", "round", "=", "<>", "!=", "<", ">", "<=", ">=", "and", "or", "fmod", "+", "-", "*")
	return fmt.Sprintf("%s %s %s", l.expression(depth-1), op, l.expression(depth-1))
}

// markup returns a random piece of a template's definition or of an argument.
func (l *caseList) markup(depth int) string {
	space := func() string { return l.pick("", "", "", " ", "\n", "  ") }
	if depth == 0 {
		return l.pick("a", "b", "word", "x y", "1", "0", "", " ", "''i''", "'''b'''", "[[A|b]]", "[[C]]", "&amp;", "<!-- c -->", "<i>q</i>", "2", "é", "-", "x/y")
	}
	parameter := func() string {
		name := l.pick("1", "2", "3", "k", "k", " k ", "none")
		return l.pick("{{{"+name+"}}}", "{{{"+name+"|}}}", "{{{"+name+"|"+l.markup(depth-1)+"}}}")
	}
	switch l.r.IntN(12) {
	case 0, 1, 2:
		return l.markup(depth-1) + l.markup(depth-1)
	case 3, 4, 5:
		return parameter()
	case 6:
		return "{{#if:" + space() + l.value(depth-1) + space() + "|" + space() + l.markup(depth-1) + space() + "|" + l.markup(depth-1) + "}}"
	case 7:
		return "{{#ifeq:" + l.value(depth-1) + "|" + space() + l.value(depth-1) + "|" + l.markup(depth-1) + space() + "|" + l.markup(depth-1) + "}}"
	case 8:
		return "{{#switch:" + space() + l.value(depth-1) + "|a" + space() + "=" + space() + l.markup(depth-1) + "|b|1=" + l.markup(depth-1) + "|" + l.pick("#default=", "word=", "") + l.markup(depth-1) + "}}"
	case 9:
		return "{{" + l.pick("lc", "uc", "ucfirst", "lcfirst") + ":" + l.value(depth-1) + "}}"
	case 10:
		return l.use(depth - 1)
	}
	return l.markup(0)
}

// value returns a random value of a condition. It has no markup: what a template or function
// inside a condition makes of it is text for us, and wikitext for MediaWiki.
func (l *caseList) value(depth int) string {
	return strings.NewReplacer("'''", "", "''", "", "<i>", "", "</i>", "", "[[A|b]]", "b", "[[C]]", "C", "&amp;", "and").Replace(l.markup(depth))
}

// use returns a random use of one of the templates that templates defines.
func (l *caseList) use(depth int) string {
	text := "{{" + l.pick("ta", "tb", "Ta", " tb ", "Template:tb", "tr")
	for range l.r.IntN(4) {
		text += "|" + l.pick("", "", "k=", "1=", "2=", " k = ", "\nk=\n") + l.pick("", " ", "\n") + l.markup(depth) + l.pick("", " ", "\n")
	}
	return text + "}}"
}

// templates adds a case of random templates that use each other.
func (l *caseList) templates() {
	body := l.markup(3)
	switch l.r.IntN(8) {
	case 0:
		body += "<noinclude>not here {{{1}}}</noinclude>"
	case 1:
		body = "not <onlyinclude>" + body + "</onlyinclude> here"
	case 2:
		body = "<includeonly>" + body + "</includeonly>"
	case 3:
		body = "<noinclude>\n" + body + "</noinclude>" + l.markup(2)
	}
	// tb uses no template, so there is no loop.
	plain := strings.NewReplacer("{{ta", "{{uc:", "{{tb", "{{lc:", "{{Ta", "{{uc:", "{{ tb ", "{{lc:", "{{Template:tb", "{{uc:", "{{tr", "{{lc:")
	l.add("en", strings.ReplaceAll(l.use(2), "\n", " "), "Template:Ta", strings.ReplaceAll(strings.ReplaceAll(body, "{{ta", "{{tb"), "{{Ta", "{{tb"), "Template:Tb", plain.Replace(l.markup(2)), "Template:Tr", "#REDIRECT [[Template:Tb]]")
}

func (l *caseList) dates() {
	formats := []string{"Y-m-d", "j F Y", "F j, Y", "D d M y", "l", "N jS z W", "n t L", "H:i:s", "g A", "xg", "j xg Y", "xmj xmF xmY", "xjj xjF xjY", "xij xiF xiY", "xkY xoY xtY", "xrY", "xhY", "\\Y \"year\" Y", "U", "c", "r", "xnY", "xNY", "a", "G h", "e", "I O P T Z", "xit", "xiz"}
	dates := []string{"2020-01-05", "2000-12-31", "1969-07-20 20:17", "5 May 1945", "May 5, 1945", "1945", "2024-02-29", "1/2/2003", "13.7.1999", "now", "today", "+1 day", "2020-13-01", "nonsense", "", "@86400", "20200105123456", "0000-01-01", "12:34", "1 January", "January 2020", "2020-01-05 +2 months", "last day of february 2023", "-5 days", "2019-W10"}
	for _, lang := range manyLanguages {
		for k, f := range formats {
			l.add(lang, "{{#time:"+f+"|"+dates[(k*7)%9]+"}}")
		}
		for _, m := range []string{"01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12"} {
			l.add(lang, "{{#time:j F Y, j xg, M, D, l|2021-"+m+"-"+m+"}}")
			l.add(lang, "{{#time:j F Y|2021-"+m+"-"+m+"}}")
			l.add(lang, "{{#time:j xg|2021-"+m+"-"+m+"}}")
		}
	}
	for _, d := range dates {
		for _, f := range []string{"Y-m-d H:i", "j F Y"} {
			l.add("en", "{{#time:"+f+"|"+d+"}}")
		}
	}
	for _, lang := range []string{"de", "fr", "ru", "xx"} {
		l.add("en", "{{#time:j F Y|2021-03-04|"+lang+"}}")
	}
}

// lua adds cases of modules.
func (l *caseList) lua() {
	call := func(lang, body string) {
		l.add(lang, "{{#invoke:M|f|x|y=z}}", "Module:M", "local p = {} function p.f(frame) "+body+" end return p", "Template:T", "<{{{1|}}}|{{{k|}}}>")
	}
	for _, lang := range manyLanguages {
		for _, body := range []string{
			"local o = {} for _, n in ipairs{0, 1, 1.5, 12, 123, 1234, 12345, 1234567.25, -1234, 1e15, '1234', 'x'} do o[#o+1] = mw.language.getContentLanguage():formatNum(tonumber(n) or 7) end return table.concat(o, ' ')",
			"local o = {} for n = 0, 25 do o[#o+1] = mw.language.getContentLanguage():plural(n, 'a', 'b', 'c', 'd', 'e', 'f') end return table.concat(o, ' ')",
			"local o = {} for m = 1, 12 do o[#o+1] = mw.language.getContentLanguage():formatDate('j F Y M D l xg', '2021-' .. m .. '-' .. m) end return table.concat(o, ' ')",
			"local l = mw.language.getContentLanguage() return l:lc('ÀÉIİ') .. l:uc('straße i') .. l:ucfirst('ijs') .. l:ucfirst('i') .. l:lcfirst('IJS') .. l:caseFold('Éß') .. l:getDir() .. l:getCode() .. l:getArrow('forwards')",
			"local l = mw.language.getContentLanguage() return l:grammar('genitive', 'talo') .. ' ' .. l:grammar('elative', 'Wikipedia') .. ' ' .. l:gender('male', 'he', 'she', 'they')",
			"local l = mw.language.getContentLanguage() return tostring(l:parseFormattedNumber(l:formatNum(12345.5)))",
			"return table.concat(mw.language.getFallbacksFor(mw.language.getContentLanguage():getCode()), ' ')",
			"return mw.text.listToText{'a', 'b', 'c'} .. mw.text.listToText{'a', 'b'}",
			"return mw.message.new('and'):plain() .. mw.message.new('comma-separator'):plain()",
			"return mw.language.fetchLanguageName('de', mw.language.getContentLanguage():getCode())",
			"return mw.language.getContentLanguage():formatDuration(100000) .. mw.language.getContentLanguage():formatDuration(3661, {'hours', 'minutes'})",
		} {
			call(lang, body)
		}
	}
	for _, body := range []string{
		"return frame.args[1] .. (frame.args.y or '-') .. tostring(frame.args[2])", "return frame:getTitle() .. frame:getParent():getTitle()", "return frame:expandTemplate{title = 'T', args = {'a', k = 'b'}}", "return frame:preprocess('{{T|{{{1}}}}}')",
		"return frame:callParserFunction('lc', 'ABC') .. frame:callParserFunction{name = '#if', args = {'x', 'y', 'n'}} .. frame:callParserFunction('#expr', '1+1')", "return frame:extensionTag('nowiki', \"''x''\")",
		"local t = {} for k, v in pairs(frame.args) do t[#t+1] = k .. '=' .. v end table.sort(t) return table.concat(t, ',')", "local n = frame:newChild{title = 'Q', args = {'c'}} return n:getTitle() .. n:preprocess('{{{1}}}') .. n.args[1]",
		"return mw.title.getCurrentTitle().prefixedText .. mw.title.new('Talk:A/b').subpageText", "local t = mw.title.new('Template:A/B c') return t.text .. t.namespace .. t.nsText .. t.baseText .. t.rootText .. tostring(t.isSubpage)",
		"return tostring(mw.title.new('[bad]'))", "return mw.title.makeTitle('Module', 'x').fullText .. mw.title.new('a#b').fragment", "return tostring(mw.title.new('A') == mw.title.new('a'))",
		"return mw.text.trim('  x  ') .. mw.text.truncate('abcdefgh', 4) .. mw.text.encode('<a&b>') .. mw.text.decode('&lt;&eacute;', true)", "return table.concat(mw.text.split('a, b,c', ',%s*'), '|')", "return mw.text.jsonEncode({1, 2, {a = 'b'}})",
		"return tostring(mw.html.create('b'):wikitext('x'):done())", "return tostring(mw.html.create('span'):attr('class', 'x'):css('color', 'red'):wikitext(\"''y''\"))",
		"return mw.ustring.len('äöü') .. mw.ustring.sub('äöü', 2, 2) .. mw.ustring.upper('äß') .. mw.ustring.format('%5s|', 'ä')", "return (mw.ustring.gsub('äöü', '[ö]', 'x')) .. mw.ustring.char(228, 246) .. mw.ustring.codepoint('ä')",
		"return mw.uri.encode('a b&c') .. mw.uri.decode('a+b%26') .. mw.uri.anchorEncode('a b')", "return mw.getCurrentFrame():getTitle()", "return tostring(mw.isSubsting()) .. mw.site.siteName", "return mw.site.namespaces[10].name .. mw.site.namespaces.Module.id",
		"return 1, 2, 'x'", "return nil", "return true", "return {}", "return 1.5", "return 1e20", "return -0", "return 1/3", "return '* a\\n* b'", "return '{{T|a}}'", "return '{{{1}}}'", "return '[[A|b]] <b>c</b>'", "error('x')", "return x.y", "return ('x'):rep(3)", "return os.date('!%Y-%m-%d', 86400)", "return tostring(tonumber('0x10')) .. tostring(10 / 2)", "return string.format('%d %s %.2f %5d', 3, 'x', 1.005, 42)",
		"return mw.language.new('fr'):formatNum(1234.5) .. mw.language.new('de'):formatDate('j F Y', '2020-03-01')", "return mw.language.isKnownLanguageTag('de') and 'y' or 'n'", "return mw.language.fetchLanguageName('de') .. mw.language.fetchLanguageName('fr', 'en')",
		"return frame.args.none or 'nil'", "return frame.args['1']", "return #frame.args", "return tostring(frame:getArgument('y'):expand())", "return frame:getParent().args[1] or 'nil'", "return mw.dumpObject and 'y' or 'n'", "return require('Module:N').g()", "return mw.loadData('Module:N').x or 'nil'", "return mw.clone({1, 2})[2]", "return next({}) == nil and 'empty' or 'full'", "return table.concat({1, 2, 3}, '-') .. unpack({'a'})", "return ('%d'):format('3')",
	} {
		call("en", body)
	}
}
