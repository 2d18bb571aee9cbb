package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginWriteback asks the kernel to write n bytes of a file, beginning at an offset, to
// disk. It returns false if this is not possible.
func beginWriteback(f *os.File, from, n int64) bool {
	return syncFileRange(int(f.Fd()), from, n, unix.SYNC_FILE_RANGE_WRITE) == nil
}

var syncFileRange = unix.SyncFileRange
