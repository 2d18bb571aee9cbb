//go:build !linux && !darwin && !windows

package store

// FreeSpace returns false: unknown on this system.
func FreeSpace(string) (bytes int64, ok bool) { return 0, false }

// fileLimit returns -1: unknown on this system.
func fileLimit() int64 { return -1 }

func errno(err error) error { return err }
