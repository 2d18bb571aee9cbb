//go:build !amd64 && !arm64

package bzip2

const hasCLMUL = false

func foldCRC(uint32, *byte, int, *crcFactors, *[16]byte) {
	panic("BUG: bzip2: no vector instructions")
}
