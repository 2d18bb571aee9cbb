package store

import "os"

// A writeback lets the kernel write a file to disk while it is being made. Else the
// whole file is written when it is committed, while the task waits.
type writeback struct {
	begun int64 // up to here the kernel writes the file
	off   bool
}

// writebackBytes is the size of the pieces that the kernel is asked to write. With
// 1 MiB committing a file of 43 MiB took 0.3 ms instead of 22 on ext4, with 4 MiB
// 2.5, and none took more CPU time.
const writebackBytes = 1 << 20

// begin asks the kernel to write what a file of the given size has, if that is
// enough. It does not wait, and it is only a wish: errors of the disk are those of
// the commit.
func (b *writeback) begin(f *os.File, size int64) {
	if b.off || size-b.begun < writebackBytes {
		return
	}
	b.off = !beginWriteback(f, b.begun, size-b.begun)
	b.begun = size
}
