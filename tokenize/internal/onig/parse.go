package onig

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
)

// Limits of an expression, far above those of expressions in use.
const (
	maxPattern = 1 << 14 // maximum size in bytes
	maxDepth   = 100     // maximum depth of nested groups and sets
	maxRepeat  = 1000    // maximum n and m of {n,m}
)

type nodeKind uint8

const (
	nodeEmpty  nodeKind = iota
	nodeSet             // one character of ranges
	nodeCat             // all subs in a row
	nodeAlt             // one of subs
	nodeRepeat          // subs[0], min to max times
	nodeLook            // look-ahead or look-behind at subs[0]
	nodeAtomic          // subs[0] without backtracking into it
	nodeAnchor          // an anchor: matches a position
)

// unlimited is the max of a repetition without a limit.
const unlimited = -1

type node struct {
	kind     nodeKind
	ranges   hfunicode.Ranges // nodeSet
	subs     []*node
	min, max int // nodeRepeat
	mode     repeatMode
	behind   bool // nodeLook
	negative bool // nodeLook
	anchor   anchor
	literal  rune // nodeSet of one character, with the option i: that character; else 0
	shape    shape
}

type repeatMode uint8

const (
	greedy repeatMode = iota
	reluctant
	possessive
)

type anchor uint8

const (
	anchorLineStart anchor = iota
	anchorLineEnd
	anchorTextStart
	anchorTextEnd
	anchorLastLineEnd
	anchorWord
	anchorNotWord
)

func charNode(r rune) *node {
	return &node{kind: nodeSet, ranges: hfunicode.Ranges{{First: r, Last: r}}}
}

// A parser parses an expression. On an error it panics with a parseError.
type parser struct {
	text       string
	at         int
	depth      int
	ignoreCase bool
	dotAll     bool                        // . also matches a line feed
	properties map[string]hfunicode.Ranges // properties of \p that were already looked up
}

type parseError string

func (e parseError) Error() string { return string(e) }

func (p *parser) fail(format string, args ...any) {
	panic(parseError(fmt.Sprintf("regular expression: byte %d: %s", p.at, fmt.Sprintf(format, args...))))
}

func parse(pattern string) (n *node, err error) {
	if len(pattern) > maxPattern {
		return nil, parseError(fmt.Sprintf("regular expression: more than %d bytes", maxPattern))
	}
	if !utf8.ValidString(pattern) {
		return nil, parseError("regular expression: invalid UTF-8")
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case parseError:
			err = e
		default:
			panic(e)
		}
	}()
	p := &parser{text: pattern, properties: map[string]hfunicode.Ranges{}}
	n = p.alternatives()
	if p.at < len(p.text) {
		p.fail("unmatched )")
	}
	return n, nil
}

func (p *parser) more() bool { return p.at < len(p.text) }

// take consumes s if the rest of the text begins with s, and reports whether it does.
func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *parser) next() rune {
	if !p.more() {
		p.fail("unexpected end")
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += size
	return r
}

// alternatives parses alternatives up to the end of the group.
func (p *parser) alternatives() *node {
	if p.depth++; p.depth > maxDepth {
		p.fail("more than %d groups inside each other", maxDepth)
	}
	defer func() { p.depth-- }()
	ignoreCase, dotAll := p.ignoreCase, p.dotAll
	subs := []*node{p.sequence()}
	for p.take("|") {
		subs = append(subs, p.sequence())
	}
	p.ignoreCase, p.dotAll = ignoreCase, dotAll
	if len(subs) == 1 {
		return subs[0]
	}
	return &node{kind: nodeAlt, subs: subs}
}

func (p *parser) sequence() *node {
	n := &node{kind: nodeCat}
	for p.more() && p.text[p.at] != '|' && p.text[p.at] != ')' {
		if sub := p.quantified(); sub != nil {
			n.subs = append(n.subs, sub)
		}
	}
	for i := 1; i < len(n.subs); i++ {
		p.checkFold(n.subs[i-1].literal, n.subs[i].literal)
	}
	if len(n.subs) == 1 {
		return n.subs[0]
	}
	return n
}

// checkFold rejects two neighbouring characters that together are the case folding of one
// character, such as "ss" for "ß".
func (p *parser) checkFold(a, b rune) {
	if a == 0 || b == 0 {
		return
	}
	two := strings.ToLower(string([]rune{a, b}))
	switch {
	case two == "ss", two == "st", two == "ff", two == "fi", two == "fl", b >= utf8.RuneSelf, a >= utf8.RuneSelf:
		p.fail("%q with the option i: not supported, one character can match several", string([]rune{a, b}))
	}
}

func (p *parser) quantified() *node {
	n := p.atom()
	for n != nil && p.more() {
		low, high, ok := p.interval()
		if !ok {
			break
		}
		if n.kind == nodeLook || n.kind == nodeAnchor {
			p.fail("repetition of an anchor or a look-around")
		}
		n = p.repetition(n, low, high)
	}
	return n
}

// repetition returns the repetition of n, with the mode given by the character after the
// quantifier.
func (p *parser) repetition(n *node, low, high int) *node {
	r := &node{kind: nodeRepeat, subs: []*node{n}, min: low, max: high}
	fixed := p.text[p.at-1] == '}'
	switch {
	case p.take("?"):
		if fixed && low == high {
			r.mode = greedy // Oniguruma reads {n}? as (?:...{n})?
			return &node{kind: nodeRepeat, subs: []*node{r}, min: 0, max: 1}
		}
		r.mode = reluctant
	case !fixed && p.take("+"):
		r.mode = possessive
	}
	if high == unlimited && n.nullable() {
		p.fail("unlimited repetition of an expression that can be empty: not supported")
	}
	return r
}

// interval parses ?, *, + or {n,m}, but not the mode after it. ok is false if there is no
// quantifier; a { that does not begin an interval is a character.
func (p *parser) interval() (low, high int, ok bool) {
	switch {
	case p.take("?"):
		return 0, 1, true
	case p.take("*"):
		return 0, unlimited, true
	case p.take("+"):
		return 1, unlimited, true
	case p.text[p.at] != '{':
		return 0, 0, false
	}
	inner, _, ok := strings.Cut(p.text[p.at+1:], "}")
	if !ok {
		return 0, 0, false
	}
	first, second, two := strings.Cut(inner, ",")
	if !isNumber(first) || !isNumber(second) || first == "" && second == "" || !two && first == "" {
		return 0, 0, false
	}
	number := func(s string, none int) int {
		if s == "" {
			return none
		}
		n, err := strconv.Atoi(s)
		if err != nil || n > maxRepeat {
			p.fail("{%s}: more than %d repetitions are not supported", inner, maxRepeat)
		}
		return n
	}
	low = number(first, 0)
	high = number(second, unlimited)
	if !two {
		high = low
	}
	if high != unlimited && low > high {
		p.fail("{%s}: not supported, the first number is larger", inner)
	}
	p.at += len(inner) + 2
	return low, high, true
}

// isNumber reports whether s is empty or consists of digits.
func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// atom parses one element. It returns nil for a comment.
func (p *parser) atom() *node {
	switch r := p.next(); r {
	case '(':
		return p.group()
	case '[':
		return p.char(p.set())
	case '.':
		if p.dotAll {
			return &node{kind: nodeSet, ranges: hfunicode.Ranges(nil).Not()}
		}
		return &node{kind: nodeSet, ranges: hfunicode.Of(hfunicode.Range{First: '\n', Last: '\n'}).Not()}
	case '^':
		return &node{kind: nodeAnchor, anchor: anchorLineStart}
	case '$':
		return &node{kind: nodeAnchor, anchor: anchorLineEnd}
	case '*', '+', '?':
		p.fail("nothing to repeat")
	case '\\':
		return p.escape()
	default:
		return p.literal(r)
	}
	return nil
}

// char returns a node that matches one character of a set.
func (p *parser) char(r hfunicode.Ranges) *node { return &node{kind: nodeSet, ranges: r} }

// literal returns the node of a character. With the option i, the node also matches
// characters that differ from it only in case.
func (p *parser) literal(r rune) *node {
	n := charNode(r)
	if p.ignoreCase {
		n.ranges, n.literal = p.fold(n.ranges), r
	}
	return n
}

// group parses a group after its opening parenthesis.
func (p *parser) group() *node {
	var n *node
	switch {
	case !p.take("?"):
		if p.more() && p.text[p.at] == '*' {
			p.fail("(*: not supported")
		}
		n = p.alternatives()
	case p.take("#"):
		_, rest, ok := strings.Cut(p.text[p.at:], ")")
		if !ok {
			p.fail("comment without )")
		}
		p.at = len(p.text) - len(rest)
		return nil
	case p.take(":"):
		n = p.alternatives()
	case p.take("="):
		n = &node{kind: nodeLook, subs: []*node{p.alternatives()}}
	case p.take("!"):
		n = &node{kind: nodeLook, negative: true, subs: []*node{p.alternatives()}}
	case p.take(">"):
		n = &node{kind: nodeAtomic, subs: []*node{p.alternatives()}}
	case p.take("<="):
		n = p.lookBehind(false)
	case p.take("<!"):
		n = p.lookBehind(true)
	case p.take("<"):
		name, _, ok := strings.Cut(p.text[p.at:], ">")
		if !ok || name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			p.fail("(?<: name of a group")
		}
		p.at += len(name) + 1
		n = p.alternatives()
	default:
		return p.options()
	}
	if !p.take(")") {
		p.fail("group without )")
	}
	return n
}

func (p *parser) lookBehind(negative bool) *node {
	sub := p.alternatives()
	if _, high := sub.width(); high == unlimited || high > maxRepeat {
		p.fail("look-behind of unlimited length: not supported")
	}
	return &node{kind: nodeLook, behind: true, negative: negative, subs: []*node{sub}}
}

// options parses (?i), (?i:...) and similar groups after (?. An option without : applies up
// to the end of the enclosing group, including alternatives after |.
func (p *parser) options() *node {
	ignoreCase, dotAll := p.ignoreCase, p.dotAll
	on := true
	for {
		switch r := p.next(); r {
		case '-':
			on = false
		case 'i':
			p.ignoreCase = on
		case 'm':
			p.dotAll = on
		case ')', ':':
			n := p.alternatives()
			p.ignoreCase, p.dotAll = ignoreCase, dotAll
			if r == ':' && !p.take(")") {
				p.fail("group without )")
			}
			return n
		default:
			p.fail("(?%c: not supported", r)
		}
	}
}
