package pyrandom

// Permutation returns the first want indexes of shuffle(range(n)), and makes all
// its draws: after x := range(n) and Shuffle(r, x) it is x[:want]. n must be below
// 2^16 and want at most n. The result is valid until the next call.
func (r *Rand) Permutation(n, want int) []uint16 {
	if n <= tracedLen && canTrace {
		return r.tracePermutation(n, want)
	}
	return r.plainPermutation(n, want)
}

// plainPermutation is Permutation by [Shuffle].
func (r *Rand) plainPermutation(n, want int) []uint16 {
	x := r.indexes[:0]
	for i := range n {
		x = append(x, uint16(i))
	}
	r.indexes = x
	Shuffle(r, x)
	return x[:want]
}

// tracedLen is the longest permutation that a trace can hold.
const tracedLen = 128

// A trace records a shuffle of up to tracedLen indexes without swapping them, because
// each swap would wait for the one before it. It holds where each index comes from;
// follow then finds all origins at the same time.
//
// Swap i comes after swap i+1 and exchanges x[i] with x[j]. From then on x[i] is
// final, and x[j] is what x[i] was before. A source is a byte: origin+k is the index
// k; a smaller i is what x[i] was before swap i.
type trace struct {
	last [2 * tracedLen]uint8 // source of x[i] now; a rejected draw changes an element beyond those in use
	//lint:ignore U1000 traceSwaps and follow use it
	prev  [tracedLen]uint8 // source of x[i] before swap i
	final [tracedLen]uint8 // source of x[i] after swap i
}

// origin is the source of index 0 before the first swap.
const origin = 128

// origins are the sources of all indexes before the first swap.
var origins = func() (all [tracedLen]uint8) {
	for i := range all {
		all[i] = origin + uint8(i)
	}
	return all
}()

// tracePermutation is Permutation for n up to tracedLen.
func (r *Rand) tracePermutation(n, want int) []uint16 {
	t := &r.trace
	copy(t.last[:], origins[:])
	for limit := n; limit > 1; {
		if r.pos >= stateLen {
			r.refill()
		}
		var used int
		limit, used = traceSwaps(t, r.out[r.pos:], limit)
		r.pos += used
	}
	t.final[0] = t.last[0]
	if cap(r.indexes) < tracedLen {
		r.indexes = make([]uint16, tracedLen)
	}
	x := r.indexes[:tracedLen]
	follow(x, t, want)
	return x[:want]
}
