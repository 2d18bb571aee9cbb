package wikitext

import (
	"bytes"
	"unicode"
	"unicode/utf8"
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
	funcLast
	funcIf
	funcIfEqual
	funcFirst
	funcSwitch
	funcExpr
	funcIfExpr
	funcIfError
	funcPadLeft
	funcPadRight
)

// variables maps the names of MediaWiki's variables, which have no colon, to functions.
var variables = map[string]function{
	"pagename": funcTitle, "pagenamee": funcTitle, "fullpagename": funcTitle, "fullpagenamee": funcTitle, "basepagename": funcTitle,
	"subpagename": funcTitle, "rootpagename": funcTitle, "本名": funcTitle, "namespace": funcDrop, "revisionid": funcDrop,
	"contentlang": funcLanguage, "contentlanguage": funcLanguage, "sitename": funcUnable, "currentyear": funcUnable,
	"currentmonth": funcUnable, "currentmonthname": funcUnable, "currentday": funcUnable, "currenttime": funcUnable,
	"localyear": funcUnable, "localmonth": funcUnable, "localday": funcUnable,
	"numberofarticles": funcUnable, "numberofpages": funcUnable, "numberofusers": funcUnable,
}

// functions maps the names of MediaWiki's parser functions, which end in a colon, to
// functions.
var functions = map[string]function{
	"lc": funcLower, "uc": funcUpper, "lcfirst": funcLowerFirst, "ucfirst": funcUpperFirst,
	"formatnum": funcNumber, "plural": funcPlural, "grammar": funcLast, "#if": funcIf, "#ifeq": funcIfEqual,
	"pagename": funcFirst, "fullpagename": funcFirst, "urlencode": funcFirst, "anchorencode": funcFirst,
	"#switch": funcSwitch, "#iferror": funcIfError, "#ifexist": funcIfExist,
	"#expr": funcExpr, "#ifexpr": funcIfExpr, "padleft": funcPadLeft, "padright": funcPadRight,
	"defaultsort": funcDrop, "displaytitle": funcDrop, "sortierung": funcDrop, "clédetri": funcDrop, "ordena": funcDrop,
	"デフォルトソート": funcDrop, "noexternallanglinks": funcDrop, "#tag": funcDrop, "#babel": funcDrop, "#coordinates": funcDrop,
	"fullurl": funcDrop, "localurl": funcDrop, "filepath": funcDrop, "ns": funcDrop,
	"#invoke": funcInvoke, "#time": funcUnable, "#property": funcUnable, "#statements": funcUnable, "#titleparts": funcUnable,
	"#language": funcUnable, "int": funcUnable, "#lst": funcUnable, "#lsth": funcUnable, "#section": funcUnable,
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
	switch f {
	case funcTitle:
		c.str(c.wiki.page.Title)
	case funcLanguage:
		c.str(c.wiki.page.Lang)
	case funcFirst:
		c.put(first)
	case funcIfExist: // a page that a page refers to exists, as a rule
		c.choose(true, 1)
	case funcLast:
		if len(c.args) > 1 {
			c.put(c.args[len(c.args)-1].value)
		}
	case funcIf:
		c.choose(c.shows(first), 1)
	case funcIfEqual:
		c.choose(c.equal(first, c.arg(1)), 2)
	case funcPlural:
		a, mark := c.capture(first)
		one := string(a) == "1"
		c.release(mark)
		c.choose(one, 1)
	case funcNumber:
		c.formatNumber(first)
	case funcSwitch:
		c.choice(first)
	case funcExpr, funcIfExpr:
		c.expression(f, first)
	case funcIfError:
		// {{#iferror:value|bad|good}} is "good", {{#iferror:value|bad}} is "value":
		// errors are assumed not to occur.
		if len(c.args) > 2 {
			first = c.arg(2)
		}
		c.put(first)
	case funcPadLeft, funcPadRight:
		c.padded(f, first)
	case funcLower, funcUpper, funcLowerFirst, funcUpperFirst:
		text, mark := c.capture(first)
		end := len(c.aside)
		c.aside = appendCase(c.aside, text, f)
		c.text(c.aside[end:])
		c.release(mark)
	}
}

// equal reports whether two arguments render to the same value.
func (c *call) equal(p, q span) bool {
	a, mark := c.capture(p)
	b, _ := c.capture(q)
	c.release(mark)
	return sameValue(a, b)
}

// shows reports whether an argument renders to any text.
func (c *call) shows(p span) bool {
	text, mark := c.capture(p)
	c.release(mark)
	return len(text) > 0
}

// choose renders positional argument n if yes is true, else argument n+1.
func (c *call) choose(yes bool, n int) {
	if !yes {
		n++
	}
	c.put(c.arg(n))
}

// appendCase appends text to dst. It converts the letters, or only the first letter, to
// upper or lower case, depending on f.
func appendCase(dst, text []byte, f function) []byte {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, text[i])
			i++
			continue
		}
		switch {
		case f == funcLower, f == funcLowerFirst && i == 0:
			r = unicode.ToLower(r)
		case f == funcUpper, f == funcUpperFirst && i == 0:
			r = unicode.ToUpper(r)
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}
