package bzip2

import "golang.org/x/sys/cpu"

// bestLevel is the best level that this processor has the instructions for.
var bestLevel = func() level {
	switch {
	case cpu.X86.HasAVX512 && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasMOVBE:
		return level64
	case cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2:
		return level16
	}
	return levelPlain
}()

// places64 is the number of places of the move-to-front list that
// decode64 keeps in a register.
//
//lint:ignore U1000 entropy_amd64.s uses it
const places64 = 64

// moves64[p] is the permutation that moves the entry at place p of the list to the front:
// for each of the first places64 entries, the place that it comes from.
//
//lint:ignore U1000 entropy_amd64.s uses it
var moves64 = func() (m [places64][places64]byte) {
	for p := range m {
		moveToFront(m[p][:], p)
	}
	return m
}()

// decode64 decodes the codes of the current group. It stops before a code that only
// plain handles: the place is 2*places64 or more, the block ends, or a part becomes
// longer than maxPart. It also stops at the end of a group if plain must make a check
// there. decode64 needs level64.
//
//go:noescape
func decode64(col *column)
