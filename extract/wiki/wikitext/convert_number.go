package wikitext

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"pretext/extract/wiki/rendering"
	"pretext/internal/portable"
)

// An amount is a value of a {{convert}}: "12.5", "1,234", "1+1/2".
type amount struct {
	value       float64
	whole       int  // the digits before the point, at most nine of them
	fraction    int  // the digits after the point
	decimals    int  // number of digits after the point
	zeros       int  // number of zeros at the end of the digits before the point
	denominator int  // denominator of a fraction, or 0
	point       bool // it has a decimal point
	ok          bool // it is a number
}

// parseAmount parses a value as an editor writes it.
func parseAmount(text []byte) (a amount) {
	sign := 1.0
	for _, minus := range []string{"-", "−"} {
		if rest, ok := bytes.CutPrefix(text, []byte(minus)); ok {
			text, sign = rest, -1
			break
		}
	}
	if k := bytes.IndexAny(text, "/ +"); k >= 0 {
		return fractionAmount(text, sign)
	}
	digits, point, mantissa := 0, false, 0.0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
			mantissa = float64(10*mantissa) + float64(c-'0')
			switch {
			case point:
				a.decimals++
				a.fraction = 10*a.fraction + int(c-'0')
			case c == '0':
				a.zeros++
				a.whole *= 10
			default:
				a.zeros = 0
				a.whole = 10*a.whole + int(c-'0')
			}
		case c == '.' && !point:
			point = true
		case c != ',' || point:
			return amount{}
		}
	}
	if digits == 0 || digits > maxAmountDigits {
		return amount{}
	}
	if a.point = point; point {
		a.zeros = 0
	}
	a.value, a.ok = sign*mantissa/math.Pow10(a.decimals), true
	return a
}

// maxAmountDigits is the maximum number of digits of an amount. A float64 holds up to
// 15 digits exactly.
const maxAmountDigits = 15

// fractionAmount parses "1/2", "1+1/2" and "1 1/2".
func fractionAmount(text []byte, sign float64) amount {
	whole, fraction := []byte("0"), text
	if k := bytes.IndexAny(text, "+ "); k > 0 {
		whole, fraction = text[:k], text[k+1:]
	}
	top, bottom, isFraction := bytes.Cut(fraction, []byte("/"))
	w, ok1 := parseNumber(whole)
	n, ok2 := parseNumber(top)
	d, ok3 := parseNumber(bottom)
	if !isFraction || !ok1 || !ok2 || !ok3 || d == 0 {
		return amount{}
	}
	return amount{value: sign * (float64(w) + float64(n)/float64(d)), whole: w, decimals: 1, fraction: 5, denominator: d, ok: true}
}

// singular reports whether an English unit after the amount is in the singular.
func (a amount) singular() bool {
	return a.ok && (math.Abs(a.value) == 1 || a.denominator > 0 && math.Abs(a.value) < 1)
}

// roundedAmount returns the amount of a converted value.
func roundedAmount(v float64, places int) amount {
	a := amount{value: v, decimals: max(places, 0), ok: true}
	if whole, part := math.Modf(math.Abs(v)); whole < 1e9 && a.decimals < 9 {
		a.whole, a.fraction = int(whole), int(math.Round(part*math.Pow10(a.decimals)))
	}
	return a
}

// A rounding is how a converted value is rounded.
type rounding struct {
	places      int // digits after the decimal mark, negative before it; valid if given is true
	given       bool
	significant int  // number of significant digits, or 0
	multiple    int  // round to a multiple of this, or 0
	each        bool // each value of a range is rounded with its own precision
}

// maxPlaces is the maximum number of digits after the decimal mark in a converted
// value.
const maxPlaces = 12

// parsePrecision parses the argument that gives the number of digits after the decimal
// mark; ok is false if it is not one.
func parsePrecision(b []byte) (places int, ok bool) {
	digits, negative := bytes.CutPrefix(b, []byte("-"))
	v, ok := parseNumber(digits)
	if !ok || v > maxPlaces {
		return 0, false
	}
	if negative {
		v = -v
	}
	return v, true
}

// A conversion is a value in one unit, in, converted to another unit, out.
type conversion struct {
	amount        amount
	value, result float64 // in the units in and out, respectively
	in, out       *measure
	scale         float64 // scale of the unit in, with its power of ten
	compound      bool    // the input is a sum such as 5 ft 10 in
}

// defaultPlaces returns the number of digits after the decimal mark that Module:Convert
// shows by default. The result is about as precise as the input, with at least two
// significant digits; for temperatures, with three significant digits of the value
// in kelvin. The formulas are those of the module's function default_precision.
func (c conversion) defaultPlaces() int {
	const fudge = 1e-14
	places := 0.0
	switch {
	case c.amount.denominator > 0:
		places = max(portable.Log10(float64(c.amount.denominator)), 1)
	case c.amount.point:
		places = float64(c.amount.decimals)
	case !c.compound:
		places = -float64(c.amount.zeros)
	}
	result := math.Abs(c.result)
	if c.in.kind == kindTemperature {
		kelvin := math.Abs((c.value - c.in.offset) * c.in.scale)
		least := 2.0
		if kelvin >= 1e-8 {
			least = 2 - math.Floor(portable.Log10(kelvin)+fudge)
		}
		return bounded(max(math.Floor(places), least))
	}
	if c.value == 0 || result == 0 {
		return 0
	}
	adjust := portable.Log10(math.Abs(c.value / result))
	switch {
	case c.out.name == moreThanInteger && math.Floor(c.value) == c.value:
		adjust = -portable.Log10(c.scale)
	case c.compound && c.in.name == "inch":
		adjust = portable.Log10(c.out.scale) + 2
	}
	least := 1 - math.Floor(portable.Log10(result)+fudge)
	return bounded(max(math.Floor(places+adjust+portable.Log10(2)), least))
}

func bounded(places float64) int { return int(min(max(places, -maxPlaces), maxPlaces)) }

// roundPlaces rounds v to a number of digits after the decimal mark, halves away
// from zero.
func roundPlaces(v float64, places int) float64 {
	power := math.Pow10(places)
	return math.Copysign(math.Floor(float64(math.Abs(v)*power)+0.5)/power, v)
}

// of returns the number of digits after the decimal mark to show for c.
func (r rounding) of(c conversion) int {
	switch {
	case r.given:
		return r.places
	case r.significant > 0 && c.result != 0:
		return bounded(float64(r.significant) - 1 - math.Floor(portable.Log10(math.Abs(c.result))+1e-14))
	case r.multiple > 0:
		return 0
	}
	return c.defaultPlaces()
}

// round returns v rounded to the given number of digits, or to a multiple.
func (r rounding) round(v float64, places int) float64 {
	if r.multiple > 0 {
		m := float64(r.multiple)
		return math.Copysign(math.Floor(math.Abs(v)/m+0.5)*m, v)
	}
	return roundPlaces(v, places)
}

// appendDecimal appends a number to x.aside, with the separators of the wiki's
// language.
func (x *converter) appendDecimal(v float64, places int, grouped bool) {
	var buf [64]byte
	plain := strconv.AppendFloat(buf[:0], math.Abs(v), 'f', max(places, 0), 64)
	if v < 0 && len(bytes.Trim(plain, "0.")) > 0 {
		x.aside = append(x.aside, "−"...)
	}
	if grouped {
		x.aside = x.wiki.numbers.AppendGrouped(x.aside, string(plain))
		return
	}
	x.aside = append(x.aside, plain...)
}

// An input is the value of a quantity as numbers.
type input struct {
	amounts  [maxParts]amount
	n        int // amounts in use; more than one: a range
	unit     *measure
	scale    float64 // scale of the unit, with its power of ten
	compound bool    // the only amount is a sum such as 5 ft 10 in, in the last unit
}

// amounts returns the input of a quantity; ok is false if a value is not a number
// or the unit is not known.
func (x *converter) amounts() (in input, ok bool) {
	if in.unit = x.last().measure; in.unit == nil {
		return in, false
	}
	in.scale = in.unit.scale
	if power := x.last().power; power != "" {
		in.scale *= powersOfTen[power]
	}
	total := 0.0
	for k := range x.n {
		p := &x.parts[k]
		a := parseAmount(x.aside[p.text.start:p.text.end])
		if !a.ok {
			return in, false
		}
		in.amounts[k] = a
		if p.measure != nil {
			if p.kind != in.unit.kind {
				return in, false
			}
			total += float64(a.value * p.scale)
		}
	}
	if in.n = x.n; x.n > 1 && x.parts[0].measure != nil {
		in.compound, in.n = true, 1
		in.amounts[0] = in.amounts[x.n-1]
		in.amounts[0].value = total / in.unit.scale
	}
	return in, true
}

// conversion appends the converted value of a quantity with its units to x.aside: "3.1
// to 6.2 mi", or "37 km; 23 mi". The returned span is empty if a value or unit is
// unknown.
func (x *converter) conversion() span {
	in, ok := x.amounts()
	if !ok {
		return span{}
	}
	start := len(x.aside)
	for k, to := range x.to[:x.nTo] {
		if k > 0 {
			x.aside = append(x.aside, "; "...)
		}
		if !x.appendConverted(&in, to) {
			return span{}
		}
	}
	return span{start, len(x.aside)}
}

// appendConverted appends the quantity converted to one target; ok is false if the
// target's unit is unknown.
func (x *converter) appendConverted(in *input, to target) (ok bool) {
	out, power, multiple := to.measure, x.wiki.label(to.power), 1.0
	if out == nil || out.kind != in.unit.kind {
		return false
	}
	if power != "" { // otherwise the wiki's language has no word for the power of ten
		multiple = powersOfTen[to.power]
	}
	var list [maxParts]conversion
	most := -maxPlaces
	for k, a := range in.amounts[:in.n] {
		c := conversion{amount: a, value: a.value, in: in.unit, scale: in.scale, out: out, compound: in.compound}
		c.result = (a.value-in.unit.offset)*in.scale/(out.scale*multiple) + out.offset
		list[k] = c
		most = max(most, x.rounding.of(c))
	}
	for k, c := range list[:in.n] {
		if x.rounding.each {
			most = x.rounding.of(c)
		}
		v := x.rounding.round(c.result, most)
		if x.denominator > 0 {
			v = math.Round(c.result*float64(x.denominator)) / float64(x.denominator)
		}
		j := x.parts[k].joint
		last := k == in.n-1
		if to.inches {
			x.appendFeetAndInches(v, most)
		} else {
			bare := string(x.display) == "number" || string(x.display) == "output number only" || !last && !(j.repeat && x.shortOut)
			x.appendOutput(out, roundedAmount(v, most), power, bare)
		}
		if !last {
			x.aside = append(x.aside, x.between(j, x.shortOut)...)
		}
	}
	return true
}

// appendOutput appends a converted value with the word for a power of ten and,
// unless bare, its unit.
func (x *converter) appendOutput(m *measure, a amount, power string, bare bool) {
	before, after := "", ""
	if !bare {
		before, after = x.unitText(m, unitForm{short: x.shortOut, american: x.american, singular: a.singular(), amount: a})
	}
	x.aside = append(x.aside, before...)
	if x.spelling.output && x.appendWords(a, false) {
		// appendWords has written it in words
	} else if whole := math.Trunc(a.value); x.denominator > 1 && whole != a.value {
		x.appendFraction(whole, a.value-whole, x.denominator)
	} else if x.denominator > 0 {
		x.appendDecimal(a.value, 0, x.grouped)
	} else {
		x.appendDecimal(a.value, a.decimals, x.grouped)
	}
	x.aside = append(append(x.aside, power...), after...)
}

// appendFraction appends a mixed number such as "5 3/8". part is a multiple of
// 1/denominator.
func (x *converter) appendFraction(whole, part float64, denominator int) {
	n := int(math.Round(math.Abs(part) * float64(denominator)))
	for a, b := n, denominator; ; a, b = b%a, a {
		if a == 0 { // b is the greatest common divisor
			n, denominator = n/b, denominator/b
			break
		}
	}
	if whole != 0 {
		x.appendDecimal(whole, 0, true)
		x.aside = append(x.aside, ' ')
	} else if part < 0 {
		x.aside = append(x.aside, "−"...)
	}
	x.aside = strconv.AppendInt(x.aside, int64(n), 10)
	x.aside = append(x.aside, '/')
	x.aside = strconv.AppendInt(x.aside, int64(denominator), 10)
}

// appendFeetAndInches appends a length in inches as feet and inches.
func (x *converter) appendFeetAndInches(v float64, places int) {
	feet := math.Floor(math.Abs(v) / 12)
	inches := math.Abs(v) - float64(12*feet)
	if x.denominator == 0 {
		inches = roundPlaces(inches, max(places, 0))
	}
	if inches >= 12 {
		feet, inches = feet+1, inches-12
	}
	if v < 0 {
		x.aside = append(x.aside, "−"...)
	}
	if feet > 0 {
		x.appendOutput(measures["ft"], roundedAmount(feet, 0), "", false)
		x.aside = append(x.aside, ' ')
	}
	x.appendOutput(measures["in"], roundedAmount(inches, places), "", false)
}

// powersOfTen are the prefixes of unit codes that mean a power of ten, by label.
var powersOfTen = map[string]float64{"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}

// unitPower splits the code of a unit: "e6acre" is "acre" and the label
// "million".
func unitPower(code []byte) (unit []byte, power string) {
	if len(code) > 2 && code[0] == 'e' {
		for _, m := range []struct{ prefix, label string }{{"e12", "trillion"}, {"e3", "thousand"}, {"e6", "million"}, {"e9", "billion"}} {
			if rest, ok := bytes.CutPrefix(code, []byte(m.prefix)); ok && len(rest) > 0 {
				return rest, m.label
			}
		}
	}
	return code, ""
}

// unit renders the code of a unit as its symbol, "km2" as "km²". A prefix may
// mean a power of ten: "e6acre" is "million acres".
func (c *call) unit(p span) {
	if code := string(c.bytes(p)); code == "C" || code == "F" { // coulomb and farad; for {{convert}}, degrees
		c.str(code)
		return
	}
	code, power := unitPower(c.bytes(p))
	if word := c.wiki.label(power); word != "" {
		c.str(strings.TrimPrefix(word, " "))
		c.str(" ")
	}
	c.unitSymbol(span{p.end - len(code), p.end})
}

// unitSymbol renders a unit code without a power of ten as the unit's symbol. An
// unknown code is shown unchanged.
func (c *call) unitSymbol(p span) {
	code := c.bytes(p)
	if symbol := c.wiki.table.TextOf(rendering.Unit, code); symbol != "" {
		c.str(symbol)
		return
	}
	if m := measures[string(code)]; m != nil {
		_, after := c.unitText(m, unitForm{short: true})
		c.str(strings.TrimPrefix(after, " "))
		return
	}
	if bytes.ContainsAny(code, "[{<&") {
		c.put(p)
		return
	}
	mark := len(c.aside)
	for i, b := range code {
		last := i == len(code)-1 || class[code[i+1]]&classLetter == 0 && code[i+1] < 0x80 && (code[i+1] < '0' || code[i+1] > '9')
		if (b == '2' || b == '3') && last && i > 0 && class[code[i-1]]&classLetter != 0 {
			if c.wiki.baseLang() == "en" {
				c.aside = append(c.aside, b) // English wikis raise the plain digit with <sup>
			} else {
				c.aside = append(c.aside, 0xC2, 0xB0+b-'0') // ² and ³
			}
		} else {
			c.aside = append(c.aside, b)
		}
	}
	c.text(c.aside[mark:])
	c.release(mark)
}
