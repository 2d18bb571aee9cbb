//go:build !amd64 && !arm64

package bzip2

const bestLevel = levelPlain

func decodeVector(*column) { panic("BUG: bzip2: no vector instructions") }

func decodeAVX2(*column) { panic("BUG: bzip2: no vector instructions") }

func linkParts(*table, *byte, int, *[256]uint32) { panic("BUG: bzip2: no vector instructions") }

func linkPartsAVX2(*table, *byte, int, *[256]uint32, *[256]uint32) {
	panic("BUG: bzip2: no vector instructions")
}
