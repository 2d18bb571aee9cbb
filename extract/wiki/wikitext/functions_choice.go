package wikitext

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// choice renders {{#switch:value|a|b=1|c=2|#default=3}}: the text of the first case
// that equals the value (here "1" for a or b), otherwise the default. If the value
// renders to nothing, because it depends on an unknown template, choice writes nothing.
func (c *call) choice(first span) {
	value, mark := c.capture(first)
	defer c.release(mark)
	if len(value) == 0 && !first.empty() {
		return
	}
	fallback, found := span{}, false
	for k, a := range c.args[1:] {
		key := a.key
		if key.empty() {
			key = a.value
		}
		last := a.key.empty() && k == len(c.args)-2 // without a key: the default
		switch {
		case found:
		case last, string(c.bytes(key)) == "#default":
			fallback = a.value
		default:
			text, mark := c.capture(key)
			found = sameValue(value, text)
			c.release(mark)
		}
		if found && (last || !a.key.empty()) {
			c.put(a.value)
			return
		}
	}
	c.put(fallback)
}

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

// plainNumber parses a decimal number; ok is false if b is not one.
func plainNumber(b []byte) (v float64, ok bool) {
	if len(b) == 0 || len(b) > 32 {
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

// maxPadded is the maximum length, in characters, of a padded text. MediaWiki allows
// 500, but pages only pad numbers, and a low limit bounds the length of the output.
const maxPadded = 32

// padded renders {{padleft:7|3|0}} as "007" and {{padright:7|3|0}} as "700".
// Without a third argument it pads with zeros.
func (c *call) padded(f function, first span) {
	text, mark := c.capture(first)
	defer c.release(mark)
	end := len(c.aside)
	want, ok := parseNumber(c.bytes(c.arg(1)))
	missing := min(want, maxPadded) - utf8.RuneCount(text)
	fill := c.bytes(c.arg(2))
	if len(fill) == 0 {
		fill = []byte("0")
	}
	if !ok || missing <= 0 || !utf8.Valid(fill) {
		c.text(text)
		return
	}
	for rest := fill; missing > 0; missing-- {
		if len(rest) == 0 {
			rest = fill
		}
		_, n := utf8.DecodeRune(rest)
		c.aside = append(c.aside, rest[:n]...)
		rest = rest[n:]
	}
	padding := c.aside[end:]
	if f == funcPadLeft {
		c.text(padding)
		c.text(text)
		return
	}
	c.text(text)
	c.text(padding)
}
