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
	steps int // steps taken on the text so far
	calm  int // number of steps after which failures are remembered
	limit int // number of steps after which the machine gives up
	memo  memo

	patience int // value of calm for a match at the start of the text
}

// A state is where matching continues after a failure.
type state struct {
	kind stateKind
	pc   uint16
	at   int32
	low  int32  // backGreedy: lowest position to go back to; backReluctant: characters matched
	open int32  // length of memo.open when the state was pushed
	mask uint64 // backChoice: bit set of the remaining targets
}

type stateKind uint8

const (
	backTo        stateKind = iota // continue at pc
	backChoice                     // continue at the next target of the opAlt at pc
	backGreedy                     // match one character less in the opLoop at pc
	backReluctant                  // match one character more in the opLoop at pc
)

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
		m.calm = min(m.limit, m.patience+calmPerByte*at)
		if end, ok := m.run(0, at, anyTarget); ok {
			return at, end, true
		}
		if at >= len(m.text) || m.spent() {
			return 0, 0, false
		}
		at = m.next(at)
	}
}

// spent reports whether the machine gave up.
func (m *machine) spent() bool { return m.steps > m.limit }

// next returns the next position at which a match can begin, after none began at at. If the
// expression begins with an unlimited loop, the loop has already tried all positions up to
// the end of its run of characters. So next skips the rest of the run, from where it would
// try some of these positions again.
func (m *machine) next(at int) int {
	step := size(m.text, at)
	i := &m.re.code[0]
	if i.op != opLoop || i.max != unlimited || !i.set.Has(runeAt(m.text, at)) {
		return at + step
	}
	for at += step; ; at += step {
		if step = match(i.set, m.text, at); step == 0 {
			return at
		}
		m.steps++
	}
}

func runeAt(text string, at int) rune {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return r
}

// size returns the length in bytes of the character at at.
func size(text string, at int) int {
	if text[at] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRuneInString(text[at:])
	return n
}

// anyTarget is the target of a run that is not a look-behind.
const anyTarget = -1

// run matches the code at pc, from the position at. target is the position where a
// look-behind must end. It returns the end of the match.
func (m *machine) run(pc, at, target int) (end int, ok bool) {
	base, open := len(m.stack), len(m.memo.open)
	end, ok = m.try(level{base, target}, pc, at)
	m.stack = m.stack[:base]
	m.memo.end(open, ok)
	return end, ok
}

// A level describes one call of run: the start of its part of the stack, and the target of
// a look-behind.
type level struct{ base, target int }

// try implements run, which cleans up the stack and the memo after it.
func (m *machine) try(l level, pc, at int) (end int, ok bool) {
	for {
		if m.steps++; m.steps > m.calm {
			if m.spent() {
				return 0, false
			}
			if m.visited(pc, at, l.target) {
				if pc, at, ok = m.back(l.base); !ok {
					return 0, false
				}
				continue
			}
		}
		i := &m.re.code[pc]
		good := true
		switch i.op {
		case opMatch:
			return at, true
		case opReturnAt:
			if at == l.target {
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
			m.push(state{kind: backTo, pc: uint16(i.y), at: int32(at)})
			pc = int(i.x)
		case opJump:
			pc = int(i.x)
		case opAlt:
			pc, good = m.choose(i, pc, at, ^uint64(0))
		default:
			pc, at, good = m.assert(i, pc, at)
		}
		if !good {
			if pc, at, ok = m.back(l.base); !ok {
				return 0, false
			}
		}
	}
}

// push pushes a state to which matching returns after a failure.
func (m *machine) push(s state) {
	s.open = int32(len(m.memo.open))
	m.stack = append(m.stack, s)
}

// match returns the length in bytes of the character at at if it is in the set, else 0.
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

// loop matches the opLoop i at pc from the position at. It returns the position after the
// characters.
func (m *machine) loop(i *instr, pc, at int) (end int, ok bool) {
	count := int32(0)
	limit := i.max
	if i.mode == reluctant {
		limit = i.min
	}
	low, text := at, m.text
	for count != limit && at < len(text) {
		n := 1
		if c := text[at]; c >= utf8.RuneSelf {
			n = match(i.set, text, at)
		} else if !i.set.Has(rune(c)) {
			break
		}
		if n == 0 {
			break
		}
		at += n
		if count++; count == i.min {
			low = at
		}
	}
	m.steps += int(count)
	switch {
	case count < i.min:
		return at, false
	case i.mode == greedy && at > low:
		m.push(state{kind: backGreedy, pc: uint16(pc), at: int32(at), low: int32(low)})
	case i.mode == reluctant && count != i.max:
		m.push(state{kind: backReluctant, pc: uint16(pc), at: int32(at), low: count})
	}
	return at, true
}

// choose returns the first target in mask that can match, and pushes a state for the
// others.
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
		m.push(state{kind: backChoice, pc: uint16(pc), at: int32(at), mask: mask})
	}
	return next, true
}

// back pops the last state and returns where to continue. ok is false if there is no state
// above base.
func (m *machine) back(base int) (pc, at int, ok bool) {
	for len(m.stack) > base {
		last := len(m.stack) - 1
		top := &m.stack[last]
		pc, at = int(top.pc), int(top.at)
		i := &m.re.code[pc]
		m.memo.open = m.memo.open[:top.open] // the states opened since then have failed
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

// assert matches an anchor, a look-around or an atomic group. It returns where to continue.
func (m *machine) assert(i *instr, pc, at int) (nextPC, nextAt int, ok bool) {
	switch i.op {
	case opAnchor:
		return pc + 1, at, m.anchored(i.anchor, at)
	case opAtomic:
		end, ok := m.run(int(i.x), at, anyTarget)
		return int(i.y), end, ok
	case opLook:
		_, ok := m.run(int(i.x), at, anyTarget)
		return int(i.y), at, ok != i.negative
	}
	return int(i.y), at, m.behind(i, at) != i.negative
}

// behind reports whether a match of the look-behind i ends at the position at.
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

// wordSet returns the set of \w.
func wordSet() *hfunicode.Set { return hfunicode.Get("onig:w") }
