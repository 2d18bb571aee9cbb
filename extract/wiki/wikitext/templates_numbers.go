package wikitext

import "strconv"

// convert renders {{convert|93|m|ft}}: the quantity as given, with its unit,
// without the conversion. Ranges ({{convert|5|to|10|km}}) and compound
// quantities ({{convert|5|ft|10|in}}) have several values.
func (s *Scanner) convert(args []argument) {
	n := 1
	for ; n < 8; n += 2 {
		s.quantity(s.arg(args, n))
		unit := s.bytes(s.arg(args, n+1))
		if joint, ok := ranges[string(unit)]; ok {
			s.str(joint)
			continue
		}
		if len(unit) > 0 {
			s.str(" ")
			s.unit(s.arg(args, n+1))
		}
		if !s.continues(args, n) {
			return
		}
		s.str(" ")
	}
}

// continues tells whether another value with a smaller unit follows value n.
func (s *Scanner) continues(args []argument, n int) bool {
	small := smaller[string(s.bytes(s.arg(args, n+1)))]
	next := s.bytes(s.arg(args, n+2))
	return small != "" && len(next) > 0 && next[0] >= '0' && next[0] <= '9' &&
		string(s.bytes(s.arg(args, n+3))) == small
}

// smaller are the units of compound quantities.
var smaller = map[string]string{"ft": "in", "lb": "oz", "st": "lb", "yd": "ft", "mi": "yd", "foot": "inch", "stlb": "lb"}

// ranges are the words between two values, and what they show.
var ranges = map[string]string{
	"to": " to ", "-": "–", "–": "–", "and": " and ", "or": " or ", "by": " by ", "x": " by ", "xx": " × ", "×": " × ",
	"*": " × ", "+/-": " ± ", "±": " ± ", "to(-)": " to ", "and(-)": " and ", "to about": " to about ", "/": "/",
	"+": " + ", ",": ", ", ", and": ", and ", ", or": ", or ", "&": " & ", "a": " a ", "y": " y ",
	"et": " et ", "à": " à ", "bis": " bis ", "und": " und ", "до": " до ",
}

// quantity renders a value; a plain number gets its digits grouped, and
// "1+1/2" is one and a half.
func (s *Scanner) quantity(p span) {
	text, mark := s.capture(p)
	end := len(s.aside)
	s.aside = appendGrouped(s.aside, text)
	grouped := s.aside[end:]
	for i, c := range grouped {
		if c == '+' && i > 0 {
			grouped[i] = ' '
		}
	}
	s.text(grouped)
	s.release(mark)
}

// unit renders the code of a unit as its symbol.
func (s *Scanner) unit(p span) {
	if symbol, ok := units[string(s.bytes(p))]; ok {
		s.str(symbol)
		return
	}
	s.put(p)
}

// value renders {{val|12345|0.5|e=6|u=km}}.
func (s *Scanner) value(args []argument) {
	s.put(s.named(args, "p"))
	s.number(s.arg(args, 1))
	if low := s.arg(args, 3); !low.empty() {
		s.affixed(" +", s.arg(args, 2), "")
		s.affixed(" −", low, "")
	} else {
		s.affixed("±", s.arg(args, 2), "")
	}
	s.affixed("×10", s.named(args, "e"), "")
	if u := s.named(args, "u", "ul", "up", "upl"); !u.empty() {
		s.str(" ")
		s.unit(u)
	}
	s.put(s.named(args, "s"))
}

// fraction renders {{frac|1|2}}, {{frac|3|1|4}} and {{frac|2}}.
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

var monthNames = [13]string{1: "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// date renders year, month and day from argument n on, as {{start date}} and
// {{birth date and age}} have them; an argument that is no number is a whole
// date.
func (s *Scanner) date(args []argument, n int) {
	year := s.bytes(s.arg(args, n))
	month, _ := parseNumber(s.bytes(s.arg(args, n+1)))
	day, _ := parseNumber(s.bytes(s.arg(args, n+2)))
	if len(year) == 0 {
		return
	}
	if _, ok := parseNumber(year); !ok || month < 1 || month > 12 {
		s.put(s.arg(args, n))
		return
	}
	switch {
	case day < 1 || day > 31:
		s.str(monthNames[month])
		s.str(" ")
	case s.is(args, "df"):
		s.decimal(day)
		s.str(" ")
		s.str(monthNames[month])
		s.str(" ")
	default:
		s.str(monthNames[month])
		s.str(" ")
		s.decimal(day)
		s.str(", ")
	}
	s.text(year)
}

// parseNumber returns the value of a number of at most nine digits.
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

// decimal writes a number.
func (s *Scanner) decimal(v int) {
	var buf [20]byte
	s.text(strconv.AppendInt(buf[:0], int64(v), 10))
}

// asOf renders {{as of|2015|3}}: "As of March 2015".
func (s *Scanner) asOf(args []argument) {
	if p := s.named(args, "alt"); !p.empty() {
		s.put(p)
		return
	}
	since, lower := s.is(args, "since"), s.is(args, "lc")
	switch {
	case since && lower:
		s.str("since ")
	case since:
		s.str("Since ")
	case lower:
		s.str("as of ")
	default:
		s.str("As of ")
	}
	s.date(args, 1)
	s.put(s.named(args, "post"))
}

// circa renders {{circa|1350|1400}}: "c. 1350 – c. 1400".
func (s *Scanner) circa(t template, args []argument) {
	s.str(t.text)
	s.put(s.arg(args, 1))
	if p := s.arg(args, 2); !p.empty() {
		s.str(" – ")
		s.affixed(t.text, p, "")
	}
}

// age renders the full years between two dates; without a second date it
// depends on the day of reading and is dropped.
func (s *Scanner) age(args []argument) {
	var d [6]int
	for k := range d {
		v, ok := parseNumber(s.bytes(s.arg(args, k+1)))
		if !ok {
			return
		}
		d[k] = v
	}
	years := d[3] - d[0]
	if d[4] < d[1] || d[4] == d[1] && d[5] < d[2] {
		years--
	}
	if years >= 0 {
		s.decimal(years)
	}
}

// height renders {{height|ft=5|in=10}} and {{height|m=1.78}}.
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
