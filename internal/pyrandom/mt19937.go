package pyrandom

// Parameters of MT19937.
const (
	stateLen  = 624        // words of state
	middle    = 397        // offset of the word mixed in
	matrixA   = 0x9908b0df // last row of the twist matrix
	upperMask = 0x80000000 // most significant bit
	lowerMask = 0x7fffffff // the other 31
)

// The state is stored as pairs of words, two in each uint64, so that any processor can
// compute two words at a time.
const (
	pairs = stateLen / 2
	both  = 1<<32 | 1 // multiplied by a 32-bit mask, gives the mask for both halves
)

// seedWords returns the initial state for a seed of one word, as init_genrand of
// mt19937ar.c does.
func seedWords(seed uint32) (s [stateLen]uint32) {
	s[0] = seed
	for i := 1; i < stateLen; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + uint32(i)
	}
	return s
}

// initByArray sets the state from the words of key, as init_by_array of
// mt19937ar.c.
func (r *Rand) initByArray(key []uint32) {
	s := seedWords(19650218)
	i, j := 1, 0
	wrap := func() {
		if i++; i == stateLen {
			s[0] = s[stateLen-1]
			i = 1
		}
	}
	for range max(stateLen, len(key)) {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		wrap()
		if j++; j == len(key) {
			j = 0
		}
	}
	for range stateLen - 1 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		wrap()
	}
	s[0] = upperMask
	for p := range r.state {
		r.state[p] = uint64(s[2*p]) | uint64(s[2*p+1])<<32
	}
	r.pos = stateLen
}

// twist returns the new words i and i+1 of the state. current holds the old words i and
// i+1, next the words i+2 and i+3, and far the words i+middle and i+middle+1.
func twist(current, next, far uint64) uint64 {
	following := current>>32 | next<<32 // words i+1 and i+2
	y := current&(upperMask*both) | following&(lowerMask*both)
	return far ^ y>>1&(lowerMask*both) ^ (following&both)*matrixA
}

// temper computes the outputs for two words of the state. Its masks remove bits that a
// shift moves from one half of y into the other.
func temper(y uint64) uint64 {
	y ^= y >> 11 & (0x001fffff * both)
	y ^= y << 7 & (0x9d2c5680 * both)
	y ^= y << 15 & (0xefc60000 * both)
	return y ^ y>>18&(0x00003fff*both)
}

// refill makes the next 624 outputs.
func (r *Rand) refill() {
	if fast() {
		r.refillBlocks()
	} else {
		r.refillPairs()
	}
	r.pos = 0
}

// refillBlocks does the same as refillPairs, but computes blocks of 8 words. At the seams,
// where a block would need words that are not ready, it computes pairs.
func (r *Rand) refillBlocks() {
	const (
		block  = 8
		head   = (stateLen - middle) / block     // number of blocks that mix in old words
		seam   = head * block / 2                // first pair after these blocks
		tail   = (stateLen - 2*(seam+2)) / block // number of blocks from seam+2 to two pairs before the end
		behind = middle - stateLen               // distance from a word of these blocks to the new word mixed in
		last   = middle / 2                      // pair that begins with the last word mixed in
	)
	s := &r.state
	twistBlocks(&s[0], middle, head)
	s[seam] = twist(s[seam], s[seam+1], s[pairs-2]>>32|s[pairs-1]<<32)
	s[seam+1] = twist(s[seam+1], s[seam+2], s[pairs-1]>>32|s[0]<<32)
	twistBlocks(&s[seam+2], behind, tail)
	s[pairs-2] = twist(s[pairs-2], s[pairs-1], s[last-2]>>32|s[last-1]<<32)
	s[pairs-1] = twist(s[pairs-1], s[0], s[last-1]>>32|s[last]<<32)
	temperBlocks(&r.out[0], &s[0], stateLen/block)
}

// refillPairs makes the next 624 outputs. middle is odd, so the far words are
// halves of two neighbouring pairs. Pairs before the current one are already
// new, as the algorithm requires.
func (r *Rand) refillPairs() {
	const distance = middle / 2
	s := &r.state
	far := s[distance]
	for p := range pairs {
		q := p + distance + 1
		if q >= pairs {
			q -= pairs
		}
		after := p + 1
		if after == pairs {
			after = 0
		}
		near := far
		far = s[q]
		s[p] = twist(s[p], s[after], near>>32|far<<32)
		v := temper(s[p])
		r.out[2*p], r.out[2*p+1] = uint32(v), uint32(v>>32)
	}
}
