//go:build !amd64 && !arm64

package tokenize

// cutVector returns false: this architecture has no vector implementation.
func cutVector(*cuts, int, uint64) bool { return false }

// fillVector returns -1: this architecture has no vector implementation.
func fillVector(*cuts, int, int, int, *wordCache) int { return -1 }

// fetchVector returns 0: this architecture has no vector implementation.
func fetchVector(*cuts, int, int, *pieceCache) int { return 0 }
