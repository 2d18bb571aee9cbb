//go:build !linux

package store

import "os"

// reserveSpace returns false: files are written without reservations.
func reserveSpace(*os.File, int64, int64) bool { return false }
