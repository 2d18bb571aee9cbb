//go:build !linux && !darwin

package store

// free is not known here.
func free(string) int64 { return 0 }

// fileLimit is not known here.
func fileLimit() int64 { return -1 }
