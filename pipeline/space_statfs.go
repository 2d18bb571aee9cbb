//go:build linux || darwin

package pipeline

import (
	"os"
	"path/filepath"
	"syscall"

	"pretext/internal/store"
)

// freeSpace returns the bytes that an ordinary user may still write to the file
// system of a local path. If the path does not exist, its nearest existing
// parent directory is used. ok is false if the number is unknown.
func freeSpace(path string) (bytes int64, ok bool) {
	path, ok = store.Locate(store.Absolute(path)).Local()
	if !ok {
		return 0, false
	}
	for ; ; path = filepath.Dir(path) {
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
