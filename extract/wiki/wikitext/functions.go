package wikitext

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"pretext/extract/wiki/internal/locale"
	"pretext/extract/wiki/rendering"
)

// A function is a variable ({{PAGENAME}}) or parser function ({{lc:text}}) of
// MediaWiki.
type function uint8

const (
	funcNone   function = iota
	funcDrop            // shows nothing in an article
	funcUnable          // shows what the dump does not tell, such as the date of today
	funcInvoke          // the result of a module in Lua
	funcTitle
	funcLanguage
	funcIfExist
	funcLower
	funcUpper
	funcLowerFirst
	funcUpperFirst
	funcNumber
	funcPlural
	funcIf
	funcIfEqual
	funcSwitch
	funcExpr
	funcIfExpr
	funcIfError
	funcPadLeft
	funcPadRight
	funcURL
	funcAnchor
	funcTitleOf
	funcTitleParts
	funcNamespace
	funcGrammar
	funcTag
	funcTime
	funcMessage
	funcToday // a part of the date of today
)

// variables maps the names of MediaWiki's variables, which have no colon, to functions.
var variables = map[string]function{
	"pagename": funcTitle, "pagenamee": funcTitle, "fullpagename": funcTitle, "fullpagenamee": funcTitle, "basepagename": funcTitle,
	"subpagename": funcTitle, "rootpagename": funcTitle, "本名": funcTitle, "namespace": funcDrop, "revisionid": funcDrop,
	"contentlang": funcLanguage, "contentlanguage": funcLanguage, "sitename": funcUnable, "currenttime": funcUnable,
	"numberofarticles": funcUnable, "numberofpages": funcUnable, "numberofusers": funcUnable,
}

// functions maps the names of MediaWiki's parser functions, which end in a colon, to
// functions.
var functions = map[string]function{
	"lc": funcLower, "uc": funcUpper, "lcfirst": funcLowerFirst, "ucfirst": funcUpperFirst,
	"formatnum": funcNumber, "plural": funcPlural, "grammar": funcGrammar, "#if": funcIf, "#ifeq": funcIfEqual,
	"pagename": funcTitleOf, "fullpagename": funcTitleOf, "urlencode": funcURL, "anchorencode": funcAnchor,
	"#switch": funcSwitch, "#iferror": funcIfError, "#ifexist": funcIfExist,
	"#expr": funcExpr, "#ifexpr": funcIfExpr, "padleft": funcPadLeft, "padright": funcPadRight,
	"defaultsort": funcDrop, "displaytitle": funcDrop, "sortierung": funcDrop, "clédetri": funcDrop, "ordena": funcDrop,
	"デフォルトソート": funcDrop, "noexternallanglinks": funcDrop, "#tag": funcTag, "#babel": funcDrop, "#coordinates": funcDrop,
	"fullurl": funcDrop, "localurl": funcDrop, "filepath": funcDrop, "ns": funcNamespace,
	"#invoke": funcInvoke, "#time": funcTime, "#property": funcUnable, "#statements": funcUnable, "#titleparts": funcTitleParts,
	"#language": funcUnable, "int": funcMessage, "#lst": funcUnable, "#lsth": funcUnable, "#section": funcUnable,
	"numberofarticles": funcUnable, "pagesincategory": funcUnable,
}

// functionOf returns the parser function that name begins with, or funcNone if
// name is a template or variable. name is in lower case, as [fold] returns it.
func functionOf(name []byte) function {
	k := bytes.IndexByte(name, ':')
	if k < 0 {
		return funcNone
	}
	if f := functions[string(trimSpace(name[:k]))]; f != funcNone || k == 0 {
		return f
	}
	if name[0] == '#' {
		return funcUnable
	}
	return funcNone
}

// function renders the variable or parser function f. c.args[0] holds its name, a
// colon and the first argument.
func (c *call) function(f function) {
	first := c.args[0].value
	colon := bytes.IndexByte(c.bytes(first), ':')
	first = c.in.trim(first.start+colon+1, first.end)
	defer c.release(len(c.aside))
	switch f {
	case funcTitle:
		c.str(c.wiki.page.Title)
	case funcLanguage:
		if c.wiki.page.Lang == "simple" {
			c.str("en")
			return
		}
		c.str(c.wiki.page.Lang)
	case funcIfExist: // a page that a page refers to exists, as a rule
		c.choose(!first.empty(), 1)
	case funcIf:
		if text, known := c.condition(first); known {
			c.choose(len(text) > 0 || dropsTemplate(c, first), 1)
		}
	case funcIfEqual:
		a, known := c.condition(first)
		b, also := c.condition(c.arg(1))
		if known && also {
			c.choose(sameValue(a, b), 2)
		}
	case funcPlural:
		c.plural(first)
	case funcGrammar:
		c.grammar(first)
	case funcNumber:
		c.formatNumber(first)
	case funcSwitch:
		c.choice(first)
	case funcExpr, funcIfExpr:
		c.expression(f, first)
	case funcIfError:
		c.ifError(first)
	case funcPadLeft, funcPadRight:
		c.padded(f, first)
	case funcTag:
		c.tag(first)
	case funcTime:
		c.time(first)
	case funcMessage:
		c.message(first)
	case funcToday:
		c.today()
	case funcURL, funcAnchor:
		c.encoded(f, first)
	case funcTitleOf, funcTitleParts, funcNamespace:
		c.titleFunction(f, first)
	case funcLower, funcUpper, funcLowerFirst, funcUpperFirst:
		c.changeCase(f, first)
	}
}

// condition returns the value of an argument as MediaWiki's conditions see it: templates are
// rendered, all other markup stays. known is false if the value depends on a hole. The text
// may stay in c.aside until the function has been rendered.
func (c *call) condition(p span) (text []byte, known bool) {
	if text = c.bytes(p); bytes.Contains(text, []byte("{{")) {
		text, known = c.raw(p)
		return text, known
	}
	return text, true
}

// dropsTemplate reports whether a rule drops a template in the argument p. MediaWiki shows
// something for it, such as a flag.
func dropsTemplate(c *call, p span) bool {
	for i := p.start; i < p.end; {
		k := bytes.Index(c.in.src[i:p.end], []byte("{{"))
		if k < 0 {
			break
		}
		i += k
		el, ok := c.in.elementAt(i)
		if !ok || el.width != 2 || int(el.end) > p.end {
			i++
			continue
		}
		rule, f, known := c.wiki.resolve(c.in.bytes(c.in.trim(i+2, c.in.nameEnd(i+2, int(el.end)-2))))
		if known && f == funcNone && rule.Op == rendering.OpDrop {
			return true
		}
		i = int(el.end)
	}
	return false
}

// wrong is called instead of writing an error message that MediaWiki would show. It is a hole,
// unless #iferror asks for it.
func (c *call) wrong() {
	if b := c.expander.budget; b.catching > 0 {
		b.caught = true
		return
	}
	c.from = c.unable(c.given, c.all.start, c.all.end)
}

// ifError renders {{#iferror:value|bad|good}}: one of the texts, or the value if there is
// none for it.
func (c *call) ifError(first span) {
	b := c.expander.budget
	outer := b.caught
	b.catching++
	b.caught = false
	holes := c.losses.holes.page
	text, mark := c.capture(first) // once: rendering it again would cost exponential time in the depth
	bad := b.caught || bytes.Contains(c.bytes(first), []byte(`class="error"`))
	b.catching--
	b.caught = outer
	switch {
	case c.losses.holes.page != holes:
	case bad:
		c.put(c.arg(1))
	case len(c.args) > 2:
		c.put(c.arg(2))
	default:
		c.text(text)
	}
	c.release(mark)
}

// changeCase renders {{uc:text}} and its like. A first letter behind markup is not the first
// letter: {{ucfirst:[[word]]}} is the word as it is.
func (c *call) changeCase(f function, first span) {
	if f == funcLowerFirst || f == funcUpperFirst {
		if raw := c.bytes(first); len(raw) == 0 || bytes.IndexByte([]byte("[<'&"), raw[0]) >= 0 {
			c.put(first)
			return
		}
	}
	text, mark := c.capture(first)
	end := len(c.aside)
	c.aside = appendCase(c.aside, text, f, c.wiki.baseLang())
	c.text(c.aside[end:])
	c.release(mark)
}

// plural renders {{plural:2|page|pages}}.
func (c *call) plural(first span) {
	text, known := c.condition(first)
	if !known {
		return
	}
	var forms []string
	for _, a := range c.args[1:] {
		forms = append(forms, string(c.bytes(a.value)))
	}
	n := locale.Plural(c.wiki.page.Lang, c.wiki.numbers.Parse(string(text)), forms)
	if n < 0 {
		return
	}
	value := c.args[1+n].value
	if a := c.args[1+n]; locale.Exact(forms[n]) {
		value = c.in.trim(a.equal+1, value.end)
	}
	c.put(value)
}

// grammar renders {{grammar:case|word}}. In most languages it is the word.
func (c *call) grammar(first span) {
	if first.empty() || !locale.Inflects(c.wiki.baseLang()) {
		c.put(c.arg(1))
		return
	}
	c.wrong()
}

// choose renders positional argument n if yes is true, else argument n+1.
func (c *call) choose(yes bool, n int) {
	if !yes {
		n++
	}
	c.put(c.arg(n))
}

// appendCase appends text to dst. It converts the letters, or only the first letter, to
// upper or lower case, depending on f, as PHP 8 does: a sigma at the end of a word is not
// special.
func appendCase(dst, text []byte, f function, lang string) []byte {
	isTurkic := (f == funcLowerFirst || f == funcUpperFirst) && locale.Dotted(lang)
	if !isTurkic && isASCII(text) {
		return appendASCII(dst, text, f)
	}
	first := len(text)
	if f == funcLowerFirst || f == funcUpperFirst {
		_, first = utf8.DecodeRune(text)
	}
	tag := language.Und
	if isTurkic {
		tag = language.Turkish
	}
	to := cases.Upper(tag) // not shared: some have a state
	if f != funcUpper && f != funcUpperFirst {
		to = cases.Lower(tag, cases.HandleFinalSigma(false))
	}
	dst = append(dst, to.Bytes(text[:first])...)
	return append(dst, text[first:]...)
}

func isASCII(text []byte) bool {
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// appendASCII is appendCase for text in ASCII.
func appendASCII(dst, text []byte, f function) []byte {
	for k, b := range text {
		switch letter := b | 0x20; {
		case letter < 'a' || letter > 'z' || k > 0 && (f == funcLowerFirst || f == funcUpperFirst):
		case f == funcUpper || f == funcUpperFirst:
			b &^= 0x20
		default:
			b = letter
		}
		dst = append(dst, b)
	}
	return dst
}
