package records

import "golang.org/x/sys/cpu"

// hasVBMI2 and hasAVX2 report whether this processor has the vector instructions of
// packVBMI2 and packAVX2.
var (
	hasVBMI2 = cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasPOPCNT
	hasAVX2  = cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT
)

// packVector writes the varints of values to out and returns their size in bytes. It
// returns -1, and leaves undefined bytes in out, if a value is not below shortLimit or the
// processor lacks the vector instructions. out must be vectorSpare bytes longer than the
// result.
func packVector(out []byte, values []int32) int {
	switch {
	case hasVBMI2:
		return packVBMI2(out, values)
	case hasAVX2:
		return packAVX2(out, values)
	}
	return -1
}

// packAVX2 implements packVector with AVX2.
func packAVX2(out []byte, values []int32) int {
	whole := len(values) &^ (packWidth - 1)
	size := packFours(out, values[:whole], &shuffles)
	if whole == len(values) || size < 0 {
		return size
	}
	var rest [packWidth]int32
	missing := packWidth - copy(rest[:], values[whole:])
	last := packFours(out[size:], rest[:], &shuffles)
	if last < 0 {
		return -1
	}
	return size + last - missing // each missing value was encoded as one byte, 0
}

// packWidth is the number of values that one step of packFours packs.
const packWidth = 4

// shuffles are masks for VPSHUFB. They join the bytes of four varints, each spread over a
// 32-bit word. Bit i of the index is set if word i has a second byte, bit 4+i if it has a
// third byte.
var shuffles = makeShuffles()

func makeShuffles() (masks [256][16]byte) {
	for index := range masks {
		mask := masks[index][:0]
		for word := range packWidth {
			mask = append(mask, byte(4*word))
			if index>>word&1 != 0 {
				mask = append(mask, byte(4*word+1))
			}
			if index>>(packWidth+word)&1 != 0 {
				mask = append(mask, byte(4*word+2))
			}
		}
	}
	return masks
}

// packVBMI2 implements packVector with AVX-512 VBMI2, 16 values at a time.
//
//go:noescape
func packVBMI2(out []byte, values []int32) int

// packFours implements packVector with AVX2. The number of values must be a multiple of
// packWidth.
//
//go:noescape
func packFours(out []byte, values []int32, shuffles *[256][16]byte) int
