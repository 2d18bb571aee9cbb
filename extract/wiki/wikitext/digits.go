package wikitext

import "strings"

// number renders an argument. The digits of a number are grouped: 1234 becomes "1,234"
// on an English wiki.
func (c *call) number(p span) {
	text, mark := c.capture(p)
	end := len(c.aside)
	c.aside = appendGrouped(c.aside, text, digitsOf(c.wiki.page.Lang))
	c.text(c.aside[end:])
	c.release(mark)
}

// formatNumber renders {{formatnum:1234}} as "1,234", with the separators of
// the wiki's language. {{formatnum:1,234|R}} removes commas ("1234"),
// {{formatnum:1234|NOSEP}} adds none.
func (c *call) formatNumber(p span) {
	switch string(c.bytes(c.arg(1))) {
	case "R":
		text, mark := c.capture(p)
		end := len(c.aside)
		for _, b := range text {
			if b != ',' {
				c.aside = append(c.aside, b)
			}
		}
		c.text(c.aside[end:])
		c.release(mark)
	case "NOSEP":
		c.put(p)
	default:
		c.number(p)
	}
}

// digitMarks are the separators that a language uses in numbers.
type digitMarks struct {
	group, decimal string
	least          int // numbers with fewer digits are not grouped
}

// digitsOf returns the separators of numbers on a wiki in the given language
// (separatorTransformTable and minimumGroupingDigits of MediaWiki's message
// files).
func digitsOf(lang string) digitMarks {
	base, _, _ := strings.Cut(lang, "-")
	switch base {
	case "de", "nl", "da", "el", "tr", "id", "hr", "sr", "ro", "ca", "gl", "vi", "sl", "is", "az", "bs", "lb":
		return digitMarks{".", ",", 4}
	case "fr", "ru", "uk", "cs", "sk", "sv", "no", "nb", "nn", "fi", "hu", "et", "lv", "lt", "be", "kk", "br", "oc":
		return digitMarks{" ", ",", 4}
	case "es", "pt", "pl", "it", "bg":
		return digitMarks{" ", ",", 5}
	}
	return digitMarks{",", ".", 4}
}

// appendGrouped appends text to dst. If text is a plain decimal number, it
// inserts separators between groups of three digits.
func appendGrouped(dst, text []byte, m digitMarks) []byte {
	start := 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		start = 1
	}
	digits := start
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits < len(text) && text[digits] != '.' { // not a plain number
		return append(dst, text...)
	}
	grouped := digits-start >= m.least
	for i, c := range text {
		switch {
		case i > start && i < digits && (digits-i)%3 == 0 && grouped:
			dst = append(dst, m.group...)
		case i == digits && i+1 < len(text):
			dst = append(dst, m.decimal...)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// opMeasure renders {{unité|6925|km|2}} and {{unité|6925 km2}} of the French Wikipedia
// as "6 925 km2". The number may be followed by up to four units, each with a power.
func opMeasure(c call) {
	p := c.arg(1)
	digits := 0
	for b := c.bytes(p); digits < len(b) && b[digits] >= '0' && b[digits] <= '9'; {
		digits++
	}
	c.number(span{p.start, p.start + digits})
	c.put(span{p.start + digits, p.end})
	c.affixed(" ", c.named("u", "ul"), "")
	for n := 2; n+1 < 10; n += 2 {
		if c.arg(n).empty() {
			c.affixed(" ", c.arg(n+1), "") // {{M|3,5||m/s}}
			continue
		}
		c.affixed(" ", c.arg(n), "")
		c.put(c.arg(n + 1))
	}
}
