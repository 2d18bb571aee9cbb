package wikitext

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// choice renders {{#switch:value|a|b=1|c=2|#default=3}}: the text of the first case
// that equals the value (here "1" for a or b), otherwise the default. If the value or a case
// depends on a hole, choice writes nothing.
func (c *call) choice(first span) {
	value, known := c.condition(first)
	if !known {
		return
	}
	fallback, found, isDefault := span{}, false, false
	for k, a := range c.args[1:] {
		key, result := a.value, span{}
		if a.equal >= 0 {
			key, result = c.in.trim(a.from, a.equal), c.in.trim(a.equal+1, a.value.end)
		}
		last := a.equal < 0 && k == len(c.args)-2 && string(c.bytes(key)) != defaultCase // without a key: the default
		if last {
			fallback = a.value // not rendered twice
		}
		if !found && !last {
			text, known := c.condition(key)
			switch {
			case !known:
				return
			case sameValue(value, text):
				found = true
			case string(text) == defaultCase && a.equal < 0:
				isDefault = true
			case isDefault || string(text) == defaultCase:
				fallback, isDefault = result, false
			}
		}
		if found && a.equal >= 0 {
			c.put(result)
			return
		}
	}
	c.put(fallback)
}

// defaultCase names the default of #switch.
const defaultCase = "#default"

// sameValue reports whether #ifeq and #switch treat a and b as equal: they are the same
// bytes or the same number.
func sameValue(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, ok := plainNumber(a)
	if !ok {
		return false
	}
	y, ok := plainNumber(b)
	return ok && x == y
}

// maxPlainNumber is the maximum length of a number in conditions, in bytes.
const maxPlainNumber = 32

// plainNumber parses a decimal number; ok is false if b is not one.
func plainNumber(b []byte) (v float64, ok bool) {
	if len(b) == 0 || len(b) > maxPlainNumber {
		return 0, false
	}
	for _, c := range b {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil
}

// maxPadded is the maximum length, in characters, of a padded text in MediaWiki.
const maxPadded = 500

// maxPadding is the maximum number of characters that we add. Pages only pad numbers, and a
// low limit bounds the length of the output.
const maxPadding = 32

// padded renders {{padleft:7|3|0}} as "007" and {{padright:7|3|0}} as "700".
// Without a third argument it pads with zeros.
func (c *call) padded(f function, first span) {
	raw, show := c.bytes(first), func() { c.put(first) }
	if bytes.Contains(raw, []byte("{{")) {
		text, _ := c.capture(first) // once: see ifError
		raw, show = text, func() { c.text(text) }
	}
	want := 0.0
	if v, ok := parseIntegerPrefix(c.bytes(c.arg(1))); ok {
		want = v
	}
	missing := int(min(max(want, 0), maxPadded)) - utf8.RuneCount(raw)
	fill := []byte("0")
	if len(c.args) > 2 {
		fill, _ = c.condition(c.arg(2))
	}
	if missing <= 0 || len(fill) == 0 || !utf8.Valid(fill) {
		show()
		return
	}
	if missing > maxPadding {
		c.wrong()
		return
	}
	runes := []rune(string(fill))
	padding := make([]rune, missing)
	for k := range padding {
		padding[k] = runes[k%len(runes)]
	}
	if f == funcPadLeft {
		c.str(string(padding))
		show()
		return
	}
	show()
	c.str(string(padding))
}

// parseIntegerPrefix parses the integer at the beginning of a text; ok is false if there is
// none.
func parseIntegerPrefix(b []byte) (v float64, ok bool) {
	n := 0
	if n < len(b) && (b[n] == '-' || b[n] == '+') {
		n++
	}
	for n < len(b) && n < maxPlainNumber && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	v, err := strconv.ParseFloat(string(b[:n]), 64)
	return v, err == nil
}
