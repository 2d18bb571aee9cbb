package tokenize

import "golang.org/x/sys/cpu"

// hasVector reports whether the processor has what cutBlocks and fillQueue need.
var hasVector = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

// cutVector is [cuts.cut] with AVX2. It returns false if the processor does not
// have that.
func cutVector(c *cuts, blocks int, lower uint64) bool {
	if hasVector {
		cutBlocks(c, blocks, lower)
	}
	return hasVector
}

// fillVector is [cuts.fill] with AVX. It returns -1 if the processor does not
// have that.
func fillVector(c *cuts, k, parts, other int, cache *wordCache) int {
	if !hasVector {
		return -1
	}
	return fillQueue(c, k, parts, other, cache, &keyMasks)
}

// fetchVector asks the processor to fetch the slots in pieces of those of the
// parts from k up to parts that probably are looked up there, puts their numbers
// into c.slots, and returns how many they are.
func fetchVector(c *cuts, k, parts int, pieces *pieceCache) int {
	if !hasVector {
		return 0
	}
	return fetchSlots(c, k, parts, pieces, &keyMasks)
}

//go:noescape
func cutBlocks(c *cuts, blocks int, lower uint64)

//go:noescape
func fillQueue(c *cuts, k, parts, other int, cache *wordCache, masks *[maxPiece + 1][4]uint64) int

//go:noescape
func fetchSlots(c *cuts, k, parts int, pieces *pieceCache, masks *[maxPiece + 1][4]uint64) int
