// Package pyrandom implements random.Random of CPython 3, bit for bit. BERT's
// create_pretraining_data.py is written in Python, so building the same examples needs the
// same random numbers in the same order.
//
//	rng := pyrandom.New(12345)       // random.Random(12345)
//	p := rng.Float64()               // random()
//	n := rng.RandInt(1, 6)           // randint(1, 6)
//	pyrandom.Shuffle(rng, documents) // shuffle(documents)
//
// The generator is the Mersenne Twister MT19937 (Matsumoto and Nishimura, "A
// 623-dimensionally equidistributed uniform pseudo-random number generator",
// 1998), seeded by its init_by_array. The rest follows Modules/_randommodule.c
// and Lib/random.py: a seed is the 32-bit words of its absolute value, a float
// takes two outputs, and an integer below n takes n.bit_length() bits and is
// drawn again until it is below n. Python 3.2 and later do this; Python 2 draws
// other integers.
//
// It is not cryptographically secure. A Rand takes 6 KB and must not be used by
// several goroutines at once.
package pyrandom

import "math/bits"

// A Rand is a random.Random. Make one with [New].
type Rand struct {
	pos     int              // index of the next unused word of out
	out     [stateLen]uint32 // outputs of the current state
	state   [pairs]uint64    // words 2i and 2i+1, the first in the low half
	targets [256]uint32      // buffer of Shuffle
	indexes []uint16         // result of Permutation
	trace   trace            // buffer of Permutation
}

// New returns random.Random(seed). Like CPython it takes the absolute value:
// seeds n and -n give the same numbers.
func New(seed int64) *Rand {
	r := new(Rand)
	r.Seed(seed)
	return r
}

// Seed resets r to the state of New(seed).
func (r *Rand) Seed(seed int64) {
	magnitude := uint64(seed)
	if seed < 0 {
		magnitude = -magnitude
	}
	key := []uint32{uint32(magnitude), uint32(magnitude >> 32)}
	if key[1] == 0 {
		key = key[:1]
	}
	r.initByArray(key)
}

// Uint32 returns the next output of the generator: getrandbits(32).
func (r *Rand) Uint32() uint32 {
	if r.pos >= stateLen {
		r.refill()
	}
	v := r.out[r.pos]
	r.pos++
	return v
}

// Bits53 draws the same outputs as random() and returns an integer below 2^53. random() is
// exactly Bits53() / 2^53. Comparing Bits53() with a [Threshold] gives the same result as
// comparing random() with a probability, but needs no floats.
func (r *Rand) Bits53() uint64 {
	hi := r.Uint32()
	return Join(hi, r.Uint32())
}

// Unused returns the next outputs without drawing them: those that are already computed, 0
// to 624. [Rand.Skip] draws them.
func (r *Rand) Unused() []uint32 { return r.out[r.pos:] }

// Skip draws n outputs, at most len(r.Unused()).
func (r *Rand) Skip(n int) { r.pos += n }

// Join returns the result of [Rand.Bits53] for two outputs.
func Join(hi, lo uint32) uint64 { return uint64(hi>>5)<<26 | uint64(lo>>6) }

// Coin returns random() < 0.5. Only the highest bit decides, but Coin consumes
// two outputs, as random() does.
func (r *Rand) Coin() bool {
	hi := r.Uint32()
	r.Uint32()
	return hi>>31 == 0
}

// Coins calls Coin n times and returns how many results were true.
func (r *Rand) Coins(n int) (heads int) {
	for n > 0 {
		whole := min(n, (stateLen-r.pos)/2) // pairs of outputs that are already computed
		if whole == 0 {
			if r.Coin() {
				heads++
			}
			n--
			continue
		}
		words := r.out[r.pos : r.pos+2*whole]
		for i := 0; i < len(words); i += 2 {
			heads += int(^words[i] >> 31)
		}
		r.pos += len(words)
		n -= whole
	}
	return heads
}

// Float64 is random(): in [0, 1), a multiple of 2^-53.
func (r *Rand) Float64() float64 {
	return float64(r.Bits53()) / (1 << 53)
}

// Threshold returns t such that Bits53() < t exactly when random() < p.
func Threshold(p float64) uint64 {
	const one = 1 << 53
	switch {
	case !(p > 0): // also NaN: comparisons with NaN are false
		return 0
	case p >= 1:
		return one
	}
	scaled := p * one // exact: only the exponent changes
	t := uint64(scaled)
	if float64(t) < scaled {
		t++
	}
	return t
}

// Bits is getrandbits(k) for k in [0, 64].
func (r *Rand) Bits(k int) uint64 {
	switch {
	case k <= 0:
		return 0
	case k <= 32:
		return uint64(r.Uint32() >> (32 - uint(k)))
	case k <= 64:
		low := uint64(r.Uint32())
		return low | uint64(r.Uint32()>>(64-uint(k)))<<32
	}
	panic("BUG: more than 64 random bits asked for")
}

// Below is _randbelow(n): uniform in [0, n). For n = 0 it returns 0 without a
// draw. For n = 1 it draws at least once, as CPython does.
func (r *Rand) Below(n uint64) uint64 {
	k := bits.Len64(n)
	if k <= 32 && k > 0 {
		return uint64(r.below32(uint32(n), 32-uint(k)))
	}
	v := r.Bits(k)
	for v >= n && n > 0 {
		v = r.Bits(k)
	}
	return v
}

// below32 is Below for 0 < n < 2^32; shift must be 32 - n.bit_length().
func (r *Rand) below32(n uint32, shift uint) uint32 {
	for {
		if v := r.Uint32() >> (shift & 31); v < n {
			return v
		}
	}
}

// RandInt is randint(a, b): uniform in [a, b], both ends included. It panics if
// b < a; CPython raises ValueError.
func (r *Rand) RandInt(a, b int64) int64 {
	if b < a {
		panic("BUG: empty range for RandInt")
	}
	width := uint64(b) - uint64(a) + 1
	if width == 0 { // 2^64 values: 65 bits, the highest of which must be 0
		return a + int64(r.bits65())
	}
	return a + int64(r.Below(width))
}

// bits65 is _randbelow(2^64): it draws 65 bits until the highest bit is 0, and returns the
// others.
func (r *Rand) bits65() uint64 {
	for {
		v := r.Bits(64)
		if r.Uint32()>>31 == 0 {
			return v
		}
	}
}
