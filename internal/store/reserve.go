package store

import "os"

// A reservation is disk space that is allocated to a file before data is written to it. On a
// file system that allocates blocks at each write, a few large reservations save CPU time: on
// ext4, writing takes only 0.7 of the CPU time.
//
// Each reservation is about as large as the file is so far, so that at most half of the
// file's space is unused. If the disk is full, on other file systems, and after any error,
// files are written without reservations.
type reservation struct {
	end int64 // offset up to which disk space is allocated
	off bool
}

// Sizes in bytes.
const (
	leastReserved = 1 << 20 // smaller files reserve nothing
	mostReserved  = 8 << 20
)

// extend reserves space for n more bytes of a file of the given size, if it has none.
func (r *reservation) extend(f *os.File, size, n int64) {
	if r.off || size < leastReserved || size+n <= r.end {
		return
	}
	from, more := max(size, r.end), max(n, min(size, mostReserved))
	r.end = from + more
	if !reserveSpace(f, from, more) {
		r.trim(f, size) // a part of the space may have been allocated
		r.off = true
	}
}

// trim frees the reserved space beyond size, the size of the file.
func (r *reservation) trim(f *os.File, size int64) {
	if r.end > size {
		_ = f.Truncate(size) // after an error the space remains allocated to the file
	}
	r.end = size
}
