//go:build !amd64 && !arm64

package pyrandom

var canTrace, canVBMI bool // false

func traceSwaps(*trace, []uint32, int) (left, used int) {
	panic("BUG: pyrandom: no vector instructions")
}

func followVBMI([]uint16, *trace, int) { panic("BUG: pyrandom: no vector instructions") }

func follow([]uint16, *trace, int) { panic("BUG: pyrandom: no vector instructions") }
