package wikitext

import (
	"bytes"
	"slices"
	"strconv"

	"pretext/extract/wiki/rendering"
)

// convert renders {{convert|93|m|ft}} as "93 m": the given quantity without the
// conversion. A range or compound quantity has several values:
// {{convert|5|to|10|km|mi}} is "5 to 10 km", {{convert|5|ft|10|in|m}} is "5 ft
// 10 in". Words before or after the unit (adj=pre, adj=mid) are the argument
// after the target unit.
func (s *Scanner) convert(args []argument) {
	adjective := string(s.bytes(s.named(args, "adj", "disp")))
	grouped := string(s.bytes(s.named(args, "comma"))) != "off"
	n := 1
	for ; n < 8; n += 2 {
		if !s.quantity(s.arg(args, n), grouped) {
			return // unknown value: no unit either
		}
		unit := s.bytes(s.arg(args, n+1))
		if joint, ok := ranges[string(unit)]; ok {
			s.str(joint)
			continue
		}
		if adjective == "pre" || adjective == "preunit" {
			s.affixed(" ", s.arg(args, n+3), "")
		}
		if len(unit) > 0 {
			s.str(" ")
			s.unit(s.arg(args, n+1))
			s.singular(s.arg(args, n))
		}
		if !s.continues(args, n) {
			break
		}
		s.str(" ")
	}
	if adjective == "mid" {
		s.affixed("", s.arg(args, n+3), "")
	}
}

// continues reports whether the value in argument n and its unit are followed
// by another value with a smaller unit: 5 ft, then 10 in.
func (s *Scanner) continues(args []argument, n int) bool {
	next := s.bytes(s.arg(args, n+2))
	return len(next) > 0 && next[0] >= '0' && next[0] <= '9' &&
		slices.Contains(smaller[string(s.bytes(s.arg(args, n+1)))], string(s.bytes(s.arg(args, n+3))))
}

// smaller maps a unit to the smaller units that may follow it in a compound
// quantity.
var smaller = map[string][]string{
	"ft": {"in"}, "foot": {"in", "inch"}, "yd": {"ft"}, "lb": {"oz"}, "st": {"lb"}, "stlb": {"lb"}, "LT": {"cwt", "lb"}, "ST": {"lb"},
	"mi": {"yd", "ft", "furlong", "chain"}, "mile": {"chain", "yard", "furlong"}, "furlong": {"chain"}, "chain": {"link"}, "hand": {"in"},
	"m": {"cm"}, "km": {"m"}, "nmi": {"yd"}, "deg": {"arcmin"}, "USgal": {"USqt"}, "bsh": {"pk"},
}

// ranges maps the words that may join two values to their renderings.
var ranges = map[string]string{
	"to": " to ", "-": "–", "–": "–", "and": " and ", "or": " or ", "by": " by ", "x": " by ", "xx": " × ", "×": " × ",
	"*": " × ", "+/-": " ± ", "±": " ± ", "to(-)": " to ", "and(-)": " and ", "to about": " to about ", "/": "/",
	"+": " + ", ",": ", ", ", and": ", and ", ", or": ", or ", "&": " & ", "a": " a ", "y": " y ",
	"et": " et ", "à": " à ", "bis": " bis ", "und": " und ", "до": " до ",
}

// quantity renders a value, for example "1+1/2" as "1 1/2". If grouped is true,
// it separates the thousands of a plain number. It reports whether it rendered any
// text.
func (s *Scanner) quantity(p span, grouped bool) (shown bool) {
	text, mark := s.capture(p)
	shown = len(text) > 0
	end := len(s.aside)
	if grouped {
		s.aside = appendGrouped(s.aside, text, digitsOf(s.page.Lang))
	} else {
		s.aside = append(s.aside, text...)
	}
	value := s.aside[end:]
	for i, c := range value {
		if c == '+' && i > 0 {
			value[i] = ' '
		}
	}
	s.text(value)
	s.release(mark)
	return shown
}

// unit renders the code of a unit as its symbol, "km2" as "km²". A code that is
// not in the table is shown itself. A prefix may mean a power of ten: "e6acre"
// is "million acres".
func (s *Scanner) unit(p span) {
	code := s.bytes(p)
	for _, m := range multiples {
		if rest := code[min(len(m.code), len(code)):]; len(rest) > 0 && string(code[:len(m.code)]) == m.code {
			s.str(m.word)
			code = rest
			break
		}
	}
	if symbol, ok := s.table.Units[string(code)]; ok {
		s.str(symbol)
		return
	}
	if start := p.end - len(code); bytes.ContainsAny(code, "[{<&") {
		s.put(span{start, p.end})
		return
	}
	mark := len(s.aside)
	for i, c := range code {
		switch last := i == len(code)-1 || class[code[i+1]]&classLetter == 0 && code[i+1] < 0x80 && (code[i+1] < '0' || code[i+1] > '9'); {
		case (c == '2' || c == '3') && last && i > 0 && class[code[i-1]]&classLetter != 0:
			s.aside = append(s.aside, 0xC2, 0xB0+c-'0') // ² and ³
		default:
			s.aside = append(s.aside, c)
		}
	}
	s.text(s.aside[mark:])
	s.release(mark)
}

// singular changes the plural of a unit that was just written, "acres", to the
// singular if the quantity is 1.
func (s *Scanner) singular(quantity span) {
	if string(s.bytes(quantity)) != "1" {
		return
	}
	for _, plural := range []string{"acres", "miles", "metres", "kilometres", "knots", "tons", "tonnes", "barrels", "bushels", "fathoms", "furlongs", "leagues", "rods", "chains", "hands", "parsecs", "light-years"} {
		if bytes.HasSuffix(s.out, []byte(" "+plural)) {
			s.out = s.out[:len(s.out)-1]
			return
		}
	}
}

// multiples are the prefixes of unit codes that mean a power of ten.
var multiples = []struct{ code, word string }{
	{"e3", "thousand "}, {"e6", "million "}, {"e9", "billion "}, {"e12", "trillion "},
}

// fraction renders {{frac|1|2}} as "1/2", {{frac|3|1|4}} as "3 1/4" and
// {{frac|2}} as "1/2".
func (s *Scanner) fraction(args []argument) {
	a, b, c := s.arg(args, 1), s.arg(args, 2), s.arg(args, 3)
	switch {
	case !c.empty():
		s.affixed("", a, " ")
		a, b = b, c
	case b.empty():
		s.str("1/")
		s.put(a)
		return
	}
	s.put(a)
	s.affixed("/", b, "")
}

// parseNumber parses a number of one to nine digits; ok is false for any other
// text.
func parseNumber(b []byte) (v int, ok bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int(c-'0')
	}
	return v, true
}

// decimal writes v in decimal digits.
func (s *Scanner) decimal(v int) {
	var buf [20]byte
	s.text(strconv.AppendInt(buf[:0], int64(v), 10))
}

// circa renders {{circa|1350|1400}} as "c. 1350 – c. 1400".
func (s *Scanner) circa(t rendering.Rule, args []argument) {
	s.str(t.Text)
	s.put(s.arg(args, 1))
	if p := s.arg(args, 2); !p.empty() {
		s.str(" – ")
		s.affixed(t.Text, p, "")
	}
}

// height renders {{height|ft=5|in=10}} as "5 ft 10 in" and {{height|m=1.78}} as
// "1.78 m".
func (s *Scanner) height(args []argument) {
	for _, key := range []string{"m", "cm"} {
		if p := s.named(args, key); !p.empty() {
			s.affixed("", p, " "+key)
			return
		}
	}
	s.affixed("", s.named(args, "ft"), " ft")
	s.affixed(" ", s.named(args, "in"), " in")
}
