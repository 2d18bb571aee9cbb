//go:build linux || darwin

package pipeline

import (
	"os"
	"path/filepath"
	"syscall"

	"pretext/internal/store"
)

// freeSpace returns the bytes that a user may still write below a local path,
// which need not exist; ok is false where nobody knows.
func freeSpace(path string) (bytes int64, ok bool) {
	for path = store.Absolute(path); ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			break
		}
	}
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}
