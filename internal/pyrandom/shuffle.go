package pyrandom

import "math/bits"

// Shuffle is shuffle(x). The draws depend only on len(x).
//
// For each i from the last down to 1, CPython draws j from [0, i] and swaps x[i] with x[j].
// This implementation first makes the draws for many i, then the swaps. It accepts or
// rejects a draw without a branch, because the processor could not predict the branch.
func Shuffle[T any](r *Rand, x []T) {
	i := len(x) - 1
	for ; i >= maxTarget; i-- {
		j := r.Below(uint64(i) + 1)
		x[i], x[j] = x[j], x[i]
	}
	for i > 0 {
		for _, j := range r.drawTargets(uint32(i)) {
			x[i], x[j] = x[j], x[i]
			i--
		}
	}
}

// maxTarget is the limit above which the comparison by subtraction in
// drawTargets overflows.
const maxTarget = 1 << 30

// drawTargets draws j from [0, i], then from [0, i-1] and so on, down to [0, 1]
// or until its buffer is full.
func (r *Rand) drawTargets(i uint32) []uint32 {
	n := uint32(0)
	for i > 0 && n < uint32(len(r.targets)) {
		// All i down to last need the same number of bits.
		k := bits.Len32(i + 1)
		last := max(1, uint32(1)<<(k-1)-1)
		if room := uint32(len(r.targets)) - n; i-last >= room {
			last = i - room + 1
		}
		drawn := r.drawRun(r.targets[n:], i, last)
		n += drawn
		i -= drawn
	}
	return r.targets[:n]
}

// drawRun draws j from [0, i] for each i down to last, which all need the same number
// of bits.
func (r *Rand) drawRun(targets []uint32, i, last uint32) uint32 {
	n, count, shift := uint32(0), i-last+1, uint(bits.LeadingZeros32(i+1))
	for n < count {
		if r.pos >= stateLen {
			r.refill()
		}
		words := r.out[r.pos:]
		used := len(words)
		limit := i + 1 // so that j - limit can be computed before n is known
		for at, word := range words {
			j := word >> (shift & 31)
			targets[n] = j
			n += (j - limit + n) >> 31 // 1 if j <= i-n, because then the difference is negative
			if n == count {
				used = at + 1
				break
			}
		}
		r.pos += used
	}
	return n
}
