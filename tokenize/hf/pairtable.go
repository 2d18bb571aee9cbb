package hf

// A pairTable maps pairs of ids or of characters to merges. It is a hash table
// with open addressing.
type pairTable struct {
	slots []pairSlot
}

type pairSlot struct {
	key   uint64 // pairKey; 0 if the slot is free
	value merged
}

// pairKey returns the key of a pair of numbers that are not negative. It is never 0.
func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) + 1 }

// newPairTable returns an empty table for at most n pairs.
func newPairTable(n int) *pairTable {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &pairTable{slots: make([]pairSlot, size)}
}

// set stores the value of a pair. At most n pairs may be stored; see newPairTable.
func (t *pairTable) set(left, right int32, value merged) {
	*t.slot(pairKey(left, right)) = pairSlot{pairKey(left, right), value}
}

// get returns the value of a pair.
func (t *pairTable) get(left, right int32) (merged, bool) {
	s := t.slot(pairKey(left, right))
	return s.value, s.key != 0
}

// slot returns the slot with the given key or, if there is none, the free slot for it.
func (t *pairTable) slot(key uint64) *pairSlot {
	const golden = 0x9e3779b97f4a7c15 // see Knuth, The Art of Computer Programming 6.4
	hash, mask := key*golden, uint64(len(t.slots)-1)
	for at := (hash ^ hash>>32) & mask; ; at = (at + 1) & mask {
		if s := &t.slots[at]; s.key == key || s.key == 0 {
			return s
		}
	}
}
