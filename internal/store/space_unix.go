//go:build linux || darwin

package store

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
)

// free returns the bytes available to this user on path's file system. If path
// does not exist, its nearest existing parent is used; 0 means unknown.
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

// fileLimit returns the maximum size of a file in bytes (RLIMIT_FSIZE), -1 if
// unlimited.
func fileLimit() int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &r); err != nil || r.Cur > math.MaxInt64 {
		return -1
	}
	return int64(r.Cur)
}
