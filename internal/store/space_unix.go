//go:build linux || darwin

package store

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
)

// free returns the bytes that the disk of a folder has left for this user, of
// the folder above where it is not made yet; 0 where nobody knows.
func free(path string) int64 {
	var s syscall.Statfs_t
	for {
		err := syscall.Statfs(path, &s)
		if err == nil {
			return int64(s.Bavail) * int64(s.Bsize)
		}
		up := filepath.Dir(path)
		if !os.IsNotExist(err) || up == path {
			return 0
		}
		path = up
	}
}

// fileLimit returns how many bytes one file may have, -1 without a limit.
func fileLimit() int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &r); err != nil || r.Cur > math.MaxInt64 {
		return -1
	}
	return int64(r.Cur)
}
