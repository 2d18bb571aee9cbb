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

// A part is a value of a quantity with what follows it: "5" and " to " of "5 to
// 10 km", or "5" and "ft" of "5 ft 10 in".
type part struct {
	text     span   // rendered, in s.aside
	joint    joint  // before the next value of a range; zero after the last one
	unit     span   // empty in a range, but for its last value
	power    string // label of the unit's power of ten
	*measure        // of the unit without the power; nil if not known
}

// A quantity is a {{convert}}, parsed.
type quantity struct {
	parts [maxParts]part
	n     int                // parts in use
	to    [maxTargets]target // units to convert to
	nTo   int

	rounding          rounding
	shortIn, shortOut bool    // symbols, not names
	american          bool    // US spelling
	display           []byte  // disp=: where the converted value goes
	joins             [2]span // disp=x: what stands before and after it
	denominator       int     // frac=: of the fraction in a converted value, or 0
	flip              bool    // the converted value comes first
	adj               []byte  // adj=: how the quantity is joined to a noun
	words             span    // after the unit (adj=mid) or before it (adj=pre)
	grouped           bool    // separate thousands
	spelling          spelling
}

// isRange reports whether the values are alternatives and not the parts of a sum.
func (q *quantity) isRange() bool { return q.n > 1 && q.parts[0].unit.empty() }

// last returns the last part, which has the unit of a range.
func (q *quantity) last() *part { return &q.parts[q.n-1] }

// convert renders {{convert|29|mi|km}} as "29 miles (47 km)", as MediaWiki's
// Module:Convert does: the name of the unit and, in parentheses, the converted
// value with its symbol. A range or compound quantity has several values:
// {{convert|5|to|10|km|mi}} is "5 to 10 kilometres (3.1 to 6.2 mi)",
// {{convert|5|ft|10|in|m}} is "5 feet 10 inches (1.78 m)". If a unit or value is
// not known, the quantity is shown without a conversion.
func (s *Scanner) convert(t rendering.Rule, args []argument) {
	mark := len(s.aside)
	s.convertAside(t, args)
	s.release(mark)
}

// convertAside does the work of [Scanner.convert]. It leaves rendered values on
// s.aside: each is rendered once, because values may hold further templates.
func (s *Scanner) convertAside(t rendering.Rule, args []argument) {
	var q quantity
	if !s.parseQuantity(&q, args, t.Text == "short") {
		return // unknown value: no unit either
	}
	converted := s.conversion(&q)
	switch {
	case string(q.display) == "unit" || string(q.display) == "unit2":
		s.unitAlone(&q)
	case converted.empty():
		s.input(&q)
	case bytes.HasPrefix(q.display, []byte("out")), string(q.display) == "number":
		s.putAside(converted)
	case q.flip:
		s.putAside(converted)
		s.str(s.label("open"))
		s.input(&q)
		s.str(s.label("close"))
	default:
		before, after := s.around(q.display)
		s.input(&q)
		s.str(before)
		s.putSpaced(q.joins[0])
		s.putAside(converted)
		s.putSpaced(q.joins[1])
		s.str(after)
	}
}

// putSpaced renders a positional argument with the white space around it, which
// MediaWiki keeps.
func (s *Scanner) putSpaced(p span) {
	if p.empty() {
		return
	}
	if isBlank(s.src[p.start-1]) {
		s.str(" ")
	}
	s.put(p)
	if isBlank(s.src[p.end]) {
		s.str(" ")
	}
}

// putAside writes text from s.aside.
func (s *Scanner) putAside(p span) { s.text(s.aside[p.start:p.end]) }

// around returns what stands before and after the converted value.
func (s *Scanner) around(display []byte) (before, after string) {
	switch string(display) {
	case "or":
		return s.label("or"), ""
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
		return "", "" // the joins of the quantity
	}
	return s.label("open"), s.label("close")
}

// parseQuantity parses the arguments of a {{convert}} and renders its values. ok
// is false if a value is missing or renders to nothing.
func (s *Scanner) parseQuantity(q *quantity, args []argument, short bool) (ok bool) {
	n := 1
	for q.n < maxParts {
		_, start := s.capture(s.arg(args, n))
		p := part{text: span{start, len(s.aside)}}
		if p.text.empty() {
			return false
		}
		j, isRange := ranges[string(s.bytes(s.arg(args, n+1)))]
		if isRange = isRange && !s.arg(args, n+2).empty(); isRange {
			p.joint = j
		} else {
			p.unit = s.arg(args, n+1)
			code, power := unitPower(s.bytes(p.unit))
			p.measure, p.power = measures[string(code)], power
		}
		q.parts[q.n] = p
		q.n++
		n += 2
		if !isRange && !s.continues(args, n-2) {
			break
		}
	}
	n = s.targets(q, args, n)
	q.words = s.arg(args, n)
	s.parseStyle(q, args, short)
	if string(q.display) == "x" { // {{convert|…|disp=x| or about |.}}
		q.joins = [2]span{q.words, s.arg(args, n+1)}
	}
	return true
}

// targets parses the target unit and the precision, which may follow the input
// from argument n on. It returns the number of the argument after them.
func (s *Scanner) targets(q *quantity, args []argument, n int) (next int) {
	to := s.bytes(s.arg(args, n))
	if _, isPrecision := parsePrecision(to); len(to) > 0 && !isPrecision {
		q.convertTo(to)
		n++
	} else if m := q.mainMeasure(); m != nil {
		for code := range strings.FieldsSeq(s.defaultTarget(q, m)) {
			q.addTarget(targetOf(code))
		}
		if len(to) == 0 && !s.arg(args, n+1).empty() {
			n++ // {{convert|5|km||1}}
		}
	}
	q.rounding.places, q.rounding.given = parsePrecision(s.bytes(s.arg(args, n)))
	if q.rounding.given {
		n++
	}
	return n
}

// mainMeasure returns the unit that says to which one a quantity is converted:
// that of the first part of a sum; nil if it is not known.
func (q *quantity) mainMeasure() *measure {
	if q.isRange() {
		return q.last().measure
	}
	return q.parts[0].measure
}

// defaultTarget returns the codes of the units to which a unit is converted by
// default. Metres become feet and inches below 3; stones and pounds together
// become kilograms only.
func (s *Scanner) defaultTarget(q *quantity, m *measure) string {
	p := q.parts[0].text
	switch {
	case q.n > 1 && !q.isRange() && m.name == "stone":
		return "kg"
	case m.to != "ftin":
		return m.to
	case math.Abs(parseAmount(s.aside[p.start:p.end]).value) < 3:
		return "ftin"
	}
	return "ft"
}

// unitAlone writes the unit of a quantity without its value: its name with
// disp=unit, the symbol of the one that it is converted to with disp=unit2.
func (s *Scanner) unitAlone(q *quantity) {
	m, short := q.last().measure, q.shortIn
	if string(q.display) == "unit2" && q.nTo > 0 {
		m, short = q.to[0].measure, q.shortOut
	}
	if m == nil {
		s.unitSymbol(q.last().unit)
		return
	}
	p := q.last().text
	n := parseAmount(s.aside[p.start:p.end])
	_, after := s.unitText(m, unitForm{short: short, american: q.american, singular: n.singular(), amount: n})
	s.str(strings.TrimPrefix(after, " "))
}

// A target is a unit to convert to.
type target struct {
	*measure        // nil if not known
	power    string // label of the unit's power of ten
	inches   bool   // feet and inches
}

// targetOf returns the target with a code.
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

// convertTo adds the targets in an argument: "km", "km mi", "ft+in", "ftin".
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

// parseStyle parses the named arguments. Symbols are the default of {{cvt}}
// (short), and else of the converted value. It is long because it is a table.
func (s *Scanner) parseStyle(q *quantity, args []argument, short bool) {
	q.shortIn, q.shortOut, q.grouped = short, true, true
	names, given := false, false // disp=or: names on both sides
	for _, a := range args[1:] {
		value := s.bytes(a.value)
		switch string(s.bytes(a.key)) {
		case "adj":
			q.adj = value
		case "disp":
			q.display = value
			q.flip = q.flip || string(value) == "flip"
			names = names || string(value) == "or"
		case "frac":
			q.denominator, _ = parseNumber(value)
		case "spell":
			q.spelling = parseSpelling(value)
		case "order":
			q.flip = q.flip || string(value) == "flip"
		case "comma":
			q.grouped = string(value) != "off"
		case "sp":
			q.american = string(value) == "us"
		case "sigfig":
			q.rounding.significant, _ = parseNumber(value)
		case "round":
			q.rounding.multiple, _ = parseNumber(value)
			q.rounding.each = string(value) == "each"
		case "abbr":
			q.shortIn, q.shortOut = abbreviated(value, short)
			given = true
		}
	}
	if (names || q.spelling.output) && !given { // a symbol is not joined to a word
		q.shortOut = q.shortIn
	}
	if q.flip {
		q.shortIn, q.shortOut = q.shortOut, q.shortIn
	}
}

// abbreviated returns whether the units of input and output are symbols with
// abbr=value.
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

// A joint is what stands between two values of a range.
type joint struct {
	full   string // if the units are names: a label or a text
	short  string // if they are symbols
	repeat bool   // a symbol follows each value
}

// ranges maps the words that may join two values to what stands there.
var ranges = map[string]joint{
	"to": {"to", "to", false}, "-": {"–", "–", false}, "–": {"–", "–", false}, "and": {"and", "and", false}, "or": {"or", "or", false},
	"by": {"by", "by", false}, "x": {"by", " × ", true}, "xx": {" × ", " × ", true}, "×": {" × ", " × ", true}, "*": {" × ", " × ", true},
	"+/-": {" ± ", " ± ", false}, "±": {" ± ", " ± ", false}, "to(-)": {"to", "–", false}, "and(-)": {"and", "–", false},
	"to about": {"to-about", "to-about", false}, "/": {"/", "/", false}, "+": {" + ", " + ", false}, ",": {", ", ", ", false},
	", and": {"and", "and", false}, ", or": {"or", "or", false}, "&": {" & ", " & ", false}, "a": {" a ", " a ", false}, "y": {" y ", " y ", false},
	"et": {" et ", " et ", false}, "à": {" à ", " à ", false}, "bis": {" bis ", " bis ", false}, "und": {" und ", " und ", false}, "до": {" до ", " до ", false},
}

// between returns the text of a joint.
func (s *Scanner) between(j joint, short bool) string {
	text := j.full
	if short {
		text = j.short
	}
	if label := s.label(text); label != "" {
		return label
	}
	return text
}

// input renders the quantity as it is given.
func (s *Scanner) input(q *quantity) {
	for k := range q.n {
		p := &q.parts[k]
		if k > 0 && !q.parts[k-1].unit.empty() {
			if string(q.adj) == "on" && !q.shortIn && s.table.English() {
				s.str("-") // 6-foot-7-inch
			} else {
				s.str(" ")
			}
		}
		n := parseAmount(s.aside[p.text.start:p.text.end])
		form := unitForm{short: q.shortIn, american: q.american, singular: n.singular() && !q.isRange() && p.power == "", amount: n}
		m := p.measure
		if p.unit.empty() && q.shortIn && p.joint.repeat {
			m = q.last().measure // 5 ft × 10 ft
		}
		s.inputPart(q, p, m, form)
		if p.joint != (joint{}) {
			s.str(s.between(p.joint, q.shortIn))
		}
	}
}

// inputPart renders a value with its unit, which has the measure m; or nil.
func (s *Scanner) inputPart(q *quantity, p *part, m *measure, form unitForm) {
	last := p == q.last()
	if last && string(q.adj) == "mid" {
		form.singular, form.hyphen = true, true
	}
	form.hyphen = form.hyphen || string(q.adj) == "on"
	var before, after string
	if m != nil {
		before, after = s.unitText(m, form)
	}
	s.str(before)
	mark := len(s.aside)
	s.appendInput(q, p, form.amount)
	s.text(s.aside[mark:])
	s.release(mark)
	if last && (string(q.adj) == "pre" || string(q.display) == "preunit") {
		s.affixed(" ", q.words, "")
	}
	s.str(after)
	if m == nil && !p.unit.empty() {
		s.str(" ")
		code, _ := unitPower(s.bytes(p.unit))
		s.unitSymbol(span{p.unit.end - len(code), p.unit.end})
	}
	if last && string(q.adj) == "mid" {
		s.put(q.words)
	}
}

// appendInput appends the number of an input value to s.aside: with separators,
// and with its power of ten ("5 million") as a word, or written out where the
// language of the wiki has no word.
func (s *Scanner) appendInput(q *quantity, p *part, n amount) {
	word := ""
	if p.power != "" {
		if word = s.label(p.power); word == "" && n.ok {
			s.appendDecimal(n.value*powersOfTen[p.power], n.decimals, q.grouped)
			return
		}
	}
	text := s.aside[p.text.start:p.text.end]
	start := len(s.aside)
	if q.spelling.input && n.ok && s.appendWords(n, q, q.spelling.capital && p == &q.parts[0]) {
		s.aside = append(s.aside, word...)
		return
	}
	if n.ok && n.value < 0 {
		s.aside = append(s.aside, "−"...)
		text = bytes.TrimPrefix(bytes.TrimPrefix(text, []byte("-")), []byte("−"))
	}
	if q.grouped {
		s.aside = appendGrouped(s.aside, text, digitsOf(s.page.Lang))
	} else {
		s.aside = append(s.aside, text...)
	}
	if plus := bytes.IndexByte(s.aside[start:], '+'); plus > 0 {
		s.aside[start+plus] = ' ' // 1+1/2
	}
	s.aside = append(s.aside, word...)
}

// A unitForm selects the form of a unit.
type unitForm struct {
	short    bool   // symbol
	american bool   // US spelling
	singular bool   // in English
	hyphen   bool   // in English, join a name to the number with a hyphen
	amount   amount // for the plural of other languages
}

// unitText returns what stands before and after a number with a unit.
func (s *Scanner) unitText(m *measure, f unitForm) (before, after string) {
	kind, form := rendering.UnitSymbol, ""
	if !f.short && !m.symbol && s.table.Text(rendering.UnitName, m.name) != "" {
		kind = rendering.UnitName
	}
	english := s.table.English()
	switch {
	case english && (f.singular || f.hyphen):
		form = s.table.Text(kind, m.one)
	case !english:
		form = s.table.Text(kind, m.name+" "+s.table.PluralCategory(f.amount.whole, f.amount.decimals, f.amount.fraction))
	}
	if form == "" {
		form = s.table.Text(kind, m.name)
	}
	before, after, _ = strings.Cut(form, "{0}")
	if s.baseLang() == "en" { // the English Wikipedia raises plain digits
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
