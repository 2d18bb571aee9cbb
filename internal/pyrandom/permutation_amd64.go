package pyrandom

import "golang.org/x/sys/cpu"

// canTrace reports whether this processor has the instructions that traceSwaps and
// follow need, canVBMI whether it has those of followVBMI.
var (
	canTrace = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2
	canVBMI  = cpu.X86.HasBMI2 && cpu.X86.HasAVX512 && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VBMI
)

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

// followVBMI is follow with 64 bytes at a time instead of 32.
//
//go:noescape
func followVBMI(x []uint16, t *trace, want int)
