//go:build !amd64 && !arm64

package records

// packVector returns -1: this architecture has no vector implementation.
func packVector([]byte, []int32) int { return -1 }

// unpackVector decodes nothing: this architecture has no vector implementation.
func unpackVector([]int32, []byte) (values, used int) { return 0, 0 }
