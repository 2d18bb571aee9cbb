//go:build amd64 || arm64

package records

// packByFours implements packVector with packFours.
func packByFours(out []byte, values []int32) int {
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

// shuffles are masks for VPSHUFB and TBL. They join the bytes of four varints, each spread over a
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

// packFours implements packVector four values at a time. The number of values must be a multiple of
// packWidth.
//
//go:noescape
func packFours(out []byte, values []int32, shuffles *[256][16]byte) int
