package store

import "os"

// A writeback makes the kernel write a file to disk while the process is still producing the
// file. Otherwise the commit would write the whole file, while the task waits.
type writeback struct {
	begun int64 // the kernel was asked to write the bytes before this offset
	off   bool
}

// writebackBytes is the minimum number of bytes that the kernel is asked to write at a time.
// Measured on ext4, the commit of a file of 43 MiB takes 22 ms without writeback, 2.5 ms
// with pieces of 4 MiB, and 0.3 ms with 1 MiB; the CPU time is the same.
const writebackBytes = 1 << 20

// begin asks the kernel to write the new bytes of a file to disk, if there are at least
// writebackBytes. size is the file's size. It does not wait, and it ignores errors, because
// the commit will report errors of the disk.
func (b *writeback) begin(f *os.File, size int64) {
	if b.off || size-b.begun < writebackBytes {
		return
	}
	b.off = !beginWriteback(f, b.begun, size-b.begun)
	b.begun = size
}
