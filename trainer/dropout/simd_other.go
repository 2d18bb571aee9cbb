//go:build !amd64

package dropout

// hiddenFast handles nothing on this architecture.
func hiddenFast[T float32 | float64](Mask, []T, int64, Site, int) int { return 0 }

// attentionFast handles nothing on this architecture.
func attentionFast[T float32 | float64](Mask, tile[T], int64, Site, uint32) bool { return false }
