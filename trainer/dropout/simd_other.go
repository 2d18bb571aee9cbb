//go:build !amd64

package dropout

// hiddenFast returns 0: this architecture has no fast version.
func hiddenFast[T float32 | float64](Mask, []T, int64, Site, int) int { return 0 }

// attentionFast returns false: this architecture has no fast version.
func attentionFast[T float32 | float64](Mask, tile[T], int64, Site, uint32) bool { return false }
