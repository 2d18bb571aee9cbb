package pyrandom

// canTrace reports whether traceSwaps and follow can be used: every arm64 processor has
// NEON.
const canTrace = true

// canVBMI is false: only amd64 has followVBMI.
var canVBMI bool

// traceSwaps records the swaps limit-1, limit-2, … 1 in t, with random numbers from words.
// It stops early if words is used up. left is the limit for the remaining swaps, 1 if there
// are none; used is the number of words used. limit is from 2 to tracedLen.
//
//go:noescape
func traceSwaps(t *trace, words []uint32, limit int) (left, used int)

// follow traces the sources in t.final[:want] back to their original indexes and writes
// these to x[:want]. x must have tracedLen elements; the others are overwritten too.
//
//go:noescape
func follow(x []uint16, t *trace, want int)

func followVBMI([]uint16, *trace, int) { panic("BUG: pyrandom: no AVX-512") }
