//go:build !amd64

package tokenize

// cutVector returns false: there are no vector instructions for it.
func cutVector(*cuts, int, uint64) bool { return false }

// fillVector returns -1: there are no vector instructions for it.
func fillVector(*cuts, int, int, int, *wordCache) int { return -1 }
