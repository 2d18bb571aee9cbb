//go:build unix

package trust

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the number of the user who owns a file.
func ownerOf(info fs.FileInfo) (int, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
