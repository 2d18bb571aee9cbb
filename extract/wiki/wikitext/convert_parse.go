package wikitext

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// parse parses the arguments of a {{convert}} and renders its values. ok
// is false if a value is missing or renders to nothing.
func (x *converter) parse(short bool) (ok bool) {
	n := 1
	for x.n < maxParts {
		_, start := x.capture(x.arg(n))
		p := part{text: span{start, len(x.aside)}}
		if p.text.empty() {
			return false
		}
		j, isRange := ranges[string(x.bytes(x.arg(n+1)))]
		if isRange = isRange && !x.arg(n+2).empty(); isRange {
			p.joint = j
		} else {
			p.unit = x.arg(n + 1)
			code, power := unitPower(x.bytes(p.unit))
			p.measure, p.power = measures[string(code)], power
		}
		x.parts[x.n] = p
		x.n++
		n += 2
		if !isRange && !x.continues(n-2) {
			break
		}
	}
	n = x.targets(n)
	x.words = x.arg(n)
	x.parseStyle(short)
	if string(x.display) == "x" { // {{convert|…|disp=x| or about |.}}
		x.joins = [2]span{x.words, x.arg(n + 1)}
	}
	return true
}

// targets parses the target unit and the precision, which follow the input values from
// argument n on. Both may be missing. It returns the number of the argument after them.
func (x *converter) targets(n int) (next int) {
	to := x.bytes(x.arg(n))
	if _, isPrecision := parsePrecision(to); len(to) > 0 && !isPrecision {
		x.convertTo(to)
		n++
	} else if codes, ok := x.defaultTarget(); ok {
		for code := range strings.FieldsSeq(codes) {
			x.addTarget(targetOf(code))
		}
		if len(to) == 0 && !x.arg(n+1).empty() {
			n++ // {{convert|5|km||1}}
		}
	}
	x.rounding.places, x.rounding.given = parsePrecision(x.bytes(x.arg(n)))
	if x.rounding.given {
		n++
	}
	return n
}

// defaultTarget returns the codes of the units to which a quantity is converted by
// default; ok is false if its unit is unknown. For a sum of units, such as feet and
// inches, the first unit decides. Lengths under 3 metres become feet and inches, longer
// lengths become feet. Stones with pounds become kilograms only.
func (x *converter) defaultTarget() (codes string, ok bool) {
	first := &x.parts[0]
	m := first.measure
	if x.isRange() {
		m = x.last().measure
	}
	switch {
	case m == nil:
		return "", false
	case x.n > 1 && !x.isRange() && m.name == "stone":
		return "kg", true
	case m.to != "ftin":
		return m.to, true
	case math.Abs(parseAmount(x.aside[first.text.start:first.text.end]).value) < 3:
		return "ftin", true
	}
	return "ft", true
}

// unitAlone writes only the unit of a quantity: its name for disp=unit, the symbol of
// the target unit for disp=unit2.
func (x *converter) unitAlone() {
	m, short := x.last().measure, x.shortIn
	if string(x.display) == "unit2" && x.nTo > 0 {
		m, short = x.to[0].measure, x.shortOut
	}
	if m == nil {
		x.unitSymbol(x.last().unit)
		return
	}
	p := x.last().text
	n := parseAmount(x.aside[p.start:p.end])
	_, after := x.unitText(m, unitForm{short: short, american: x.american, singular: n.singular(), amount: n})
	x.str(strings.TrimPrefix(after, " "))
}

// A target is a unit to convert to.
type target struct {
	*measure        // nil if unknown
	power    string // label of the unit's power of ten
	inches   bool   // shown as feet and inches
}

// targetOf returns the target for a unit code.
func targetOf[T string | []byte](code T) target {
	if string(code) == "ftin" {
		return target{measure: measures["in"], inches: true}
	}
	unit, power := unitPower([]byte(code))
	return target{measure: measures[string(unit)], power: power}
}

func (q *quantity) addTarget(t target) {
	if q.nTo < maxTargets {
		q.to[q.nTo] = t
		q.nTo++
	}
}

// convertTo adds the targets listed in an argument: "km", "km mi", "ft+in", "ftin".
func (q *quantity) convertTo(codes []byte) {
	if t := targetOf(codes); t.measure != nil {
		q.addTarget(t)
		return
	}
	for len(codes) > 0 {
		code := codes
		if k := bytes.IndexAny(codes, " +"); k >= 0 {
			code, codes = codes[:k], codes[k+1:]
		} else {
			codes = nil
		}
		if len(code) > 0 {
			q.addTarget(targetOf(code))
		}
	}
}

// parseStyle parses the named arguments. If short is true ({{cvt}}), all units are
// symbols by default; otherwise only the units of converted values are. It is long
// because it is a table.
func (x *converter) parseStyle(short bool) {
	x.shortIn, x.shortOut, x.grouped = short, true, true
	names, given := false, false // names: the argument disp=or is given; given: abbr= is given
	for _, a := range x.args[1:] {
		value := x.bytes(a.value)
		switch string(x.bytes(a.key)) {
		case "adj":
			x.adj = value
		case "disp":
			x.display = value
			x.flip = x.flip || string(value) == "flip"
			names = names || string(value) == "or"
		case "frac":
			x.denominator, _ = parseNumber(value)
		case "spell":
			x.spelling = parseSpelling(value)
		case "order":
			x.flip = x.flip || string(value) == "flip"
		case "comma":
			x.grouped = string(value) != "off"
		case "sp":
			x.american = string(value) == "us"
		case "sigfig":
			x.rounding.significant, _ = parseNumber(value)
		case "round":
			x.rounding.multiple, _ = parseNumber(value)
			x.rounding.each = string(value) == "each"
		case "abbr":
			x.shortIn, x.shortOut = abbreviated(value, short)
			given = true
		}
	}
	if (names || x.spelling.output) && !given { // a symbol is not joined to a word
		x.shortOut = x.shortIn
	}
	if x.flip {
		x.shortIn, x.shortOut = x.shortOut, x.shortIn
	}
}

// abbreviated returns, for the argument abbr=value, whether the units of input and
// output are shown as symbols.
func abbreviated(value []byte, short bool) (in, out bool) {
	switch string(value) {
	case "on":
		return true, true
	case "in":
		return true, false
	case "off", "none":
		return false, false
	case "":
		return short, true
	}
	return false, true // "out", "values"
}

// continues reports whether the value in argument n and its unit are followed by
// another value with a smaller unit, as in "5 ft 10 in".
func (x *converter) continues(n int) bool {
	next := x.bytes(x.arg(n + 2))
	return len(next) > 0 && next[0] >= '0' && next[0] <= '9' &&
		slices.Contains(smaller[string(x.bytes(x.arg(n+1)))], string(x.bytes(x.arg(n+3))))
}

// smaller maps a unit to the smaller units that may follow it in a compound
// quantity.
var smaller = map[string][]string{
	"ft": {"in"}, "foot": {"in", "inch"}, "yd": {"ft"}, "lb": {"oz"}, "st": {"lb"}, "stlb": {"lb"}, "LT": {"cwt", "lb"}, "ST": {"lb"},
	"mi": {"yd", "ft", "furlong", "chain"}, "mile": {"chain", "yard", "furlong"}, "furlong": {"chain"}, "chain": {"link"}, "hand": {"in"},
	"m": {"cm"}, "km": {"m"}, "nmi": {"yd"}, "deg": {"arcmin"}, "USgal": {"USqt"}, "bsh": {"pk"},
}

// A joint is the text between two values of a range.
type joint struct {
	full   string // used with unit names: a label or a text
	short  string // used with unit symbols
	repeat bool   // the unit symbol follows each value
}

// ranges maps the words that may join two values to the text between them.
var ranges = map[string]joint{
	"to": {"to", "to", false}, "-": {"–", "–", false}, "–": {"–", "–", false}, "and": {"and", "and", false}, "or": {"or", "or", false},
	"by": {"by", "by", false}, "x": {"by", " × ", true}, "xx": {" × ", " × ", true}, "×": {" × ", " × ", true}, "*": {" × ", " × ", true},
	"+/-": {" ± ", " ± ", false}, "±": {" ± ", " ± ", false}, "to(-)": {"to", "–", false}, "and(-)": {"and", "–", false},
	"to about": {"to-about", "to-about", false}, "/": {"/", "/", false}, "+": {" + ", " + ", false}, ",": {", ", ", ", false},
	", and": {"and", "and", false}, ", or": {"or", "or", false}, "&": {" & ", " & ", false}, "a": {" a ", " a ", false}, "y": {" y ", " y ", false},
	"et": {" et ", " et ", false}, "à": {" à ", " à ", false}, "bis": {" bis ", " bis ", false}, "und": {" und ", " und ", false}, "до": {" до ", " до ", false},
}

// between returns the text of a joint; short selects the text for unit symbols.
func (c *call) between(j joint, short bool) string {
	text := j.full
	if short {
		text = j.short
	}
	if label := c.wiki.label(text); label != "" {
		return label
	}
	return text
}
