//go:build !amd64

package sumpair

const hasPair = false

func blocks(x, y *[8]uint32, p, q *byte, n int, k *[64]uint32) {
	panic("BUG: sumpair: no vector instructions")
}
