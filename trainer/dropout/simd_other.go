//go:build !amd64

package dropout

// hiddenFast returns 0: this architecture has no fast version.
func hiddenFast[T float32 | float64](Mask, []T, int64, Site, int) int { return 0 }

// tileFast returns false: this architecture has no fast version.
func tileFast(Mask, int64, Site, uint32, *[512]byte) bool { return false }

// applyFast returns 0: this architecture has no fast version.
func applyFast[T float32 | float64](Mask, []T, []byte) int { return 0 }
