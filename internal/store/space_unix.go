//go:build linux || darwin

package store

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
)

// FreeSpace returns the bytes available to this user on path's file system; ok is
// false if they are unknown. If path does not exist, its nearest existing parent
// is used.
func FreeSpace(path string) (bytes int64, ok bool) {
	var s syscall.Statfs_t
	for {
		err := syscall.Statfs(path, &s)
		if err == nil {
			return int64(s.Bavail) * int64(s.Bsize), true
		}
		up := filepath.Dir(path)
		if !os.IsNotExist(err) || up == path {
			return 0, false
		}
		path = up
	}
}

// fileLimit returns the maximum size of a file in bytes (RLIMIT_FSIZE), -1 if
// unlimited.
func fileLimit() int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &r); err != nil || r.Cur > math.MaxInt64 {
		return -1
	}
	return int64(r.Cur)
}

func errno(err error) error { return err }
