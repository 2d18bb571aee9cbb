package onig

import (
	"slices"

	"pretext/tokenize/internal/hfunicode"
)

// Limits of an expression.
const (
	maxCode = 1 << 14      // maximum number of instructions; state.pc has two bytes
	maxPuts = 64 * maxCode // maximum number of compiled nodes; each repetition counts, even without code
)

type op uint8

const (
	opMatch    op = iota
	opSet         // one character of set
	opLoop        // min to max characters of set; mode decides how many
	opSplit       // continue at x, and after a failure at y
	opJump        // continue at x
	opAlt         // continue at one of the targets, in order, if viable allows it
	opLook        // look-ahead at x; continue at y
	opBehind      // look-behind at x; continue at y
	opAtomic      // match x without backtracking; continue at y
	opAnchor      // an anchor: matches a position
	opReturnAt    // end of a look-behind: must be at the position where the look-behind was tested
)

type instr struct {
	op       op
	mode     repeatMode // opLoop
	negative bool       // opLook, opBehind
	anchor   anchor
	x, y     int32
	min, max int32 // opLoop; opBehind: minimum and maximum width in characters
	set      *hfunicode.Set
	targets  []int32  // opAlt
	viable   []uint64 // opAlt: by next byte (256: end of the text), targets that can match, as bits
}

type compiler struct {
	code []instr
	sets map[string]*hfunicode.Set
	puts int // number of compiled nodes
	err  error
}

func compile(n *node) (*Regexp, error) {
	c := &compiler{sets: map[string]*hfunicode.Set{}}
	c.put(n)
	c.emit(instr{op: opMatch})
	if c.err != nil {
		return nil, c.err
	}
	for pc := range c.code {
		if i := &c.code[pc]; i.op == opLoop && i.mode == greedy && c.ends(int32(pc)+1) {
			i.mode = possessive
		}
	}
	re := &Regexp{code: c.code}
	if first := n.firstBytes(); !first.empty {
		re.first = &first.bytes
	}
	return re, nil
}

const errTooLarge = parseError("regular expression: too large")

func (c *compiler) emit(i instr) int32 {
	if len(c.code) >= maxCode {
		c.err = errTooLarge
		return 0
	}
	c.code = append(c.code, i)
	return int32(len(c.code) - 1)
}

func (c *compiler) here() int32 { return int32(len(c.code)) }

func (c *compiler) set(r hfunicode.Ranges) *hfunicode.Set {
	key := make([]rune, 0, 2*len(r))
	for _, x := range r {
		key = append(key, x.First, x.Last)
	}
	s := c.sets[string(key)]
	if s == nil {
		s = hfunicode.NewSet(r)
		c.sets[string(key)] = s
	}
	return s
}

// put emits the code of n.
func (c *compiler) put(n *node) {
	if c.puts++; c.puts > maxPuts {
		c.err = errTooLarge
	}
	if c.err != nil {
		return
	}
	switch n.kind {
	case nodeSet:
		c.emit(instr{op: opSet, set: c.set(n.ranges)})
	case nodeCat:
		for i, sub := range n.subs {
			if i+1 < len(n.subs) && sub.keeps(n.subs[i+1]) {
				kept := *sub
				kept.mode = possessive
				sub = &kept
			}
			c.put(sub)
		}
	case nodeAlt:
		c.alternatives(n)
	case nodeRepeat:
		c.repeat(n)
	case nodeAnchor:
		c.emit(instr{op: opAnchor, anchor: n.anchor})
	case nodeAtomic:
		c.nested(instr{op: opAtomic}, n.subs[0], opMatch)
	case nodeLook:
		if !n.behind {
			c.nested(instr{op: opLook, negative: n.negative}, n.subs[0], opMatch)
			return
		}
		low, high := n.subs[0].width()
		c.nested(instr{op: opBehind, negative: n.negative, min: int32(low), max: int32(high)}, n.subs[0], opReturnAt)
	}
}

// ends reports whether a match is complete at pc. A loop before it never has to match fewer
// characters.
func (c *compiler) ends(pc int32) bool {
	for c.code[pc].op == opJump {
		pc = c.code[pc].x
	}
	return c.code[pc].op == opMatch
}

// keeps reports whether n is a greedy loop over a set and next begins with a character that
// is not in the set. Then next cannot begin with a character that the loop matched.
func (n *node) keeps(next *node) bool {
	if n.kind != nodeRepeat || n.mode != greedy || n.subs[0].kind != nodeSet {
		return false
	}
	if next.kind == nodeRepeat && next.min > 0 {
		next = next.subs[0]
	}
	return next.kind == nodeSet && len(n.subs[0].ranges.And(next.ranges)) == 0
}

// nested emits head, followed by the code of n and the instruction end. head.x is the code
// of n, head.y the code after end.
func (c *compiler) nested(head instr, n *node, end op) {
	at := c.emit(head)
	x := c.here()
	c.put(n)
	c.emit(instr{op: end})
	c.code[at].x, c.code[at].y = x, c.here()
}

// alternatives emits a choice between the alternatives of n. Up to 64 alternatives are
// selected by the next byte; more are grouped into at most 64 nested choices.
func (c *compiler) alternatives(n *node) {
	subs := n.subs
	if len(subs) > 64 {
		subs = nil
		for part := range slices.Chunk(n.subs, (len(n.subs)+63)/64) {
			subs = append(subs, &node{kind: nodeAlt, subs: part})
		}
	}
	at := c.emit(instr{op: opAlt, targets: make([]int32, len(subs)), viable: make([]uint64, 257)})
	var ends []int32
	for i, sub := range subs {
		c.code[at].targets[i] = c.here()
		first := sub.firstBytes()
		for b, can := range first.bytes {
			if first.empty || can {
				c.code[at].viable[b] |= 1 << i
			}
		}
		c.put(sub)
		ends = append(ends, c.emit(instr{op: opJump}))
	}
	for _, end := range ends {
		c.code[end].x = c.here()
	}
}

func (c *compiler) repeat(n *node) {
	sub := n.subs[0]
	if n.mode == possessive && sub.kind != nodeSet {
		loop := *n
		loop.mode = greedy
		c.nested(instr{op: opAtomic}, &loop, opMatch)
		return
	}
	if sub.kind == nodeSet {
		c.emit(instr{op: opLoop, mode: n.mode, min: int32(n.min), max: int32(n.max), set: c.set(sub.ranges)})
		return
	}
	for range n.min {
		c.put(sub)
		if c.err != nil {
			return
		}
	}
	if n.max == unlimited {
		split := c.emit(instr{op: opSplit})
		c.put(sub)
		c.emit(instr{op: opJump, x: split})
		c.branch(split, n.mode)
		return
	}
	var splits []int32
	for range n.max - n.min {
		splits = append(splits, c.emit(instr{op: opSplit}))
		c.put(sub)
		if c.err != nil {
			return
		}
	}
	for _, split := range splits {
		c.branch(split, n.mode)
	}
}

// branch sets the targets of the instruction split: the code after it and the current end
// of the code. Greedy tries the code after it first, reluctant the end.
func (c *compiler) branch(split int32, mode repeatMode) {
	if c.err != nil {
		return
	}
	c.code[split].x, c.code[split].y = split+1, c.here()
	if mode == reluctant {
		c.code[split].x, c.code[split].y = c.here(), split+1
	}
}
