package onig

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
)

// escape parses an escape outside a set, after the backslash.
func (p *parser) escape() *node {
	r := p.next()
	switch r {
	case 'A':
		return &node{kind: nodeAnchor, anchor: anchorTextStart}
	case 'z':
		return &node{kind: nodeAnchor, anchor: anchorTextEnd}
	case 'Z':
		return &node{kind: nodeAnchor, anchor: anchorLastLineEnd}
	case 'b':
		return &node{kind: nodeAnchor, anchor: anchorWord}
	case 'B':
		return &node{kind: nodeAnchor, anchor: anchorNotWord}
	case 'N':
		return p.char(hfunicode.Of(hfunicode.Range{First: '\n', Last: '\n'}).Not())
	case 'O':
		return p.char(hfunicode.Ranges(nil).Not())
	case 'R':
		two := &node{kind: nodeCat, subs: []*node{charNode('\r'), charNode('\n')}}
		one := p.char(hfunicode.Of(hfunicode.Range{First: '\n', Last: '\r'}, hfunicode.Range{First: 0x85, Last: 0x85}, hfunicode.Range{First: 0x2028, Last: 0x2029}))
		return &node{kind: nodeAtomic, subs: []*node{{kind: nodeAlt, subs: []*node{two, one}}}}
	}
	if set, ok := p.class(r); ok {
		return p.char(set)
	}
	if '1' <= r && r <= '9' {
		p.fail(`\%c: back references are not supported`, r)
	}
	return p.literal(p.escaped(r))
}

// class returns the set for an escape such as \w or \p{Lu}. r is the character after the
// backslash. ok is false if the escape is a single character.
func (p *parser) class(r rune) (set hfunicode.Ranges, ok bool) {
	switch r {
	case 'w', 's', 'd':
		set, _ = hfunicode.Lookup("onig:" + string(r))
	case 'W', 'S', 'D':
		set, _ = hfunicode.Lookup("onig:" + strings.ToLower(string(r)))
		set = set.Not()
	case 'h', 'H':
		set = hfunicode.Of(hfunicode.Range{First: '0', Last: '9'}, hfunicode.Range{First: 'a', Last: 'f'}, hfunicode.Range{First: 'A', Last: 'F'})
		if r == 'H' {
			set = set.Not()
		}
	case 'p', 'P':
		set = p.property(r == 'P')
	default:
		return nil, false
	}
	return set, true
}

// escaped returns the character for an escape. r is the character after the backslash.
func (p *parser) escaped(r rune) rune {
	switch r {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	case 'a':
		return '\a'
	case 'e':
		return 0x1b
	case 'x':
		if p.take("{") {
			hex, _, ok := strings.Cut(p.text[p.at:], "}")
			if !ok {
				p.fail(`\x{ without }`)
			}
			p.at += len(hex) + 1
			return p.hex(hex)
		}
		r := p.hex(p.digits(2))
		if r >= utf8.RuneSelf {
			p.fail(`\x%x: not supported above 7f, it is a byte`, r)
		}
		return r
	case 'u':
		if !(len(p.text)-p.at >= 4) {
			p.fail(`\u: want four digits`)
		}
		return p.hex(p.digits(4))
	case '0':
		if p.more() && strings.ContainsRune("01234567", rune(p.text[p.at])) {
			p.fail(`\0: octal numbers are not supported`)
		}
		return 0
	}
	if r < utf8.RuneSelf && ('a' <= r|0x20 && r|0x20 <= 'z' || '1' <= r && r <= '9') {
		p.fail(`\%c: not supported`, r)
	}
	return r
}

// digits returns up to n hexadecimal digits.
func (p *parser) digits(n int) string {
	start := p.at
	for p.at < min(len(p.text), start+n) && strings.IndexByte("0123456789abcdefABCDEF", p.text[p.at]) >= 0 {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) hex(s string) rune {
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		p.fail("%q: not a code point", s)
	}
	return rune(n)
}

// property parses {name} or {^name} of \p.
func (p *parser) property(negative bool) hfunicode.Ranges {
	if !p.take("{") {
		p.fail(`\p without {`)
	}
	name, _, ok := strings.Cut(p.text[p.at:], "}")
	if !ok {
		p.fail(`\p{ without }`)
	}
	p.at += len(name) + 1
	bare, caret := strings.CutPrefix(name, "^")
	set, ok := p.properties[bare]
	if !ok {
		if set, ok = properties(bare); !ok {
			p.fail(`\p{%s}: not supported`, name)
		}
		p.properties[bare] = set
	}
	if caret != negative {
		set = set.Not()
	}
	return set
}

// longNames maps other names of properties to names in package hfunicode: first the long
// names of general categories.
var longNames = map[string]string{
	"letter": "L", "casedletter": "LC", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt",
	"modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M", "nonspacingmark": "Mn", "spacingmark": "Mc",
	"enclosingmark": "Me", "number": "N", "decimalnumber": "Nd", "letternumber": "Nl", "othernumber": "No",
	"punctuation": "P", "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "openpunctuation": "Ps",
	"closepunctuation": "Pe", "initialpunctuation": "Pi", "finalpunctuation": "Pf", "otherpunctuation": "Po",
	"symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk", "othersymbol": "So",
	"separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp",
	"other": "C", "control": "Cc", "format": "Cf", "unassigned": "Cn", "privateuse": "Co",
	// Names of POSIX brackets that are also property names.
	"digit": "Nd", "alpha": "prop:Alphabetic", "space": "prop:White_Space", "upper": "prop:Uppercase",
	"lower": "prop:Lowercase", "word": "onig:w", "cntrl": "Cc",
}

// properties returns the set of a property. It ignores case, white space, - and _ in the
// name.
func properties(name string) (hfunicode.Ranges, bool) {
	flat := flatten(name)
	switch flat {
	case "any":
		return hfunicode.Ranges(nil).Not(), true
	case "assigned":
		set, _ := hfunicode.Lookup("gc:Cn")
		return set.Not(), true
	case "ascii":
		return hfunicode.Of(hfunicode.Range{First: 0, Last: 0x7f}), true
	case "alnum":
		return posix("alnum")
	case "xdigit":
		return posix("xdigit")
	case "blank":
		return posix("blank")
	case "lc":
		return unionOf("gc:Lu", "gc:Ll", "gc:Lt"), true
	}
	if long, ok := longNames[flat]; ok {
		if strings.Contains(long, ":") {
			return hfunicode.Lookup(long)
		}
		flat = flatten(long)
	}
	var found []string
	for _, kind := range []string{"gc:", "prop:", "script:"} {
		for _, known := range hfunicode.Names(kind) {
			k := flatten(known[len(kind):])
			if k == flat {
				return hfunicode.Lookup(known)
			}
			if kind == "gc:" && len(flat) == 1 && k[:1] == flat {
				found = append(found, known)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) == 0 {
		return nil, false
	}
	return unionOf(found...), true
}

func unionOf(names ...string) (all hfunicode.Ranges) {
	for _, name := range names {
		set, _ := hfunicode.Lookup(name)
		all = all.Union(set)
	}
	return all
}

func flatten(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// posix returns the set of a POSIX bracket such as [:alpha:].
func posix(name string) (hfunicode.Ranges, bool) {
	switch name {
	case "alnum":
		return unionOf("prop:Alphabetic", "gc:Nd"), true
	case "alpha":
		return unionOf("prop:Alphabetic"), true
	case "ascii":
		return hfunicode.Of(hfunicode.Range{First: 0, Last: 0x7f}), true
	case "blank":
		return unionOf("gc:Zs").Union(hfunicode.Of(hfunicode.Range{First: '\t', Last: '\t'})), true
	case "cntrl":
		return unionOf("gc:Cc"), true
	case "digit":
		return unionOf("gc:Nd"), true
	case "graph":
		return unionOf("prop:Graph"), true
	case "print":
		return unionOf("prop:Print"), true
	case "lower":
		return unionOf("prop:Lowercase"), true
	case "upper":
		return unionOf("prop:Uppercase"), true
	case "punct":
		return unionOf("gc:Pc", "gc:Pd", "gc:Ps", "gc:Pe", "gc:Pi", "gc:Pf", "gc:Po", "gc:Sm", "gc:Sc", "gc:Sk", "gc:So"), true
	case "space":
		return unionOf("prop:White_Space"), true
	case "word":
		return inSet(unionOf("onig:w")), true
	case "xdigit":
		return hfunicode.Of(hfunicode.Range{First: '0', Last: '9'}, hfunicode.Range{First: 'a', Last: 'f'}, hfunicode.Range{First: 'A', Last: 'F'}), true
	}
	return nil, false
}
