package wikitext

// number renders an argument. The digits of a number are grouped: 1234 becomes "1,234"
// on an English wiki.
func (c *call) number(p span) {
	text, mark := c.capture(p)
	end := len(c.aside)
	c.aside = c.wiki.numbers.AppendGrouped(c.aside, string(text))
	c.text(c.aside[end:])
	c.release(mark)
}

// formatNumber renders {{formatnum:1234}} as "1,234", with the separators and digits of
// the wiki. {{formatnum:1,234|R}} removes them ("1234"), {{formatnum:1234|NOSEP}} adds no
// separators.
func (c *call) formatNumber(p span) {
	text, mark := c.capture(p)
	end := len(c.aside)
	switch string(c.bytes(c.arg(1))) {
	case "R":
		c.aside = append(c.aside, c.wiki.numbers.Parse(string(text))...)
	case "NOSEP":
		c.aside = c.wiki.numbers.AppendDigits(c.aside, string(text))
	default:
		c.aside = c.wiki.numbers.AppendFormatted(c.aside, string(text))
	}
	c.text(c.aside[end:])
	c.release(mark)
}

// opMeasure renders {{unité|6925.5|km|2}} and {{unité|6925,5 km2}} of the French Wikipedia
// as "6 925,5 km2". The number may be followed by up to four units, each with a power.
func opMeasure(c call) {
	p := c.arg(1)
	if b := c.bytes(p); len(b) > 1 && b[0] == '-' && c.wiki.label("minus") != "" {
		c.str(c.wiki.label("minus"))
		p.start++
	}
	b := c.bytes(p)
	whole := leadingDigits(b)
	end := whole
	if whole > 0 && whole < len(b) && (b[whole] == '.' || b[whole] == ',') {
		if n := leadingDigits(b[whole+1:]); n > 0 {
			end += 1 + n
		}
	}
	number := []byte(string(b[:end]))
	if end > whole {
		number[whole] = '.'
	}
	c.text(c.wiki.numbers.AppendGrouped(nil, string(number)))
	c.put(span{p.start + end, p.end})
	if power := c.named("e"); !power.empty() {
		c.str(" × 10")
		exponent(&c, power)
	}
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

// leadingDigits returns the number of ASCII digits at the start of b.
func leadingDigits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
