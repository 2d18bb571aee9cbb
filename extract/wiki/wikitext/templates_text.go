package wikitext

import (
	"bytes"

	"pretext/extract/wiki/rendering"
)

// interlanguage renders a link to an article on another wiki as its label or,
// without a label, as the title on this wiki: {{ill|Anna|de|Anna B.}} as
// "Anna".
func (s *Scanner) interlanguage(t rendering.Rule, args []argument) {
	if p := s.named(args, "lt", "display", "texte", "trans-title", "d"); !p.empty() {
		s.put(p)
		return
	}
	p := s.arg(args, t.N)
	if local := s.arg(args, 3); !local.empty() && t.N == 1 && s.isLanguage(p) && !s.isLanguage(s.arg(args, 2)) {
		p = local // older order of arguments: language, foreign title, title here
	}
	if !p.empty() {
		s.put(p)
		return
	}
	s.put(s.named(args, "fr", "de", "es", "title"))
}

// harvard renders an author-date reference inside a sentence:
// {{harvtxt|Smith|Jones|2001}} as "Smith & Jones (2001)".
func (s *Scanner) harvard(args []argument) {
	if last := s.named(args, "last", "last1"); !last.empty() { // {{harvs|txt|last=…|year=…}}
		s.put(last)
		s.affixed(" & ", s.named(args, "last2"), "")
		s.affixed(" (", s.named(args, "year", "year1", "date"), ")")
		return
	}
	names := 0
	for _, value := range positional(args) {
		if !value.empty() {
			names++
		}
	}
	for n := 1; n < names; n++ {
		switch {
		case n > 1 && n == names-1:
			s.str(" & ")
		case n > 1:
			s.str(", ")
		}
		s.put(s.arg(args, n))
	}
	if names > 1 {
		s.affixed(" (", s.arg(args, names), ")")
		return
	}
	s.put(s.arg(args, 1))
}

// accidentals maps the arguments of {{music}} to symbols.
var accidentals = map[string]string{
	"flat": "♭", "b": "♭", "♭": "♭", "sharp": "♯", "#": "♯", "♯": "♯", "natural": "♮", "n": "♮", "♮": "♮",
	"doubleflat": "𝄫", "bb": "𝄫", "doublesharp": "𝄪", "##": "𝄪", "x": "𝄪", "dim": "o", "aug": "+", "halfdim": "ø",
	"delta": "Δ", "major": "Δ", "whole": "𝅝", "half": "𝅗𝅥", "quarter": "♩", "eighth": "♪", "time": "",
}

// music renders {{music|flat}} as "♭" and {{music|time|3|4}} as "3/4".
func (s *Scanner) music(args []argument) {
	name := string(s.bytes(s.arg(args, 1)))
	if name == "time" {
		s.put(s.arg(args, 2))
		s.affixed("/", s.arg(args, 3), "")
		return
	}
	s.str(accidentals[name])
}

// sic renders {{sic|teh}} as "teh", without the mark "[sic]". It drops
// {{sic|?}} and {{sic|!}}.
func (s *Scanner) sic(args []argument) {
	if p := s.bytes(s.arg(args, 1)); string(p) == "?" || string(p) == "!" {
		return
	}
	s.put(s.arg(args, 1))
	s.put(s.arg(args, 2))
}

// country renders {{flag|FRA}} and {{flag|France}} as "France", in the language
// of the wiki. The argument name=, if given, replaces the name.
func (s *Scanner) country(args []argument) {
	if p := s.named(args, "name"); !p.empty() {
		s.put(p)
		return
	}
	p := s.arg(args, 1)
	code := s.bytes(p)
	if name := s.table.CountryName(code); name != "" {
		s.str(name)
		return
	}
	if !s.table.English() && rendering.IsCountry(code) {
		s.hole(s.given) // CLDR does not know the wiki's language or the country
		return
	}
	s.put(p)
}

// ship renders {{ship|USS|Enterprise|CVN-65}} and, with t.Text = "USS",
// {{USS|Enterprise|CVN-65}} as "USS Enterprise (CVN-65)". One more argument
// selects the parts to show: the sum of 4 for the prefix, 2 for the name and 1
// for the number.
func (s *Scanner) ship(t rendering.Rule, args []argument) {
	n := 1
	prefix := span{}
	if t.Text == "" {
		prefix, n = s.arg(args, 1), 2
	}
	parts, ok := parseNumber(s.bytes(s.arg(args, n+2)))
	if !ok || parts&(shipName|shipNumber) == 0 {
		parts = shipPrefix | shipName | shipNumber
	}
	if parts&shipPrefix != 0 {
		s.affixed("", prefix, " ")
		if t.Text != "" {
			s.str(t.Text)
			s.str(" ")
		}
	}
	switch number := s.arg(args, n+1); {
	case parts&shipName == 0:
		s.put(number)
	default:
		s.put(s.arg(args, n))
		if parts&shipNumber != 0 {
			s.affixed(" (", number, ")")
		}
	}
}

// The parts of a ship's name, as bits of the last argument of {{ship}}.
const (
	shipNumber = 1 << iota
	shipName
	shipPrefix
)

// shipClass renders {{sclass|Nimitz|aircraft carrier}} as "Nimitz-class
// aircraft carrier". The third argument is the format: "0" gives
// "Nimitz-class", "4" gives "Nimitz class", "5" gives "Nimitz".
func (s *Scanner) shipClass(args []argument) {
	name := s.arg(args, 1)
	switch string(s.bytes(s.arg(args, 3))) {
	case "0":
		s.affixed("", name, s.label("class"))
	case "4":
		s.affixed("", name, s.label("class-type"))
	case "5":
		s.put(name)
	default:
		s.affixed("", name, s.label("class"))
		s.affixed(" ", s.arg(args, 2), "")
	}
}

// athlete renders {{flagathlete|Ann|USA}} as "Ann (USA)".
func (s *Scanner) athlete(args []argument) {
	s.put(s.arg(args, 1))
	s.affixed(" (", s.arg(args, 2), ")")
}

// verse renders {{bibleverse|John|3:16}} as "John 3:16" and
// {{bibleverse|1|Corinthians|3:16}} as "1 Corinthians 3:16". The number of the
// book may be empty.
func (s *Scanner) verse(args []argument) {
	if book := s.named(args, "book"); !book.empty() {
		s.put(book)
		s.affixed(" ", s.named(args, "chapter"), "")
		s.affixed(":", s.named(args, "verse", "range"), "")
		return
	}
	n := 1
	if number := s.bytes(s.arg(args, 1)); len(number) <= 1 || isRoman(number) {
		s.affixed("", s.arg(args, 1), " ")
		n = 2
	}
	s.put(s.arg(args, n))
	s.affixed(" ", s.arg(args, n+1), "")
}

// century renders the centuries of the French Wikipedia: {{s|XIX|e}} as "XIXe
// siècle", {{sp|XVI|e|au|XVII|e|s}} as "XVIe au XVIIe siècles". Other wikis use
// these names for other templates: {{s|text}} strikes text out and is rendered
// as "text"; {{m|fr|mot}} marks a foreign word and is rendered as "mot".
func (s *Scanner) century(t rendering.Rule, args []argument) {
	if first := s.arg(args, 1); !isRoman(s.bytes(first)) && !isDigits(s.bytes(first)) {
		if s.isLanguage(first) {
			first = s.arg(args, 2)
		}
		s.put(first)
		return
	}
	var last []byte // the numeral just written, whose ending may follow
	between := s.label("and")
	written := 0
	for _, a := range args[1:] {
		text := s.bytes(a.value)
		switch {
		case !a.key.empty() || len(text) == 0 || string(text) == "s":
		case isRoman(text):
			s.ordinalEnding(last)
			if written > 0 {
				s.str(between)
			}
			s.put(a.value)
			last = text
			written++
		case len(last) > 0 && (string(text) == "e" || string(text) == "er"):
			s.put(a.value)
			last = nil
		default:
			s.ordinalEnding(last)
			s.str(" ")
			s.put(a.value)
			last, between = nil, " "
		}
	}
	if s.ordinalEnding(last); written > 0 {
		s.str(t.Text)
	}
}

// siglo renders the centuries of the Spanish Wikipedia: {{siglo|XVI}} as "XVI",
// {{siglo|XVI||s}} as "siglo XVI" and {{siglo|V|a|S}} as "Siglo V a. C.".
func (s *Scanner) siglo(args []argument) {
	switch word := s.bytes(s.arg(args, 3)); {
	case len(word) > 0 && word[0] == 's':
		s.str("siglo ")
	case len(word) > 0 && word[0] == 'S':
		s.str("Siglo ")
	}
	s.put(s.arg(args, 1))
	switch string(s.bytes(s.arg(args, 2))) {
	case "a":
		s.str(" a. C.")
	case "d":
		s.str(" d. C.")
	}
}

// ordinalEnding writes the French ordinal ending of a numeral, "er" after I and
// else "e". It writes nothing if numeral is empty.
func (s *Scanner) ordinalEnding(numeral []byte) {
	switch {
	case len(numeral) == 0 || s.baseLang() != "fr":
	case string(numeral) == "I":
		s.str("er")
	default:
		s.str("e")
	}
}

// incise renders {{incise|text}} as "– text –" and {{incise|text|stop}}, after
// which other punctuation follows, as "– text".
func (s *Scanner) incise(args []argument) {
	s.affixed("– ", s.arg(args, 1), "")
	if string(s.bytes(s.arg(args, 2))) != "stop" {
		s.str(" –")
	}
}

// etCetera renders {{etc.}} as "etc." and on the French Wikipedia as ", etc.",
// unless its argument virgule is "non".
func (s *Scanner) etCetera(args []argument) {
	if s.baseLang() == "fr" && string(s.bytes(s.named(args, "virgule"))) != "non" {
		s.str(", ")
	}
	s.str("etc.")
}

func isDigits(b []byte) bool {
	return len(b) > 0 && len(bytes.TrimLeft(b, "0123456789")) == 0
}

func isRoman(b []byte) bool {
	for _, c := range b {
		switch c {
		case 'I', 'V', 'X', 'L', 'C':
		default:
			return false
		}
	}
	return len(b) > 0
}

// listing renders {{listing}}, a place on Wikivoyage, as its name and
// description: "Inn (Gasthof) Nice." for name=Inn, alt=Gasthof and
// content=Nice.
func (s *Scanner) listing(args []argument) {
	s.put(s.named(args, "name"))
	s.affixed(" (", s.named(args, "alt"), ")")
	s.affixed(" ", s.named(args, "content"), "")
}
