package pyrandom

// Permutation returns the first want elements of shuffle(range(n)). It makes the same draws
// as [Shuffle] of all n indexes. n must be below 2^16 and want at most n. The result is
// valid until the next call.
func (r *Rand) Permutation(n, want int) []uint16 {
	if n <= tracedLen && canTrace {
		return r.tracePermutation(n, want)
	}
	return r.plainPermutation(n, want)
}

// plainPermutation implements Permutation with [Shuffle].
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

// A trace records a shuffle of up to tracedLen indexes without swapping them, because each
// swap would have to wait for the swap before it. The trace has the source of each element;
// follow then traces all elements back to their original indexes at the same time.
//
// The shuffle does swap i after swap i+1. Swap i exchanges x[i] with x[j]. After it, x[i]
// is final, and x[j] has the former value of x[i]. A source is a byte s: if s is at least
// origin, it means the index s-origin; otherwise it means the value of x[s] before swap s.
type trace struct {
	last [2 * tracedLen]uint8 // source of the current x[i]; the second half takes the writes of rejected draws
	//lint:ignore U1000 vector code uses it
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

// tracePermutation implements Permutation for n up to tracedLen.
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
	if canVBMI {
		followVBMI(x, t, want)
	} else {
		follow(x, t, want)
	}
	return x[:want]
}
