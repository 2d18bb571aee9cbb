package wikitext

import (
	"bytes"
	"strings"
)

// An op is a way to render a template. The table of templates has ops and not
// functions, so that it consists of data. In the comments, text and n are
// fields of [template].
type op uint8

const (
	opDrop      op = iota
	opText         // the text
	opArg          // the text, then positional argument n
	opArgAfter     // positional argument n, then the text
	opQuoted       // positional argument n between the halves of the text
	opLast         // the last positional argument
	opLastOf       // the last of the first n positional arguments that is not empty
	opJoin         // positional arguments from n on with the text between
	opAlt          // named argument given by the text, else positional argument n
	opBlock        // positional argument n, or named "text", as lines of their own
	opItems        // positional arguments from n on, each on a line
	opBreak        // ends the line
	opSound        // pronunciation, outside of parentheses: positional argument 1, with n = 2 the second behind a language
	opConvert      // a quantity
	opNumber       // positional argument n with grouped digits
	opValue        // {{val}}
	opFraction     // {{frac}}
	opLang         // {{langx}}, {{lang-xx}}: the language, then text in it
	opZh           // {{zh}}
	opJapanese     // {{nihongo}}
	opKorean       // {{korean}}
	opDate         // year, month, day from argument n on
	opAsOf         // {{as of}}
	opCirca        // {{circa}}: the text, "c. ", before each argument
	opAge          // {{age}} between two dates
	opCountry      // {{flag}}
	opShip         // {{ship}}, {{USS}}
	opShipClass    // {{sclass}}
	opLink         // {{ill}}
	opHarvard      // {{harvtxt}}
	opMusic        // {{music}}
	opHeight       // {{height}}
	opScience      // {{e}}: times ten to the power of
	opSic          // {{sic}}
	opTranslit     // {{transl}}
	opEra          // {{bd}}: birth and death
	opCentury      // {{s|XIX|e}} of the French Wikipedia, then the text
	opGiven        // the name of the template, as it stands in the source
	opPair         // positional arguments n and n + 1, if given, after and around the halves of the text
	opAbsolute     // {{abs}}
	opOldStyle     // {{OldStyleDate}}
	opDates        // {{start and end dates}}
	opFreeDate     // {{date}}: a date as one argument, or in parts
	opAthlete      // {{flagathlete}}
	opVerse        // {{bibleverse}}
	opNuclide      // {{nuclide}}
	opStacked      // {{su}}
	opBraKet       // {{bra-ket}}
	opAmount       // {{INRConvert}}: the text, positional argument n, "million"
	opSterling     // {{£sd}}
	opGauge        // {{track gauge}}
	opListing      // {{listing}}: a place of Wikivoyage
	opMeasure      // {{unité}}
	opIncise       // {{incise}}
	opEtCetera     // {{etc.}}
	opEraName      // {{BC}}, {{AD}}: positional argument 1 and the text
	opVariable     // a variable of MediaWiki: function n
)

// A template describes how a template is rendered: op says how text and n are
// used.
type template struct {
	op   op
	text string
	n    int
}

// render renders a template that has an entry in the table. args[0] is its
// name.
func (s *Scanner) render(t template, args []argument) {
	switch t.op {
	case opText:
		s.spaced(t.text)
	case opArg:
		s.affixed(t.text, s.arg(args, t.n), "")
	case opArgAfter:
		s.affixed("", s.arg(args, t.n), t.text)
	case opQuoted:
		before, after, _ := strings.Cut(t.text, "|")
		s.affixed(before, s.arg(args, t.n), after)
	case opLast, opLastOf:
		s.put(s.lastArgument(args, t.n))
	case opJoin:
		s.joined(args, t.n, t.text)
	case opAlt:
		if p := s.named(args, t.text); !p.empty() {
			s.put(p)
		} else {
			s.put(s.arg(args, t.n))
		}
	case opBlock:
		s.quotation(t, args)
	case opItems:
		s.items(args, t.n)
	case opBreak:
		s.breakLine()
	case opSound:
		s.sound(t, args)
	default:
		s.renderSpecial(t, args)
	}
}

// renderSpecial renders a template whose op has a function of its own. It is
// long because it is a table.
func (s *Scanner) renderSpecial(t template, args []argument) {
	switch t.op {
	case opConvert:
		s.convert(args)
	case opNumber:
		s.number(s.arg(args, t.n))
	case opValue:
		s.value(args)
	case opFraction:
		s.fraction(args)
	case opLang:
		s.language(t, args)
	case opZh:
		s.chinese(args)
	case opJapanese:
		s.japanese(t, args)
	case opKorean:
		s.korean(args)
	case opDate:
		s.date(args, t.n, s.is(args, "df"))
	case opAsOf:
		s.asOf(args)
	case opCirca:
		s.circa(t, args)
	case opAge:
		s.age(args)
	case opCountry:
		s.country(args)
	case opShip:
		s.ship(t, args)
	case opShipClass:
		s.shipClass(args)
	case opLink:
		s.interlanguage(t, args)
	case opHarvard:
		s.harvard(args)
	case opMusic:
		s.music(args)
	case opHeight:
		s.height(args)
	case opScience:
		s.affixed("×10", s.arg(args, 1), "")
	case opSic:
		s.sic(args)
	case opTranslit:
		s.put(s.lastArgument(args, 3))
	case opEra:
		s.era(args)
	case opCentury:
		s.century(t, args)
	case opGiven:
		s.put(args[0].value)
	case opPair:
		s.pair(t, args)
	case opAbsolute:
		s.affixed("|", s.arg(args, 1), "|")
	case opOldStyle:
		s.oldStyle(args)
	case opDates:
		s.dates(args)
	case opFreeDate:
		s.freeDate(args)
	default:
		s.renderRare(t, args)
	}
}

// renderRare renders a template with one of the rarely used ops.
func (s *Scanner) renderRare(t template, args []argument) {
	switch t.op {
	case opAthlete:
		s.athlete(args)
	case opVerse:
		s.verse(args)
	case opNuclide:
		s.nuclide(args)
	case opStacked:
		s.stacked(args)
	case opBraKet:
		s.braKet(t, args)
	case opAmount:
		s.amount(t, args)
	case opSterling:
		s.sterling(args)
	case opGauge:
		s.gauge(args)
	case opListing:
		s.listing(args)
	case opMeasure:
		s.measure(args)
	case opEtCetera:
		s.etCetera(args)
	case opIncise:
		s.incise(args)
	case opEraName:
		s.eraName(t, args)
	}
}

// spaced writes a text, but not its leading space if the output ends with a
// space.
func (s *Scanner) spaced(text string) {
	if n := len(s.out); text[0] == ' ' && n > s.line && s.out[n-1] == ' ' {
		text = text[1:]
	}
	s.str(text)
}

// affixed renders an argument between two strings. It writes nothing if the
// argument is empty.
func (s *Scanner) affixed(before string, p span, after string) {
	if p.empty() {
		return
	}
	s.str(before)
	s.put(p)
	s.str(after)
}

// pair renders two arguments, t.n and t.n+1, of which the second may be
// missing. t.text is the string before the first, "|", and the string before
// the second.
func (s *Scanner) pair(t template, args []argument) {
	before, between, _ := strings.Cut(t.text, "|")
	s.affixed(before, s.arg(args, t.n), "")
	s.affixed(between, s.arg(args, t.n+1), "")
}

// lastArgument returns the last non-empty positional argument. If n > 0, only
// the first n count.
func (s *Scanner) lastArgument(args []argument, n int) span {
	last := span{}
	for place, value := range positional(args) {
		if n > 0 && place > n {
			break
		}
		if !value.empty() {
			last = value
		}
	}
	return last
}

// joined renders the non-empty positional arguments from number n on, with a
// string between them.
func (s *Scanner) joined(args []argument, n int, between string) {
	written := false
	for place, value := range positional(args) {
		if place < n || value.empty() {
			continue
		}
		if written {
			s.str(between)
		}
		s.put(value)
		written = true
	}
}

// quotation renders an argument that consists of whole lines: a quotation, list
// or poem.
func (s *Scanner) quotation(t template, args []argument) {
	p := s.named(args, "text", "quote", "content", "1")
	if p.empty() {
		p = s.arg(args, t.n)
	}
	s.lines(p)
}

// lines renders an argument as output lines of its own.
func (s *Scanner) lines(p span) {
	if p.empty() {
		return
	}
	if s.head || s.line > len(s.out) { // inside of a heading or aside: no lines
		s.put(p)
		return
	}
	prefix := len(s.aside)
	s.aside = append(s.aside, s.prefix...)
	quotes, soft, near := s.quotes, s.soft, s.near
	s.breakLine()
	s.quotes.reset(len(s.out))
	s.prefix = s.prefix[:0]
	s.blocks(p.start, p.end)
	s.prefix = append(s.prefix[:0], s.aside[prefix:]...)
	s.aside = s.aside[:prefix]
	quotes.chunk = len(s.out)
	s.quotes, s.soft, s.near = quotes, soft, near
}

// items renders the positional arguments from number n on, each on lines of its
// own.
func (s *Scanner) items(args []argument, n int) {
	for place, value := range positional(args) {
		if place >= n {
			s.lines(value)
		}
	}
}

// parenthesisReach is how many bytes inParentheses searches back for a
// parenthesis.
const parenthesisReach = 256

// inParentheses reports whether a parenthesis is open at the end of the output
// line.
func (s *Scanner) inParentheses() bool {
	tail := s.out[s.line:]
	tail = tail[max(0, len(tail)-parenthesisReach):]
	return bytes.LastIndexByte(tail, '(') > bytes.LastIndexByte(tail, ')') ||
		bytes.LastIndex(tail, []byte("（")) > bytes.LastIndex(tail, []byte("）"))
}
