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

// moves[p] are the places that the first vectorPlaces entries of the list come
// from when the entry at place p moves to the front.
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

// decodeVector decodes codes, of a group that was begun, until it meets one whose
// place is 2*vectorPlaces or more, or that ends the block, or that makes a part
// longer than maxPart; or the end of a group after which something must be
// checked that only plain checks.
//
//go:noescape
func decodeVector(col *column)
