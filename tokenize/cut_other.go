//go:build !amd64

package tokenize

// cutVector returns false: there are no vector instructions for it.
func cutVector(*cuts, int, uint64) bool { return false }

// fillVector returns -1: there are no vector instructions for it.
func fillVector(*cuts, int, int, int, *wordCache) int { return -1 }

// fetchVector returns 0: there is no instruction for it.
func fetchVector(*cuts, int, int, *pieceCache) int { return 0 }
