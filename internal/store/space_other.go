//go:build !linux && !darwin

package store

// free returns 0: unknown on this system.
func free(string) int64 { return 0 }

// fileLimit returns -1: unknown on this system.
func fileLimit() int64 { return -1 }
