package wikitext

import (
	"bytes"
	"strings"

	"pretext/extract/wiki/rendering"
)

// render renders a template that has an entry in the table. args[0] is its
// name.
func (s *Scanner) render(t rendering.Rule, args []argument) {
	switch t.Op {
	case rendering.OpText:
		s.spaced(t.Text)
	case rendering.OpArg:
		s.affixed(t.Text, s.arg(args, t.N), "")
	case rendering.OpArgAfter:
		s.affixed("", s.arg(args, t.N), t.Text)
	case rendering.OpQuoted:
		before, after, _ := strings.Cut(t.Text, "|")
		s.affixed(before, s.arg(args, t.N), after)
	case rendering.OpLast, rendering.OpLastOf:
		before, after, _ := strings.Cut(t.Text, "|")
		s.affixed(before, s.lastArgument(args, t.N), after)
	case rendering.OpJoin:
		s.joined(args, t.N, t.Text)
	case rendering.OpAlt:
		if p := s.named(args, t.Text); !p.empty() {
			s.put(p)
		} else {
			s.put(s.arg(args, t.N))
		}
	case rendering.OpBlock:
		s.quotation(t, args)
	case rendering.OpItems:
		s.items(args, t.N)
	case rendering.OpBreak:
		s.breakLine()
	case rendering.OpSound:
		s.sound(t, args)
	default:
		s.renderSpecial(t, args)
	}
}

// renderSpecial renders a template whose op has a function of its own. It is
// long because it is a table.
func (s *Scanner) renderSpecial(t rendering.Rule, args []argument) {
	switch t.Op {
	case rendering.OpConvert:
		s.convert(t, args)
	case rendering.OpNumber:
		if p := s.arg(args, t.N); !p.empty() {
			s.str(t.Text)
			s.number(p)
		}
	case rendering.OpValue:
		s.value(args)
	case rendering.OpFraction:
		s.fraction(args)
	case rendering.OpLang:
		s.language(t, args)
	case rendering.OpZh:
		s.chinese(args)
	case rendering.OpJapanese:
		s.japanese(t, args)
	case rendering.OpKorean:
		s.korean(args)
	case rendering.OpDate:
		s.date(args, t.N, s.is(args, "df"))
	case rendering.OpAsOf:
		s.asOf(args)
	case rendering.OpCirca:
		s.circa(t, args)
	case rendering.OpAge:
		s.age(args)
	case rendering.OpCountry:
		s.country(args)
	case rendering.OpShip:
		s.ship(t, args)
	case rendering.OpShipClass:
		s.shipClass(args)
	case rendering.OpLink:
		s.interlanguage(t, args)
	case rendering.OpHarvard:
		s.harvard(args)
	case rendering.OpMusic:
		s.music(args)
	case rendering.OpHeight:
		s.height(args)
	case rendering.OpScience:
		s.affixed("×10", s.arg(args, 1), "")
	case rendering.OpSic:
		s.sic(args)
	case rendering.OpTranslit:
		s.put(s.lastArgument(args, 3))
	case rendering.OpEra:
		s.era(args)
	case rendering.OpCentury:
		s.century(t, args)
	case rendering.OpGiven:
		s.put(args[0].value)
	case rendering.OpPair:
		s.pair(t, args)
	case rendering.OpAbsolute:
		s.affixed("|", s.arg(args, 1), "|")
	case rendering.OpOldStyle:
		s.oldStyle(args)
	case rendering.OpDates:
		s.dates(args)
	case rendering.OpFreeDate:
		s.freeDate(args)
	default:
		s.renderRare(t, args)
	}
}

// renderRare renders a template with one of the rarely used ops.
func (s *Scanner) renderRare(t rendering.Rule, args []argument) {
	switch t.Op {
	case rendering.OpAthlete:
		s.athlete(args)
	case rendering.OpVerse:
		s.verse(args)
	case rendering.OpNuclide:
		s.nuclide(args)
	case rendering.OpStacked:
		s.stacked(args)
	case rendering.OpBraKet:
		s.braKet(t, args)
	case rendering.OpAmount:
		s.amount(t, args)
	case rendering.OpSterling:
		s.sterling(args)
	case rendering.OpGauge:
		s.gauge(args)
	case rendering.OpListing:
		s.listing(args)
	case rendering.OpMeasure:
		s.measure(args)
	case rendering.OpEtCetera:
		s.etCetera(args)
	case rendering.OpIncise:
		s.incise(args)
	case rendering.OpEraName:
		s.eraName(t, args)
	case rendering.OpSiglo:
		s.siglo(args)
	case rendering.OpTitle:
		s.pageTitle(args)
	case rendering.OpEtymon:
		s.etymon(t, args)
	}
}

// spaced writes a text, but not its leading space if the output ends with a
// space.
func (w *writer) spaced(text string) {
	if n := len(w.out); text[0] == ' ' && n > w.line && w.out[n-1] == ' ' {
		text = text[1:]
	}
	w.str(text)
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

// pair renders two arguments, t.N and t.N+1, of which the second may be
// missing. t.Text is the string before the first, "|", and the string before
// the second; after another "|" the string after the second.
func (s *Scanner) pair(t rendering.Rule, args []argument) {
	before, rest, _ := strings.Cut(t.Text, "|")
	between, after, _ := strings.Cut(rest, "|")
	s.affixed(before, s.arg(args, t.N), "")
	s.affixed(between, s.arg(args, t.N+1), after)
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
// string between them: form, or its second of three parts, which "|" separates.
func (s *Scanner) joined(args []argument, n int, form string) {
	before, rest, _ := strings.Cut(form, "|")
	between, after, ok := strings.Cut(rest, "|")
	if !ok {
		before, between = "", form
	}
	written := false
	for place, value := range positional(args) {
		if place < n || value.empty() {
			continue
		}
		if written {
			s.str(between)
		} else {
			s.str(before)
		}
		s.put(value)
		written = true
	}
	if written {
		s.str(after)
	}
}

// quotation renders an argument that consists of whole lines: a quotation, list
// or poem.
func (s *Scanner) quotation(t rendering.Rule, args []argument) {
	p := s.named(args, "text", "quote", "content", "1")
	if p.empty() {
		p = s.arg(args, t.N)
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
func (w *writer) inParentheses() bool {
	tail := w.out[w.line:]
	tail = tail[max(0, len(tail)-parenthesisReach):]
	return bytes.LastIndexByte(tail, '(') > bytes.LastIndexByte(tail, ')') ||
		bytes.LastIndex(tail, []byte("（")) > bytes.LastIndex(tail, []byte("）"))
}
