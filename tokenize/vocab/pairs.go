package vocab

// A pairIndex numbers pairs of tokens. It is an open-addressing hash table
// without deletion.
type pairIndex struct {
	slots []pairSlot
	used  int
}

type pairSlot struct {
	key    uint64 // left token in the high half, right token plus 1 in the low half; 0 if the slot is free
	number int32
}

func newPairIndex() pairIndex { return pairIndex{slots: make([]pairSlot, 1<<12)} }

// find returns the number of a pair. If the pair is new, it stores and returns
// the given number.
func (x *pairIndex) find(left, right, number int32) (n int32, isNew bool) {
	key := pairKey(left, right)
	slot := x.slot(key)
	if slot.key == key {
		return slot.number, false
	}
	*slot = pairSlot{key, number}
	if x.used++; 4*x.used > 3*len(x.slots) {
		x.grow()
	}
	return number, true
}

// number returns the number of a pair, or -1 if it is not stored.
func (x *pairIndex) number(left, right int32) int32 {
	key := pairKey(left, right)
	if slot := x.slot(key); slot.key == key {
		return slot.number
	}
	return -1
}

// clear removes all pairs but keeps the memory.
func (x *pairIndex) clear() {
	clear(x.slots)
	x.used = 0
}

// pairKey returns the key of a pair. It is never 0.
func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)+1) }

// slot returns the slot with the given key or, if there is none, the free slot for it.
func (x *pairIndex) slot(key uint64) *pairSlot {
	mask := uint64(len(x.slots) - 1)
	for at := pairHash(key) & mask; ; at = (at + 1) & mask {
		if slot := &x.slots[at]; slot.key == key || slot.key == 0 {
			return slot
		}
	}
}

// pairHash returns a hash of a key. Its low bits are well mixed.
func pairHash(key uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // see Knuth, The Art of Computer Programming 6.4
	hash := key * golden
	return hash ^ hash>>32
}

func (x *pairIndex) grow() {
	old := x.slots
	x.slots = make([]pairSlot, 2*len(old))
	for _, s := range old {
		if s.key != 0 {
			*x.slot(s.key) = s
		}
	}
}

// A pairQueue is a binary heap with the most frequent pair on top.
type pairQueue []queueEntry

type queueEntry struct {
	count       int64
	left, right int32
	pair        int32 // number of the pair
}

// before reports whether a comes before b: first by higher count, then by lower token ids.
// So the order does not depend on the order in which pairs were found.
func (a *queueEntry) before(b *queueEntry) bool {
	switch {
	case a.count != b.count:
		return a.count > b.count
	case a.left != b.left:
		return a.left < b.left
	}
	return a.right < b.right
}

func (q *pairQueue) push(e queueEntry) {
	*q = append(*q, e)
	h := *q
	at := len(h) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[at] = h[parent]
		at = parent
	}
	h[at] = e
}

// pop removes and returns the most frequent pair. If the queue is empty, ok is
// false.
func (q *pairQueue) pop() (top queueEntry, ok bool) {
	h := *q
	if len(h) == 0 {
		return top, false
	}
	top = h[0]
	last := h[len(h)-1]
	h = h[:len(h)-1]
	*q = h
	if len(h) == 0 {
		return top, true
	}
	at := 0
	for {
		child := 2*at + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&last) {
			break
		}
		h[at] = h[child]
		at = child
	}
	h[at] = last
	return top, true
}
