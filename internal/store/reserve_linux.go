package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserveSpace allocates n bytes of disk space from an offset at or beyond the end of the
// file. The file's size does not change. It returns false if the allocation failed, or if
// the file system is not ext4: only there savings were measured, and elsewhere a reservation
// may do harm, such as prevent compression.
func reserveSpace(f *os.File, from, n int64) bool {
	var s unix.Statfs_t
	fd := int(f.Fd())
	if err := unix.Fstatfs(fd, &s); err != nil || s.Type != unix.EXT4_SUPER_MAGIC {
		return false
	}
	return allocate(fd, unix.FALLOC_FL_KEEP_SIZE, from, n) == nil
}

var allocate = unix.Fallocate
