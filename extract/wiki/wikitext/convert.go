package wikitext

import (
	"bytes"
	"strings"
	"unicode"

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
		if words := x.bytes(x.words); len(words) > 0 && unicode.IsLetter(rune(words[0])) {
			x.str(" ")
		}
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
