package wikitext

import (
	"cmp"
	"strconv"

	"pretext/extract/wiki/rendering"
)

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
func (w *writer) decimal(v int) {
	var buf [20]byte
	w.text(strconv.AppendInt(buf[:0], int64(v), 10))
}

// circa renders {{circa|1350|1400}} as "c. 1350 – c. 1400", with the text of the
// rule or the word of the wiki's language.
func (s *Scanner) circa(t rendering.Rule, args []argument) {
	label := cmp.Or(t.Text, s.label("circa"))
	s.affixed(label, s.arg(args, 1), "")
	if p := s.arg(args, 2); !p.empty() {
		s.str(" – ")
		s.affixed(label, p, "")
	} else if s.arg(args, 1).empty() {
		s.str(label)
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
