//go:build !amd64

package records

// packVector returns -1: this architecture has no vector implementation.
func packVector([]byte, []int32) int { return -1 }
