package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserveSpace allocates n bytes of disk space from an offset on, beyond the end of
// the file, whose size stays. It returns false if that failed, or would not save CPU
// time: only on ext4 it was measured, and elsewhere it may do harm, such as prevent
// compression.
func reserveSpace(f *os.File, from, n int64) bool {
	var s unix.Statfs_t
	fd := int(f.Fd())
	if err := unix.Fstatfs(fd, &s); err != nil || s.Type != unix.EXT4_SUPER_MAGIC {
		return false
	}
	return allocate(fd, unix.FALLOC_FL_KEEP_SIZE, from, n) == nil
}

var allocate = unix.Fallocate
