package store

import "os"

// Large pieces of large files are written past the page cache, which would take most of the
// CPU time of writing them: the kernel copies the data, and a virtual machine that has given
// memory back to its host pays for each page that it takes again. Writing 2 GB to ext4 took
// 3.7 s of CPU time through the page cache and 0.5 s past it, in pieces of 1 MiB; with 64 KiB,
// 5.0 s and 1.6 s. Who reads such a file next reads it from disk, as most of a file that
// does not fit into memory.
const (
	// DirectFrom is the offset in a file from which its pieces may be written past the page
	// cache. Smaller files stay in it for the next stage.
	DirectFrom = 64 << 20
	// DirectBytes is the least size of these pieces.
	DirectBytes = 1 << 20
)

// directAlignment is what the offset, the size and the address of a piece must be a multiple
// of. Devices want no more.
const directAlignment = 4096

// A direct writes a file, past the page cache where this is possible.
type direct struct {
	on  bool // the file is set to it
	off bool // the file system refused it
}

// write writes p at the end of the file, whose size is given.
func (d *direct) write(f *os.File, size int64, p []byte) (n int, err error) {
	d.set(f, !d.off && size >= DirectFrom && len(p) >= DirectBytes && aligned(size, p))
	n, err = f.Write(p)
	if !d.on || !refused(err) {
		return n, err
	}
	d.off = true
	d.set(f, false)
	more, err := f.Write(p[n:])
	return n + more, err
}

func (d *direct) set(f *os.File, on bool) {
	if on == d.on {
		return
	}
	if setDirect(f, on) {
		d.on = on
	} else {
		d.off = true
	}
}
