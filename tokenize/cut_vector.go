//go:build amd64 || arm64

package tokenize

// cutVector implements [cuts.cut] with vector instructions. It returns false if the processor lacks it.
func cutVector(c *cuts, blocks int, lower uint64) bool {
	if hasVector {
		cutBlocks(c, blocks, lower)
	}
	return hasVector
}

// fillVector implements [cuts.fill] with vector instructions. It returns -1 if the
// processor lacks them.
func fillVector(c *cuts, k, parts, other int, cache *wordCache) int {
	if !hasVector {
		return -1
	}
	return fillQueue(c, k, parts, other, cache, &keyMasks)
}

// fetchVector prefetches slots of pieces. It considers the parts from k up to parts, and
// takes only parts that will probably be looked up in pieces. It stores the slot numbers in
// c.slots and returns how many there are.
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
