//go:build amd64 || arm64

package bzip2

// places16 is the number of places that decode16 keeps in a register.
const places16 = 16

// moves16[p] is the permutation that moves the entry at place p of the list to the front.
//
//lint:ignore U1000 assembly uses it
var moves16 = func() (m [places16][places16]byte) {
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

// uptoPlace[3*places16-1-p:] begins with p-places16+1 bytes of ones, then zeros:
// which of the places from places16 on change when the entry at place p moves to the
// front. p is from places16 to 3*places16-1.
//
//lint:ignore U1000 assembly uses it
var uptoPlace = func() (m [4 * places16]byte) {
	for i := range 2 * places16 {
		m[i] = 0xff
	}
	return m
}()

// decode16 decodes the codes of the current group. It stops before a code that only
// plain handles: the place is 3*places16 or more, the block ends, or a part becomes longer
// than maxPart. It also stops at the end of a group if plain must make a check there.
// decode16 needs level16.
//
//go:noescape
func decode16(col *column)
