package bzip2

// bestLevel is the level that every arm64 processor has the instructions for.
const bestLevel = level16

func decode64(*column) { panic("BUG: bzip2: no AVX-512") }

func linkParts16(*table, *byte, int, *[256]uint32) { panic("BUG: bzip2: no AVX-512") }
