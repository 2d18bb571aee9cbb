//go:build !amd64

package records

// packVector returns -1: there are no vector instructions for it.
func packVector([]byte, []int32) int { return -1 }
