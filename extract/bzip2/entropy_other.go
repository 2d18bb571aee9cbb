//go:build !amd64

package bzip2

const hasVBMI = false

func decodeVector(*column) { panic("BUG: bzip2: no vector instructions") }

func linkParts(*table, *byte, int, *[256]uint32) { panic("BUG: bzip2: no vector instructions") }
