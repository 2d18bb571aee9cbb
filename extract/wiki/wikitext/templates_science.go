package wikitext

import (
	"bytes"
	"strings"
)

// opValue renders {{val|12345|0.5|e=6|u=km}} as "12,345±0.5×106 km": a number or
// a range of numbers, an uncertainty, a power of ten and a unit. Superscripts
// are not marked.
func opValue(c call) {
	c.put(c.named("p"))
	first := c.arg(1)
	c.signed(first)
	n := 2
	for ; ; n += 2 {
		joint, ok := ranges[string(c.bytes(c.arg(n)))]
		if !ok || c.arg(n+1).empty() {
			break
		}
		c.str(c.between(joint, false))
		c.signed(c.arg(n + 1))
	}
	c.put(c.named("end"))
	c.uncertainty(c.arg(n), c.arg(n+1))
	if power := c.named("e"); !power.empty() {
		if !first.empty() {
			c.str("×")
		}
		c.str("10")
		exponent(&c, power)
	}
	if u := c.named("u", "ul"); !u.empty() {
		c.str(" ")
		c.unit(u)
		if per := c.named("up", "upl"); !per.empty() {
			c.str("/")
			c.unit(per)
		}
	}
	c.put(c.named("s"))
}

// uncertainty renders the uncertainty of a value: "±0.5", "+0.1 −0.2" if low is
// given, or high itself if it is in parentheses.
func (c *call) uncertainty(high, low span) {
	switch b := c.bytes(high); {
	case !low.empty():
		c.str(" +")
		c.number(c.unsigned(high))
		c.str(" −")
		c.number(c.unsigned(low))
	case len(b) > 0 && b[0] == '(':
		c.put(high)
	case len(b) > 0:
		c.str("±")
		c.number(high)
	}
}

// signed renders a number with a typographic minus sign.
func (c *call) signed(p span) {
	if b := c.bytes(p); len(b) > 1 && b[0] == '-' {
		c.str("−")
		p.start++
	}
	c.number(p)
}

// exponent renders an exponent with a typographic minus sign.
func exponent(c *call, p span) {
	if b := c.bytes(p); len(b) > 1 && b[0] == '-' {
		c.str("−")
		p.start++
	}
	c.put(p)
}

// unsigned returns the span of a number without its sign.
func (c *call) unsigned(p span) span {
	for _, sign := range []string{"+", "-", "−"} {
		if b := c.bytes(p); len(b) > len(sign) && string(b[:len(sign)]) == sign {
			p.start += len(sign)
			break
		}
	}
	return p
}

// opNuclide renders {{nuclide|U|235}} and {{nuclide|uranium|235}} as "235U".
func opNuclide(c call) {
	name := c.arg(1)
	c.put(c.arg(2))
	if symbol := elementSymbols[string(bytes.ToLower(c.bytes(name)))]; symbol != "" {
		c.str(symbol)
		return
	}
	c.put(name)
}

// opChemistry renders the formula in {{chem2|SO4(2-)}} as "SO42−": charges are in parentheses,
// with the sign behind the number, and "->" is an arrow.
func opChemistry(c call) {
	text, mark := c.capture(c.arg(1))
	end := len(c.aside)
	c.aside = appendFormula(c.aside, text)
	c.text(c.aside[end:])
	c.release(mark)
}

// appendFormula appends a formula as {{chem2}} shows it.
func appendFormula(dst, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch n := leadingDigits(rest[1:]); {
		case rest[0] == '(' && n > 0 && len(rest) > n+2 && (rest[n+1] == '-' || rest[n+1] == '+') && rest[n+2] == ')':
			dst = append(dst, rest[1:n+1]...)
			if rest[n+1] == '-' {
				dst = append(dst, "−"...)
			} else {
				dst = append(dst, '+')
			}
			i += n + 2
		case bytes.HasPrefix(rest, []byte("->")):
			dst = append(dst, "→"...)
			i++
		case rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ') && i > 0 && text[i-1] != ' ': // the charge of an ion; otherwise a bond
			dst = append(dst, "−"...)
		default:
			dst = append(dst, rest[0])
		}
	}
	return dst
}

// elementSymbols maps the English names of the chemical elements to their
// symbols (IUPAC).
var elementSymbols = buildElementSymbols("hydrogen H helium He lithium Li beryllium Be boron B carbon C nitrogen N oxygen O fluorine F neon Ne " +
	"sodium Na magnesium Mg aluminium Al aluminum Al silicon Si phosphorus P sulfur S sulphur S chlorine Cl argon Ar potassium K calcium Ca " +
	"scandium Sc titanium Ti vanadium V chromium Cr manganese Mn iron Fe cobalt Co nickel Ni copper Cu zinc Zn gallium Ga germanium Ge " +
	"arsenic As selenium Se bromine Br krypton Kr rubidium Rb strontium Sr yttrium Y zirconium Zr niobium Nb molybdenum Mo technetium Tc " +
	"ruthenium Ru rhodium Rh palladium Pd silver Ag cadmium Cd indium In tin Sn antimony Sb tellurium Te iodine I xenon Xe caesium Cs " +
	"cesium Cs barium Ba lanthanum La cerium Ce praseodymium Pr neodymium Nd promethium Pm samarium Sm europium Eu gadolinium Gd terbium Tb " +
	"dysprosium Dy holmium Ho erbium Er thulium Tm ytterbium Yb lutetium Lu hafnium Hf tantalum Ta tungsten W rhenium Re osmium Os " +
	"iridium Ir platinum Pt gold Au mercury Hg thallium Tl lead Pb bismuth Bi polonium Po astatine At radon Rn francium Fr radium Ra " +
	"actinium Ac thorium Th protactinium Pa uranium U neptunium Np plutonium Pu americium Am curium Cm berkelium Bk californium Cf " +
	"einsteinium Es fermium Fm mendelevium Md nobelium No lawrencium Lr rutherfordium Rf dubnium Db seaborgium Sg bohrium Bh hassium Hs " +
	"meitnerium Mt darmstadtium Ds roentgenium Rg copernicium Cn nihonium Nh flerovium Fl moscovium Mc livermorium Lv tennessine Ts oganesson Og")

func buildElementSymbols(list string) map[string]string {
	words := strings.Fields(list)
	m := make(map[string]string, len(words)/2)
	for k := 0; k+1 < len(words); k += 2 {
		m[words[k]] = words[k+1]
	}
	return m
}

// opStacked renders {{su|p=2|b=3}}, a superscript above a subscript, as "2 3".
func opStacked(c call) {
	above, below := c.named("p"), c.named("b")
	c.put(above)
	if !above.empty() && !below.empty() {
		c.str(" ")
	}
	c.put(below)
}

// opBraKet renders {{bra-ket|x|y}} as "⟨x|y⟩" and, with c.rule.N = 1, {{ket|y}} as
// "|y⟩".
func opBraKet(c call) {
	if c.rule.N == 1 {
		c.affixed("|", c.arg(1), "⟩")
		return
	}
	c.affixed("⟨", c.arg(1), "|")
	c.affixed("", c.arg(2), "⟩")
}

// amountWords maps the codes for powers of ten in {{INRConvert}} and
// {{FXConvert}} to labels.
var amountWords = map[string]string{
	"k": "thousand", "m": "million", "b": "billion", "t": "trillion", "l": "lakh", "c": "crore", "lc": "lakh-crore",
}

// opAmount renders an amount of money: {{INRConvert|5|c}} as "₹5 crore". The conversion
// to another currency is dropped. Argument c.rule.N+1 is the code for the power of ten.
// If the wiki's language has no word for it, the template is dropped and counts as a
// [Hole].
func opAmount(c call) {
	p := c.arg(c.rule.N)
	power := amountWords[string(c.bytes(c.arg(c.rule.N+1)))]
	word := c.wiki.label(power)
	switch {
	case p.empty():
		return
	case power != "" && word == "":
		c.hole(c.given)
		return
	}
	c.str(c.rule.Text)
	c.number(p)
	c.str(word)
}

// opSterling renders {{£sd|l=5|s=6|d=7}} as "£5 6s 7d".
func opSterling(c call) {
	between := ""
	for _, part := range []struct{ key, before, after string }{{"l", "£", ""}, {"s", "", "s"}, {"d", "", "d"}} {
		if p := c.named(part.key); !p.empty() {
			c.affixed(between+part.before, p, part.after)
			between = " "
		}
	}
}

// opGauge renders {{track gauge|1435mm}} as "1,435 mm" and {{track
// gauge|4ft8.5in}} as "4 ft 8.5 in". The name of a gauge, such as "standard",
// is rendered as its size.
func opGauge(c call) {
	p := c.arg(1)
	code := c.bytes(p)
	if named := gaugeNames[string(bytes.ToLower(code))]; named != "" {
		c.str(c.regroup(named))
		return
	}
	digits := bytes.TrimLeft(code, "0123456789.,")
	if len(digits) == len(code) {
		c.put(p)
		return
	}
	for len(digits) > 0 { // 4ft8.5in: numbers and units alternate
		c.number(span{p.start, p.end - len(digits)})
		rest := bytes.TrimLeft(digits, " abcdefghijklmnopqrstuvwxyz")
		c.affixed(" ", c.in.trim(p.end-len(digits), p.end-len(rest)), "")
		if len(rest) > 0 {
			c.str(" ")
		}
		p.start = p.end - len(rest)
		if digits = bytes.TrimLeft(rest, "0123456789.,+/"); len(digits) == len(rest) {
			break
		}
	}
	c.put(p)
}

// regroup converts the separators of an English number in text, such as "1,435 mm", to
// those of the wiki's language.
func (c *call) regroup(text string) string {
	return strings.Replace(text, ",", c.wiki.numbers.Group, 1)
}

// gaugeNames maps the gauge names in {{track gauge}} to sizes.
var gaugeNames = map[string]string{
	"standard": "1,435 mm", "sg": "1,435 mm", "ussg": "4 ft 8 1/2 in", "uksg": "4 ft 8 1/2 in", "metre": "1,000 mm", "meter": "1,000 mm",
	"cape": "1,067 mm", "jp": "1,067 mm", "russian": "1,520 mm", "ru": "1,520 mm", "iberian": "1,668 mm", "irish": "5 ft 3 in",
	"indian": "5 ft 6 in", "broad": "5 ft 6 in", "bosnian": "760 mm", "scotch": "4 ft 6 in", "brunel": "7 ft 1/4 in",
}
