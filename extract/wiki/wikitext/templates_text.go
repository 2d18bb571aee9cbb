package wikitext

import (
	"bytes"
	"strings"

	"pretext/extract/wiki/rendering"
)

// opLink renders a link to an article on another wiki as its label or,
// without a label, as the title on this wiki: {{ill|Anna|de|Anna B.}} as
// "Anna".
func opLink(c call) {
	if p := c.named("lt", "display", "texte", "trans-title", "d"); !p.empty() {
		c.put(p)
		return
	}
	p := c.arg(c.rule.N)
	if foreign := c.arg(2); c.rule.N == 1 && !foreign.empty() && c.isLanguage(p) && !c.isLanguage(foreign) {
		p = either(c.arg(3), foreign) // older order of arguments: language, foreign title, title on this wiki, label
		if label := c.arg(4); !label.empty() && !c.isLanguage(label) {
			p = label
		}
	}
	if p.empty() {
		p = c.named("fr", "de", "es", "title")
	}
	c.put(either(p, c.arg(1))) // {{нп5|Anna}}: no label
}

// opArg renders the text of the rule, then argument n. A template without arguments shows
// what stands before them: {{n°|5}} is "no 5", and so is {{n°}}5.
func opArg(c call) {
	if len(c.args) == 1 {
		c.str(c.rule.Text)
		return
	}
	c.affixed(c.rule.Text, c.arg(c.rule.N), "")
}

// opElse renders argument n, or the text of the rule if it is empty.
func opElse(c call) {
	if p := c.arg(c.rule.N); !p.empty() {
		c.put(p)
		return
	}
	c.str(c.rule.Text)
}

// opHarvard renders an author-date reference inside a sentence:
// {{harvtxt|Smith|Jones|2001}} as "Smith & Jones (2001)".
func opHarvard(c call) {
	if last := c.named("last", "last1"); !last.empty() { // {{harvs|txt|last=…|year=…}}
		c.put(last)
		c.affixed(" & ", c.named("last2"), "")
		c.affixed(" (", c.named("year", "year1", "date"), ")")
		return
	}
	names := 0
	for _, value := range positional(c.args) {
		if !value.empty() {
			names++
		}
	}
	for n := 1; n < names; n++ {
		switch {
		case n > 1 && n == names-1:
			c.str(" & ")
		case n > 1:
			c.str(", ")
		}
		c.put(c.arg(n))
	}
	if names > 1 {
		c.affixed(" (", c.arg(names), ")")
		return
	}
	c.put(c.arg(1))
}

// accidentals maps the arguments of {{music}} to symbols.
var accidentals = map[string]string{
	"flat": "♭", "b": "♭", "♭": "♭", "sharp": "♯", "#": "♯", "♯": "♯", "natural": "♮", "n": "♮", "♮": "♮",
	"doubleflat": "𝄫", "bb": "𝄫", "doublesharp": "𝄪", "##": "𝄪", "x": "𝄪", "dim": "o", "aug": "+", "halfdim": "ø",
	"delta": "Δ", "major": "Δ", "whole": "𝅝", "half": "𝅗𝅥", "quarter": "♩", "eighth": "♪", "time": "",
}

// opMusic renders {{music|flat}} as "♭" and {{music|time|3|4}} as "3/4".
func opMusic(c call) {
	name := string(c.bytes(c.arg(1)))
	if name == "time" {
		c.put(c.arg(2))
		c.affixed("/", c.arg(3), "")
		return
	}
	c.str(accidentals[name])
}

// opSic renders {{sic|teh}} as "teh", without the mark "[sic]". It drops
// {{sic|?}} and {{sic|!}}.
func opSic(c call) {
	if p := c.bytes(c.arg(1)); string(p) == "?" || string(p) == "!" {
		return
	}
	c.put(c.arg(1))
	c.put(c.arg(2))
}

// opCountry renders {{flag|FRA}} and {{flag|France}} as "France", in the language
// of the wiki. The argument name=, if given, replaces the name.
func opCountry(c call) {
	if p := c.named("name"); !p.empty() {
		c.put(p)
		return
	}
	p := c.arg(1)
	code := c.bytes(p)
	if name := c.wiki.table.CountryName(code); name != "" {
		c.str(name)
		return
	}
	if !c.wiki.table.English() && rendering.IsCountry(code) {
		c.hole(c.given) // CLDR has no data for the wiki's language or the country
		return
	}
	c.put(p)
}

// opShip renders {{ship|USS|Enterprise|CVN-65}} and, with c.rule.Text = "USS",
// {{USS|Enterprise|CVN-65}} as "USS Enterprise (CVN-65)". An optional last argument
// selects the parts to show, as a sum: 4 for the prefix, 2 for the name, 1 for the
// number.
func opShip(c call) {
	n := 1
	prefix := span{}
	if c.rule.Text == "" {
		prefix, n = c.arg(1), 2
	}
	parts, ok := parseNumber(c.bytes(c.arg(n + 2)))
	if !ok || parts&(shipName|shipNumber) == 0 {
		parts = shipPrefix | shipName | shipNumber
	}
	if parts&shipPrefix != 0 {
		c.affixed("", prefix, " ")
		if c.rule.Text != "" {
			c.str(c.rule.Text)
			c.str(" ")
		}
	}
	switch number := c.arg(n + 1); {
	case parts&shipName == 0:
		c.put(number)
	default:
		c.put(c.arg(n))
		if parts&shipNumber != 0 {
			c.affixed(" (", number, ")")
		}
	}
}

// The parts of a ship's name, as bits of the last argument of {{ship}}.
const (
	shipNumber = 1 << iota
	shipName
	shipPrefix
)

// opShipClass renders {{sclass|Nimitz|aircraft carrier}} as "Nimitz-class
// aircraft carrier". The third argument is the format: "0" gives
// "Nimitz-class", "4" gives "Nimitz class", "5" gives "Nimitz".
func opShipClass(c call) {
	name := c.arg(1)
	switch string(c.bytes(c.arg(3))) {
	case "0":
		c.affixed("", name, c.wiki.label("class"))
	case "4":
		c.affixed("", name, c.wiki.label("class-type"))
	case "5":
		c.put(name)
	default:
		c.affixed("", name, c.wiki.label("class"))
		c.affixed(" ", c.arg(2), "")
	}
}

// opAthlete renders {{flagathlete|Ann|USA}} as "Ann (USA)".
func opAthlete(c call) {
	c.put(c.arg(1))
	c.affixed(" (", c.arg(2), ")")
}

// opVerse renders {{bibleverse|John|3:16}} as "John 3:16" and
// {{bibleverse|1|Corinthians|3:16}} as "1 Corinthians 3:16". The number of the
// book may be empty. {{Bibel|Mt|5|3}} of the German Wikipedia is "Mt 5,3".
func opVerse(c call) {
	if book := c.named("book"); !book.empty() {
		c.put(book)
		c.affixed(" ", c.named("chapter"), "")
		c.affixed(":", c.named("verse", "range"), "")
		return
	}
	n := 1
	if number := c.bytes(c.arg(1)); len(number) <= 1 || isRoman(number) {
		c.affixed("", c.arg(1), " ")
		n = 2
	}
	c.put(c.arg(n))
	c.affixed(" ", c.arg(n+1), "")
	if verse := c.arg(n + 2); leadingDigits(c.bytes(verse)) > 0 { // and no edition, as KJV
		c.affixed(c.wiki.label("verse"), verse, "")
	}
}

// opCentury renders the centuries of the French Wikipedia: {{s|XIX|e}} as "XIXe
// siècle", {{sp|XVI|e|au|XVII|e}} as "XVIe au XVIIe siècle", with a last argument "s" in the
// plural. Other wikis use
// these names for other templates: {{s|text}} strikes text out and is rendered
// as "text"; {{m|fr|mot}} marks a foreign word and is rendered as "mot".
func opCentury(c call) {
	if first := c.arg(1); !isRoman(c.bytes(first)) && !isDigits(c.bytes(first)) {
		if c.isLanguage(first) {
			first = c.arg(2)
		}
		c.put(first)
		return
	}
	var last []byte // the numeral just written, whose ending may follow
	plural := false
	between := c.wiki.label("and")
	written := 0
	for _, a := range c.args[1:] {
		text := c.bytes(a.value)
		switch {
		case !a.key.empty() || len(text) == 0:
		case string(text) == "s":
			plural = true
		case isRoman(text):
			c.ordinalEnding(last)
			if written > 0 {
				c.str(between)
			}
			c.put(a.value)
			last = text
			written++
		case len(last) > 0 && (string(text) == "e" || string(text) == "er"):
			c.put(a.value)
			last = nil
		default:
			c.ordinalEnding(last)
			c.str(" ")
			c.put(a.value)
			last, between = nil, " "
		}
	}
	c.ordinalEnding(last)
	switch noun := c.rule.Text; {
	case written == 0:
	case plural && written > 1 && strings.HasPrefix(noun, singleCentury) && !strings.HasPrefix(noun, singleCentury+"s"):
		c.str(singleCentury + "s")
		c.str(noun[len(singleCentury):])
	default:
		c.str(noun)
	}
}

// singleCentury is the beginning of a rule's text that an argument "s" sets in the plural.
const singleCentury = " siècle"

// opSiglo renders the centuries of the Spanish Wikipedia: {{siglo|XVI}} as "XVI",
// {{siglo|XVI||s}} as "siglo XVI" and {{siglo|V|a|S}} as "Siglo V a. C.".
func opSiglo(c call) {
	switch word := c.bytes(c.arg(3)); {
	case len(word) > 0 && word[0] == 's':
		c.str("siglo ")
	case len(word) > 0 && word[0] == 'S':
		c.str("Siglo ")
	}
	c.put(c.arg(1))
	switch string(c.bytes(c.arg(2))) {
	case "a":
		c.str(" a. C.")
	case "d":
		c.str(" d. C.")
	}
}

// ordinalEnding writes the French ordinal ending of a numeral, "er" after I and
// else "e". It writes nothing if numeral is empty.
func (c *call) ordinalEnding(numeral []byte) {
	switch {
	case len(numeral) == 0 || c.wiki.baseLang() != "fr":
	case string(numeral) == "I":
		c.str("er")
	default:
		c.str("e")
	}
}

// opIncise renders {{incise|text}} as "– text –" and {{incise|text|stop}}, which other
// punctuation follows, as "– text".
func opIncise(c call) {
	c.affixed("– ", c.arg(1), "")
	if string(c.bytes(c.arg(2))) != "stop" {
		c.str(" –")
	}
}

// opEtCetera renders {{etc.}} as "etc." and on the French Wikipedia as ", etc.",
// unless its argument virgule is "non".
func opEtCetera(c call) {
	if c.wiki.baseLang() == "fr" && string(c.bytes(c.named("virgule"))) != "non" {
		c.str(", ")
	}
	c.str("etc.")
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

// opListing renders {{listing}}, a place on Wikivoyage, as its name and
// description: "Inn (Gasthof) Nice." for name=Inn, alt=Gasthof and
// content=Nice.
func opListing(c call) {
	c.put(c.named("name"))
	c.affixed(" (", c.named("alt"), ")")
	c.affixed(" ", c.named("content"), "")
}
