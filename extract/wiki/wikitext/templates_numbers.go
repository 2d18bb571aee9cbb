package wikitext

import (
	"cmp"
	"strconv"
)

// opElevation renders {{höhe|2962|DE-NHN}} as "2962 m ü. NHN": a height in metres, and the
// vertical datum of which the code is given. Pages of the German Wikipedia show four
// digits without a separator.
func opElevation(c call) {
	height := c.arg(1)
	if height.empty() {
		return
	}
	c.put(height)
	datum := c.wiki.label("datum " + string(fold(&c.wiki.name, c.bytes(c.arg(2)))))
	if datum == "" {
		datum = " m"
	}
	c.str(datum)
}

// opFraction renders {{frac|1|2}} as "1/2", {{frac|3|1|4}} as "3 1/4" and
// {{frac|2}} as "1/2".
func opFraction(c call) {
	a, b, third := c.arg(1), c.arg(2), c.arg(3)
	switch {
	case !third.empty():
		c.affixed("", a, " ")
		a, b = b, third
	case b.empty():
		c.str("1/")
		c.put(a)
		return
	}
	c.put(a)
	c.affixed("/", b, "")
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

// opCirca renders {{circa|1350|1400}} as "c. 1350 – c. 1400", with the text of the
// rule or the word of the wiki's language.
func opCirca(c call) {
	label := cmp.Or(c.rule.Text, c.wiki.label("circa"))
	c.affixed(label, c.arg(1), "")
	if p := c.arg(2); !p.empty() {
		c.str(" – ")
		c.affixed(label, p, "")
	} else if c.arg(1).empty() {
		c.str(label)
	}
}

// opHeight renders {{height|ft=5|in=10}} as "5 ft 10 in" and {{height|m=1.78}} as
// "1.78 m".
func opHeight(c call) {
	for _, key := range []string{"m", "cm"} {
		if p := c.named(key); !p.empty() {
			c.affixed("", p, " "+key)
			return
		}
	}
	c.affixed("", c.named("ft"), " ft")
	c.affixed(" ", c.named("in"), " in")
}
