package wikitext

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"pretext/extract/wiki/rendering"
)

// maxParts is the maximum number of values of a {{convert}}.
const maxParts = 4

// maxTargets is the maximum number of units to convert to.
const maxTargets = 2

// A part is one value of a quantity, with the text or unit after it: "5" with " to " in
// "5 to 10 km", or "5" with "ft" in "5 ft 10 in".
type part struct {
	text     span   // rendered, in pen.aside
	joint    joint  // text before the next value of a range; zero after the last value
	unit     span   // in a range, only the last value has a unit
	power    string // label of the unit's power of ten
	*measure        // the unit without the power; nil if unknown
}

// A quantity is a parsed {{convert}}.
type quantity struct {
	parts [maxParts]part
	n     int                // parts in use
	to    [maxTargets]target // units to convert to
	nTo   int

	rounding          rounding
	shortIn, shortOut bool    // unit symbols instead of names, for input and output
	american          bool    // US spelling
	display           []byte  // disp=: how the converted value is shown
	joins             [2]span // disp=x: text before and after the converted value
	denominator       int     // frac=: denominator of a fraction in the converted value, or 0
	flip              bool    // the converted value comes first
	adj               []byte  // adj=: how the quantity is joined to a noun
	words             span    // after the unit (adj=mid) or before it (adj=pre)
	grouped           bool    // separate thousands
	spelling          spelling
}

// isRange reports whether the values are the ends of a range ("5 to 10 km") and not the
// parts of a sum ("5 ft 10 in").
func (q *quantity) isRange() bool { return q.n > 1 && q.parts[0].unit.empty() }

// last returns the last part, which has the unit of a range.
func (q *quantity) last() *part { return &q.parts[q.n-1] }

// opConvert renders {{convert|29|mi|km}} as "29 miles (47 km)", as MediaWiki's
// Module:Convert does: the value with the unit's name and, in parentheses, the
// converted value with its symbol. A range or compound quantity has several values:
// {{convert|5|to|10|km|mi}} is "5 to 10 kilometres (3.1 to 6.2 mi)",
// {{convert|5|ft|10|in|m}} is "5 feet 10 inches (1.78 m)". If a unit or value is
// unknown, the quantity is shown without a conversion.
//
// Rendered values stay on x.aside until the end: each is rendered only once, because it
// may contain templates.
func opConvert(c call) {
	mark := len(c.aside)
	x := converter{call: c}
	if x.parse(c.rule.Text == "short") { // otherwise a value is missing: show nothing
		x.write(x.conversion())
	}
	c.release(mark)
}

// A converter renders a {{convert}}.
type converter struct {
	call
	quantity
}

// write writes the quantity and its converted value, which may be empty.
func (x *converter) write(converted span) {
	switch {
	case string(x.display) == "unit" || string(x.display) == "unit2":
		x.unitAlone()
	case converted.empty():
		x.input()
	case bytes.HasPrefix(x.display, []byte("out")), string(x.display) == "number":
		x.putAside(converted)
	case x.flip:
		x.putAside(converted)
		x.str(x.wiki.label("open"))
		x.input()
		x.str(x.wiki.label("close"))
	default:
		before, after := x.around()
		x.input()
		x.str(before)
		x.putSpaced(x.joins[0])
		x.putAside(converted)
		x.putSpaced(x.joins[1])
		x.str(after)
	}
}

// putSpaced renders a positional argument with the white space around it, which
// MediaWiki keeps.
func (x *converter) putSpaced(p span) {
	if p.empty() {
		return
	}
	if isBlank(x.in.src[p.start-1]) {
		x.str(" ")
	}
	x.put(p)
	if isBlank(x.in.src[p.end]) {
		x.str(" ")
	}
}

// putAside writes text from x.aside.
func (x *converter) putAside(p span) { x.text(x.aside[p.start:p.end]) }

// around returns the text before and after the converted value.
func (x *converter) around() (before, after string) {
	switch string(x.display) {
	case "or":
		return x.wiki.label("or"), ""
	case "comma":
		return ", ", ""
	case "/", "slash":
		return "/", ""
	case "sqbr":
		return " [", "]"
	case "semicolon":
		return "; ", ""
	case "br":
		return " ", ""
	case "x":
		return "", "" // write uses the texts of disp=x
	}
	return x.wiki.label("open"), x.wiki.label("close")
}

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

// input renders the quantity in its own units.
func (x *converter) input() {
	for k := range x.n {
		p := &x.parts[k]
		if k > 0 && !x.parts[k-1].unit.empty() {
			if string(x.adj) == "on" && !x.shortIn && x.wiki.table.English() {
				x.str("-") // 6-foot-7-inch
			} else {
				x.str(" ")
			}
		}
		n := parseAmount(x.aside[p.text.start:p.text.end])
		form := unitForm{short: x.shortIn, american: x.american, singular: n.singular() && !x.isRange() && p.power == "", amount: n}
		m := p.measure
		if p.unit.empty() && x.shortIn && p.joint.repeat {
			m = x.last().measure // 5 ft × 10 ft
		}
		x.inputPart(p, m, form)
		if p.joint != (joint{}) {
			x.str(x.between(p.joint, x.shortIn))
		}
	}
}

// inputPart renders a value with its unit. m is the measure of that unit, or nil.
func (x *converter) inputPart(p *part, m *measure, form unitForm) {
	last := p == x.last()
	if last && string(x.adj) == "mid" {
		form.singular, form.hyphen = true, true
	}
	form.hyphen = form.hyphen || string(x.adj) == "on"
	var before, after string
	if m != nil {
		before, after = x.unitText(m, form)
	}
	x.str(before)
	mark := len(x.aside)
	x.appendInput(p, form.amount)
	x.text(x.aside[mark:])
	x.release(mark)
	if last && (string(x.adj) == "pre" || string(x.display) == "preunit") {
		x.affixed(" ", x.words, "")
	}
	x.str(after)
	if m == nil && !p.unit.empty() {
		x.str(" ")
		code, _ := unitPower(x.bytes(p.unit))
		x.unitSymbol(span{p.unit.end - len(code), p.unit.end})
	}
	if last && string(x.adj) == "mid" {
		x.put(x.words)
	}
}

// appendInput appends the number of an input value to x.aside, with separators. A power
// of ten is appended as a word ("5 million"). If the wiki's language has no word for
// it, the number is written out.
func (x *converter) appendInput(p *part, n amount) {
	word := ""
	if p.power != "" {
		if word = x.wiki.label(p.power); word == "" && n.ok {
			x.appendDecimal(n.value*powersOfTen[p.power], n.decimals, x.grouped)
			return
		}
	}
	text := x.aside[p.text.start:p.text.end]
	start := len(x.aside)
	if x.spelling.input && n.ok && x.appendWords(n, x.spelling.capital && p == &x.parts[0]) {
		x.aside = append(x.aside, word...)
		return
	}
	if n.ok && n.value < 0 {
		x.aside = append(x.aside, "−"...)
		text = bytes.TrimPrefix(bytes.TrimPrefix(text, []byte("-")), []byte("−"))
	}
	if x.grouped {
		x.aside = x.wiki.numbers.AppendGrouped(x.aside, string(text))
	} else {
		x.aside = append(x.aside, text...)
	}
	if plus := bytes.IndexByte(x.aside[start:], '+'); plus > 0 {
		x.aside[start+plus] = ' ' // 1+1/2
	}
	x.aside = append(x.aside, word...)
}

// A unitForm selects the form of a unit.
type unitForm struct {
	short    bool   // symbol
	american bool   // US spelling
	singular bool   // singular form, in English
	hyphen   bool   // in English, join a name to the number with a hyphen
	amount   amount // selects the plural form in other languages
}

// unitText returns the text before and after a number with a unit.
func (c *call) unitText(m *measure, f unitForm) (before, after string) {
	kind, form := rendering.UnitSymbol, ""
	if !f.short && !m.symbol && c.wiki.table.Text(rendering.UnitName, m.name) != "" {
		kind = rendering.UnitName
	}
	english := c.wiki.table.English()
	switch {
	case english && (f.singular || f.hyphen):
		form = c.wiki.table.Text(kind, m.one)
	case !english:
		form = c.wiki.table.Text(kind, m.name+" "+c.wiki.table.PluralCategory(f.amount.whole, f.amount.decimals, f.amount.fraction))
	}
	if form == "" {
		form = c.wiki.table.Text(kind, m.name)
	}
	before, after, _ = strings.Cut(form, "{0}")
	if c.wiki.baseLang() == "en" { // the English Wikipedia raises plain digits with <sup>
		after = plainPowers.Replace(after)
	}
	if kind == rendering.UnitName && english {
		if f.hyphen {
			after = strings.ReplaceAll(after, " ", "-")
		}
		if f.american {
			after = americanSpelling.Replace(after)
		}
	}
	return before, after
}

// plainPowers replaces raised digits by the digits in <sup>.
var plainPowers = strings.NewReplacer("²", "2", "³", "3")

// americanSpelling changes names of units to US spelling.
var americanSpelling = strings.NewReplacer("metre", "meter", "litre", "liter")
