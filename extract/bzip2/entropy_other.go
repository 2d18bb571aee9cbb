//go:build !amd64 && !arm64

package bzip2

const bestLevel = levelPlain

func decode64(*column) { panic("BUG: bzip2: no vector instructions") }

func decode16(*column) { panic("BUG: bzip2: no vector instructions") }

func linkParts16(*table, *byte, int, *[256]uint32) { panic("BUG: bzip2: no vector instructions") }

func linkParts8(*table, *byte, int, *[256]uint32, *[256]uint32) {
	panic("BUG: bzip2: no vector instructions")
}
