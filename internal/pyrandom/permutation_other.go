//go:build !amd64

package pyrandom

var canTrace, canFollow bool // false

func traceSwaps(*trace, []uint32, int) (left, used int) {
	panic("BUG: pyrandom: no vector instructions")
}

func follow([]uint16, *trace, int) { panic("BUG: pyrandom: no vector instructions") }

func followAVX2([]uint16, *trace, int) { panic("BUG: pyrandom: no vector instructions") }
