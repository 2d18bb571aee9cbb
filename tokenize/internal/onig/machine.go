package onig

import (
	"math/bits"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
)

// A machine runs an expression on a text.
type machine struct {
	re    *Regexp
	text  string
	stack []state
	steps int                 // taken in the current search
	seen  map[uint64]struct{} // states where the current run was after maxSteps; a second visit fails like the first
}

// A state is where to go on after a failure.
type state struct {
	kind   stateKind
	pc, at int32
	low    int32  // backGreedy: the last position to go back to; backReluctant: characters matched so far
	mask   uint64 // backChoice: the targets that are left
}

type stateKind uint8

const (
	backTo        stateKind = iota // go on at pc
	backChoice                     // choose the next target of the opAlt at pc
	backGreedy                     // give back a character of the opLoop at pc
	backReluctant                  // take a character more in the opLoop at pc
)

// maxSteps is the number of steps after which a run remembers its failures.
const maxSteps = 1 << 14

// search finds the first match at or after at.
func (m *machine) search(at int) (start, end int, ok bool) {
	first := m.re.first
	for {
		if first != nil {
			for at < len(m.text) && !first[m.text[at]] {
				at++
			}
			if at == len(m.text) {
				return 0, 0, false
			}
		}
		m.steps, m.seen = 0, nil
		if end, ok := m.run(0, at, 0); ok {
			return at, end, true
		}
		if at >= len(m.text) {
			return 0, 0, false
		}
		at += size(m.text, at)
	}
}

// size returns the length of the character at at.
func size(text string, at int) int {
	if text[at] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRuneInString(text[at:])
	return n
}

// run matches the code from pc at at. target is the position where a
// look-behind must end.
func (m *machine) run(pc, at, target int) (end int, ok bool) {
	base := len(m.stack)
	seen := m.seen
	m.seen = nil
	defer func() { m.stack, m.seen = m.stack[:base], seen }()
	for {
		if m.steps++; m.steps > maxSteps && m.visited(pc, at) {
			if pc, at, ok = m.back(base); !ok {
				return 0, false
			}
			continue
		}
		i := &m.re.code[pc]
		good := true
		switch i.op {
		case opMatch:
			return at, true
		case opReturnAt:
			if at == target {
				return at, true
			}
			good = false
		case opSet:
			if n := match(i.set, m.text, at); n > 0 {
				pc, at = pc+1, at+n
			} else {
				good = false
			}
		case opLoop:
			at, good = m.loop(i, pc, at)
			pc++
		case opSplit:
			m.stack = append(m.stack, state{kind: backTo, pc: i.y, at: int32(at)})
			pc = int(i.x)
		case opJump:
			pc = int(i.x)
		case opAlt:
			pc, good = m.choose(i, pc, at, ^uint64(0))
		default:
			pc, at, good = m.assert(i, pc, at)
		}
		if !good {
			if pc, at, ok = m.back(base); !ok {
				return 0, false
			}
		}
	}
}

// match returns the length of the character at at if it is in the set, else 0.
func match(set *hfunicode.Set, text string, at int) int {
	if at >= len(text) {
		return 0
	}
	if c := text[at]; c < utf8.RuneSelf {
		if set.Has(rune(c)) {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeRuneInString(text[at:])
	if set.Has(r) {
		return n
	}
	return 0
}

// loop matches repeated characters of a set.
func (m *machine) loop(i *instr, pc, at int) (end int, ok bool) {
	count := int32(0)
	limit := i.max
	if i.mode == reluctant {
		limit = i.min
	}
	low := at
	for count != limit {
		n := match(i.set, m.text, at)
		if n == 0 {
			break
		}
		at += n
		if count++; count == i.min {
			low = at
		}
	}
	switch {
	case count < i.min:
		return at, false
	case i.mode == greedy && at > low:
		m.stack = append(m.stack, state{kind: backGreedy, pc: int32(pc), at: int32(at), low: int32(low)})
	case i.mode == reluctant && count != i.max:
		m.stack = append(m.stack, state{kind: backReluctant, pc: int32(pc), at: int32(at), low: count})
	}
	return at, true
}

// choose goes on at the first of the targets in mask that can match.
func (m *machine) choose(i *instr, pc, at int, mask uint64) (next int, ok bool) {
	b := 256
	if at < len(m.text) {
		b = int(m.text[at])
	}
	if mask &= i.viable[b]; mask == 0 {
		return pc, false
	}
	next = int(i.targets[bits.TrailingZeros64(mask)])
	if mask &= mask - 1; mask != 0 {
		m.stack = append(m.stack, state{kind: backChoice, pc: int32(pc), at: int32(at), mask: mask})
	}
	return next, true
}

// back goes on where the last choice was made. ok is false if none is left
// above base.
func (m *machine) back(base int) (pc, at int, ok bool) {
	for len(m.stack) > base {
		last := len(m.stack) - 1
		top := &m.stack[last]
		pc, at = int(top.pc), int(top.at)
		i := &m.re.code[pc]
		done := true
		switch top.kind {
		case backChoice:
			pc = int(i.targets[bits.TrailingZeros64(top.mask)])
			top.mask &= top.mask - 1
			done = top.mask == 0
		case backGreedy:
			_, n := utf8.DecodeLastRuneInString(m.text[:at])
			pc, at = pc+1, at-n
			top.at = int32(at)
			done = top.at == top.low
		case backReluctant:
			n := match(i.set, m.text, at)
			if n == 0 {
				m.stack = m.stack[:last]
				continue
			}
			pc, at = pc+1, at+n
			top.at, top.low = int32(at), top.low+1
			done = top.low == i.max
		}
		if done {
			m.stack = m.stack[:last]
		}
		return pc, at, true
	}
	return 0, 0, false
}

// visited reports whether the current run was in a state before, and remembers
// the state.
func (m *machine) visited(pc, at int) bool {
	if m.seen == nil {
		m.seen = map[uint64]struct{}{}
	}
	key := uint64(pc)<<40 | uint64(at)
	_, ok := m.seen[key]
	m.seen[key] = struct{}{}
	return ok
}

// assert matches an anchor, a look-around or an atomic group.
func (m *machine) assert(i *instr, pc, at int) (nextPC, nextAt int, ok bool) {
	switch i.op {
	case opAnchor:
		return pc + 1, at, m.anchored(i.anchor, at)
	case opAtomic:
		end, ok := m.run(int(i.x), at, 0)
		return int(i.y), end, ok
	case opLook:
		_, ok := m.run(int(i.x), at, 0)
		return int(i.y), at, ok != i.negative
	}
	return int(i.y), at, m.behind(i, at) != i.negative
}

// behind reports whether a match of the look-behind i ends at at.
func (m *machine) behind(i *instr, at int) bool {
	start := at
	for n := int32(0); n <= i.max; n++ {
		if n >= i.min {
			if _, ok := m.run(int(i.x), start, at); ok {
				return true
			}
		}
		if start == 0 {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(m.text[:start])
		start -= size
	}
	return false
}

func (m *machine) anchored(a anchor, at int) bool {
	atEnd := at == len(m.text)
	switch a {
	case anchorTextStart:
		return at == 0
	case anchorTextEnd:
		return atEnd
	case anchorLineStart:
		return at == 0 || m.text[at-1] == '\n' && !atEnd
	case anchorLineEnd:
		return atEnd || m.text[at] == '\n'
	case anchorLastLineEnd:
		return atEnd || m.text[at:] == "\n"
	}
	before := false
	if at > 0 {
		r, _ := utf8.DecodeLastRuneInString(m.text[:at])
		before = wordSet().Has(r)
	}
	after := match(wordSet(), m.text, at) > 0
	return (before != after) == (a == anchorWord)
}

// wordSet is the set of \w.
func wordSet() *hfunicode.Set { return hfunicode.Get("onig:w") }
