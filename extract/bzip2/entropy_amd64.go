package bzip2

import "golang.org/x/sys/cpu"

// hasVBMI reports whether the processor has the instructions that decodeVector
// uses: AVX-512 with VBMI, BMI1, BMI2 and MOVBE.
var hasVBMI = cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasMOVBE

// vectorPlaces is the number of places of the move-to-front list that
// decodeVector keeps in a register.
//
//lint:ignore U1000 entropy_amd64.s uses it
const vectorPlaces = 64

// moves[p] is the permutation that moves the entry at place p of the list to the front:
// for each of the first vectorPlaces entries, the place that it comes from.
//
//lint:ignore U1000 entropy_amd64.s uses it
var moves = func() (m [vectorPlaces][vectorPlaces]byte) {
	for p := range m {
		for i := range m[p] {
			m[p][i] = byte(i)
		}
		copy(m[p][1:], m[p][:p])
		m[p][0] = byte(p)
	}
	return m
}()

// decodeVector decodes the codes of the current group. It stops before a code that only
// plain handles: the place is 2*vectorPlaces or more, the block ends, or a part becomes
// longer than maxPart. It also stops at the end of a group if plain must make a check
// there.
//
//go:noescape
func decodeVector(col *column)
