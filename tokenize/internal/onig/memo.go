package onig

// Limits of matching. Ordinary expressions take fewer steps than calmSteps and calmPerByte
// allow, so that they never pay for a memo.
const (
	calmSteps   = 1 << 14 // number of steps before failures are remembered
	calmPerByte = 64      // additional steps for each byte of the text before a match
	maxMemo     = 1 << 21 // maximum number of states in a memo: about 60 MB
	memoSteps   = 8       // cost of looking up a state, in steps
)

// A memo holds the states of a text from which no match is found. A state is a position in
// the expression, a position in the text and, inside a look-behind, the position where that
// must end. Nothing else determines whether a state leads to a match. So a state that has
// failed also fails for every later start and in every later search of the same text.
type memo struct {
	known map[uint64]struct{} // states that have failed, and those in open
	open  []uint64            // states of the current runs that may still lead to a match
}

// visited reports whether the machine has been in a state before, and stores the state.
func (m *machine) visited(pc, at, target int) bool {
	m.steps += memoSteps
	const beyond = 1 << 13 // above the maximum length of a look-behind in bytes
	key := uint64(pc)<<48 | uint64(at)
	if target != anyTarget {
		key |= uint64(target-at+beyond) << 32
	}
	if _, ok := m.memo.known[key]; ok {
		return true
	}
	if m.memo.known == nil {
		m.memo.known = map[uint64]struct{}{}
	}
	if len(m.memo.known) < maxMemo {
		m.memo.known[key] = struct{}{}
		m.memo.open = append(m.memo.open, key)
	}
	return false
}

// end closes the states that a run has opened. If the run matched, these states are
// removed, because they lead to the match.
func (o *memo) end(open int, matched bool) {
	if matched {
		for _, key := range o.open[open:] {
			delete(o.known, key)
		}
	}
	o.open = o.open[:open]
}

// reset removes all states, for use with another text.
func (o *memo) reset() {
	o.known, o.open = nil, o.open[:0]
}
