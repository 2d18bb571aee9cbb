package bzip2

import "golang.org/x/sys/cpu"

// bestLevel is the best level that this processor has the instructions for.
var bestLevel = func() level {
	switch {
	case cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI && cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasMOVBE:
		return levelAVX512
	case cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2:
		return levelAVX2
	}
	return levelPlain
}()

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
		moveToFront(m[p][:], p)
	}
	return m
}()

// avx2Places is the number of places that decodeAVX2 keeps in a register.
const avx2Places = 16

// moves16 are moves for decodeAVX2.
//
//lint:ignore U1000 entropy_amd64.s uses it
var moves16 = func() (m [avx2Places][avx2Places]byte) {
	for p := range m {
		moveToFront(m[p][:], p)
	}
	return m
}()

// moveToFront makes m the permutation that moves the entry at place p to the front.
func moveToFront(m []byte, p int) {
	for i := range m {
		m[i] = byte(i)
	}
	copy(m[1:], m[:p])
	m[0] = byte(p)
}

// uptoPlace[3*avx2Places-1-p:] begins with p-avx2Places+1 bytes of ones, then zeros:
// which of the places from avx2Places on change when the entry at place p moves to the
// front. p is from avx2Places to 3*avx2Places-1.
//
//lint:ignore U1000 entropy_amd64.s uses it
var uptoPlace = func() (m [4 * avx2Places]byte) {
	for i := range 2 * avx2Places {
		m[i] = 0xff
	}
	return m
}()

// decodeVector decodes the codes of the current group. It stops before a code that only
// plain handles: the place is 2*vectorPlaces or more, the block ends, or a part becomes
// longer than maxPart. It also stops at the end of a group if plain must make a check
// there. decodeVector needs levelAVX512.
//
//go:noescape
func decodeVector(col *column)

// decodeAVX2 is decodeVector for levelAVX2. It leaves places from 3*avx2Places on to
// plain.
//
//go:noescape
func decodeAVX2(col *column)
