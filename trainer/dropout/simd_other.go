//go:build !amd64

package dropout

// hiddenFast handles nothing: see its twin for amd64.
func hiddenFast[T float32 | float64](Mask, []T, int64, Site, int) int { return 0 }

// attentionFast handles nothing: see its twin for amd64.
func attentionFast[T float32 | float64](Mask, tile[T], int64, Site, uint32) bool { return false }
