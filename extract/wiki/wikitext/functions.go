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
	funcNone function = iota
	funcDrop
	funcTitle
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

// variables maps the names of MediaWiki's variables, which have no colon, to
// what they render. Variables that depend on the current time or on other pages
// are dropped.
var variables = map[string]function{
	"pagename": funcTitle, "pagenamee": funcTitle, "fullpagename": funcTitle, "basepagename": funcTitle,
	"subpagename": funcTitle, "rootpagename": funcTitle, "namespace": funcDrop, "sitename": funcDrop,
	"fullpagenamee": funcTitle, "contentlang": funcDrop, "contentlanguage": funcDrop, "currentyear": funcDrop, "currentmonth": funcDrop, "currentmonthname": funcDrop, "currentday": funcDrop,
	"localyear": funcDrop, "localmonth": funcDrop, "localday": funcDrop, "currenttime": funcDrop,
	"numberofarticles": funcDrop, "numberofpages": funcDrop, "numberofusers": funcDrop, "revisionid": funcDrop,
	"本名": funcTitle,
}

// functions maps the names of MediaWiki's parser functions, which end in a
// colon, to what they render.
var functions = map[string]function{
	"lc": funcLower, "uc": funcUpper, "lcfirst": funcLowerFirst, "ucfirst": funcUpperFirst,
	"formatnum": funcNumber, "plural": funcPlural, "grammar": funcLast, "#if": funcIf, "#ifeq": funcIfEqual,
	"pagename": funcFirst, "fullpagename": funcFirst, "urlencode": funcFirst, "anchorencode": funcFirst,
	"defaultsort": funcDrop, "displaytitle": funcDrop, "#invoke": funcDrop, "#tag": funcDrop, "#switch": funcSwitch, "#iferror": funcIfError,
	"#expr": funcExpr, "#ifexpr": funcIfExpr, "#ifexist": funcDrop, "#time": funcDrop, "#lst": funcDrop,
	"#lsth": funcDrop, "#section": funcDrop, "#property": funcDrop, "#statements": funcDrop, "#titleparts": funcDrop,
	"#language": funcDrop, "ns": funcDrop, "int": funcDrop, "fullurl": funcDrop, "localurl": funcDrop,
	"filepath": funcDrop, "numberofarticles": funcDrop, "pagesincategory": funcDrop, "padleft": funcPadLeft,
	"padright": funcPadRight, "noexternallanglinks": funcDrop, "#babel": funcDrop, "#coordinates": funcDrop,
	"sortierung": funcDrop, "clédetri": funcDrop, "ordena": funcDrop, "デフォルトソート": funcDrop,
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
		return funcDrop
	}
	return funcNone
}

// function renders the variable or parser function f. args[0] holds its name, a
// colon and the first argument.
func (s *Scanner) function(f function, args []argument) {
	first := args[0].value
	colon := bytes.IndexByte(s.bytes(first), ':')
	first = s.trim(first.start+colon+1, first.end)
	switch f {
	case funcTitle:
		s.str(s.page.Title)
	case funcFirst:
		s.put(first)
	case funcLast:
		if len(args) > 1 {
			s.put(args[len(args)-1].value)
		}
	case funcIf:
		s.choose(s.shows(first), args, 1)
	case funcIfEqual:
		s.choose(s.equal(first, s.arg(args, 1)), args, 2)
	case funcPlural:
		a, mark := s.capture(first)
		one := string(a) == "1"
		s.release(mark)
		s.choose(one, args, 1)
	case funcNumber:
		s.formatNumber(first, args)
	case funcSwitch:
		s.choice(first, args)
	case funcExpr, funcIfExpr:
		s.expression(f, first, args)
	case funcIfError:
		s.noError(first, args)
	case funcPadLeft, funcPadRight:
		s.padded(f, first, args)
	case funcLower, funcUpper, funcLowerFirst, funcUpperFirst:
		text, mark := s.capture(first)
		end := len(s.aside)
		s.aside = appendCase(s.aside, text, f)
		s.text(s.aside[end:])
		s.release(mark)
	}
}

// equal reports whether two arguments render to the same value.
func (s *Scanner) equal(p, q span) bool {
	a, mark := s.capture(p)
	b, _ := s.capture(q)
	s.release(mark)
	return sameValue(a, b)
}

// shows reports whether an argument renders to any text.
func (s *Scanner) shows(p span) bool {
	text, mark := s.capture(p)
	s.release(mark)
	return len(text) > 0
}

// choose renders positional argument n if yes is true, else argument n+1.
func (s *Scanner) choose(yes bool, args []argument, n int) {
	if !yes {
		n++
	}
	s.put(s.arg(args, n))
}

// appendCase appends text to dst with its letters, or its first letter, in
// upper or lower case, as the function f does.
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
