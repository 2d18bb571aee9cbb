package store

import "golang.org/x/sys/unix"

// Discard frees the memory and disk space of n bytes at an offset, which then read as
// zeros. If it fails, closing the file frees them.
func (s *dirScratch) Discard(off, n int64) {
	_ = unix.Fallocate(int(s.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}
