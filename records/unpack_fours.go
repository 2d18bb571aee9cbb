//go:build amd64 || arm64

package records

// An unpackStep is what unpackFours does with the next eight bytes of a packed list, by the
// highest bits of these bytes: it decodes up to four varints of up to four bytes.
type unpackStep struct {
	//lint:ignore U1000 assembly uses all fields
	shuffle [16]byte // mask for VPSHUFB or TBL that puts each varint into its own 32 bits
	size    uint32   // size of the decoded values in bytes; 0 if the first varint is too long
	used    uint32   // size of the varints
	_       [8]byte
}

var unpackSteps = func() (steps [256]unpackStep) {
	for set := range steps {
		s := &steps[set]
		for i := range s.shuffle {
			s.shuffle[i] = 0x80 // writes zero
		}
		at := 0
		for word := 0; word < 4; word++ {
			n := 1
			for n <= 4 && at+n <= 8 && set>>(at+n-1)&1 == 1 {
				n++
			}
			if n > 4 || at+n > 8 {
				break
			}
			for i := range n {
				s.shuffle[4*word+i] = byte(at + i)
			}
			at += n
			s.size, s.used = uint32(4*(word+1)), uint32(at)
		}
	}
	return steps
}()

// unpackVector decodes packed varints to dst, and stops before the end of either: where
// fewer than 16 bytes or 16 places are left, and before a varint of more than four bytes.
// It returns the numbers of values and of bytes. Places after the values may be
// overwritten.
func unpackVector(dst []int32, b []byte) (values, used int) {
	if !hasFours {
		return 0, 0
	}
	return unpackFours(dst, b, &unpackSteps)
}

// unpackFours implements unpackVector.
//
//go:noescape
func unpackFours(dst []int32, b []byte, steps *[256]unpackStep) (values, used int)
