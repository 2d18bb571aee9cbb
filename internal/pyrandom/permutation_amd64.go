package pyrandom

import "golang.org/x/sys/cpu"

// canTrace reports whether this processor has what traceSwaps and follow need.
var canTrace = cpu.X86.HasBMI2 && cpu.X86.HasLZCNT && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VBMI

// traceSwaps makes the swaps limit-1, limit-2, … 1, or as many as words suffice
// for. It returns the limit after them, 1 if none is left, and the number of words
// used. limit must be at least 2 and at most tracedLen.
//
//go:noescape
func traceSwaps(t *trace, words []uint32, limit int) (left, used int)

// follow sets x[:want] to the origins of t.final[:want]. x must have tracedLen
// elements; it overwrites others, too.
//
//go:noescape
func follow(x []uint16, t *trace, want int)
