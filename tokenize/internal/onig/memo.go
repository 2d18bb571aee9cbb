package onig

// Limits of matching. The steps of ordinary expressions are below calmSteps and
// calmPerByte, so that they never pay for a memo.
const (
	calmSteps   = 1 << 14 // taken before failures are remembered
	calmPerByte = 64      // further ones by byte of the text before a match
	maxMemo     = 1 << 21 // states in a memo: about 60 MB
	memoSteps   = 8       // what looking up a state costs, in steps
)

// A memo holds the states of a text from which no match is found. A state is a place
// in the expression, a place in the text and, inside a look-behind, the place where it
// must end: whether it leads to a match depends on nothing else, so that what has
// failed fails for every later start and in every later search of the same text.
type memo struct {
	known map[uint64]struct{} // states that have failed, and those in open
	open  []uint64            // states on the way from the start of the outermost run: they may yet lead to a match
}

// visited reports whether the machine was in a state before, and remembers the state.
func (m *machine) visited(pc, at, target int) bool {
	m.steps += memoSteps
	const beyond = 1 << 13 // a look-behind looks at fewer bytes
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

// end closes the states that a run has opened. After a match they are forgotten:
// they lead to it.
func (o *memo) end(open int, matched bool) {
	if matched {
		for _, key := range o.open[open:] {
			delete(o.known, key)
		}
	}
	o.open = o.open[:open]
}

// reset forgets everything, for another text.
func (o *memo) reset() {
	o.known, o.open = nil, o.open[:0]
}
