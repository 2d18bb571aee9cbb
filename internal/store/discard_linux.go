package store

import "golang.org/x/sys/unix"

// Discard frees the memory and the disk space of n bytes at an offset, which read as
// zeros from now on. It is only a wish: closing the file frees them at the latest.
func (s *dirScratch) Discard(off, n int64) {
	_ = unix.Fallocate(int(s.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}
