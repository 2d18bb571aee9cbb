package wikitext

import (
	"bytes"
	"strings"

	"pretext/extract/wiki/rendering"
)

// value renders {{val|12345|0.5|e=6|u=km}} as "12,345±0.5×106 km": a number or
// a range of numbers, an uncertainty, a power of ten and a unit. Superscripts
// are not marked.
func (s *Scanner) value(args []argument) {
	s.put(s.named(args, "p"))
	first := s.arg(args, 1)
	s.signed(first)
	n := 2
	for ; ; n += 2 {
		joint, ok := ranges[string(s.bytes(s.arg(args, n)))]
		if !ok || s.arg(args, n+1).empty() {
			break
		}
		s.str(s.between(joint, false))
		s.signed(s.arg(args, n+1))
	}
	s.put(s.named(args, "end"))
	s.uncertainty(s.arg(args, n), s.arg(args, n+1))
	if power := s.named(args, "e"); !power.empty() {
		if !first.empty() {
			s.str("×")
		}
		s.affixed("10", power, "")
	}
	if u := s.named(args, "u", "ul"); !u.empty() {
		s.str(" ")
		s.unit(u)
		if per := s.named(args, "up", "upl"); !per.empty() {
			s.str("/")
			s.unit(per)
		}
	}
	s.put(s.named(args, "s"))
}

// uncertainty renders the uncertainty of a value: "±0.5", "+0.1 −0.2" if low is
// given, or high itself if it is in parentheses.
func (s *Scanner) uncertainty(high, low span) {
	switch b := s.bytes(high); {
	case !low.empty():
		s.affixed(" +", s.unsigned(high), "")
		s.affixed(" −", s.unsigned(low), "")
	case len(b) > 0 && b[0] == '(':
		s.put(high)
	default:
		s.affixed("±", high, "")
	}
}

// signed renders a number with a typographic minus sign.
func (s *Scanner) signed(p span) {
	if b := s.bytes(p); len(b) > 1 && b[0] == '-' {
		s.str("−")
		p.start++
	}
	s.number(p)
}

// unsigned returns the span of a number without its sign.
func (s *Scanner) unsigned(p span) span {
	for _, sign := range []string{"+", "-", "−"} {
		if b := s.bytes(p); len(b) > len(sign) && string(b[:len(sign)]) == sign {
			p.start += len(sign)
			break
		}
	}
	return p
}

// nuclide renders {{nuclide|U|235}} and {{nuclide|uranium|235}} as "235U".
func (s *Scanner) nuclide(args []argument) {
	name := s.arg(args, 1)
	s.put(s.arg(args, 2))
	if symbol := elementSymbols[string(bytes.ToLower(s.bytes(name)))]; symbol != "" {
		s.str(symbol)
		return
	}
	s.put(name)
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

// stacked renders {{su|p=2|b=3}}, a superscript above a subscript, as "2 3".
func (s *Scanner) stacked(args []argument) {
	above, below := s.named(args, "p"), s.named(args, "b")
	s.put(above)
	if !above.empty() && !below.empty() {
		s.str(" ")
	}
	s.put(below)
}

// braKet renders {{bra-ket|x|y}} as "⟨x|y⟩" and, with t.N = 1, {{ket|y}} as
// "|y⟩".
func (s *Scanner) braKet(t rendering.Rule, args []argument) {
	if t.N == 1 {
		s.affixed("|", s.arg(args, 1), "⟩")
		return
	}
	s.affixed("⟨", s.arg(args, 1), "|")
	s.affixed("", s.arg(args, 2), "⟩")
}

// amountWords maps the codes for powers of ten in {{INRConvert}} and
// {{FXConvert}} to labels.
var amountWords = map[string]string{
	"k": "thousand", "m": "million", "b": "billion", "t": "trillion", "l": "lakh", "c": "crore", "lc": "lakh-crore",
}

// amount renders an amount of money without its conversion to another currency:
// {{INRConvert|5|c}} as "₹5 crore". The code for the power of ten is argument
// t.N+1. If the language of the wiki has no word for it, the amount is a hole.
func (s *Scanner) amount(t rendering.Rule, args []argument) {
	p := s.arg(args, t.N)
	power := amountWords[string(s.bytes(s.arg(args, t.N+1)))]
	word := s.label(power)
	switch {
	case p.empty():
		return
	case power != "" && word == "":
		s.hole(s.given)
		return
	}
	s.str(t.Text)
	s.number(p)
	s.str(word)
}

// sterling renders {{£sd|l=5|s=6|d=7}} as "£5 6s 7d".
func (s *Scanner) sterling(args []argument) {
	between := ""
	for _, part := range []struct{ key, before, after string }{{"l", "£", ""}, {"s", "", "s"}, {"d", "", "d"}} {
		if p := s.named(args, part.key); !p.empty() {
			s.affixed(between+part.before, p, part.after)
			between = " "
		}
	}
}

// gauge renders {{track gauge|1435mm}} as "1,435 mm" and {{track
// gauge|4ft8.5in}} as "4 ft 8.5 in". The name of a gauge, such as "standard",
// is rendered as its size.
func (s *Scanner) gauge(args []argument) {
	p := s.arg(args, 1)
	code := s.bytes(p)
	if named := gaugeNames[string(bytes.ToLower(code))]; named != "" {
		s.str(s.regroup(named))
		return
	}
	digits := bytes.TrimLeft(code, "0123456789.,")
	if len(digits) == len(code) {
		s.put(p)
		return
	}
	for len(digits) > 0 { // 4ft8.5in: numbers and units in turn
		s.number(span{p.start, p.end - len(digits)})
		rest := bytes.TrimLeft(digits, " abcdefghijklmnopqrstuvwxyz")
		s.affixed(" ", s.trim(p.end-len(digits), p.end-len(rest)), "")
		if len(rest) > 0 {
			s.str(" ")
		}
		p.start = p.end - len(rest)
		if digits = bytes.TrimLeft(rest, "0123456789.,+/"); len(digits) == len(rest) {
			break
		}
	}
	s.put(p)
}

// regroup returns a text with an English number, "1,435 mm", with the separators
// of the wiki's language.
func (s *Scanner) regroup(text string) string {
	return strings.Replace(text, ",", digitsOf(s.page.Lang).group, 1)
}

// gaugeNames maps the names of gauges in {{track gauge}} to sizes.
var gaugeNames = map[string]string{
	"standard": "1,435 mm", "sg": "1,435 mm", "ussg": "4 ft 8 1/2 in", "uksg": "4 ft 8 1/2 in", "metre": "1,000 mm", "meter": "1,000 mm",
	"cape": "1,067 mm", "jp": "1,067 mm", "russian": "1,520 mm", "ru": "1,520 mm", "iberian": "1,668 mm", "irish": "5 ft 3 in",
	"indian": "5 ft 6 in", "broad": "5 ft 6 in", "bosnian": "760 mm", "scotch": "4 ft 6 in", "brunel": "7 ft 1/4 in",
}
