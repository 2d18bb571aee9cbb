package store

import "os"

// A reservation is disk space that is allocated to a file before it is written. Where
// a file system allocates the blocks of each write, one after the other, larger
// reservations take less CPU time: on ext4 writing takes 0.7 of it.
//
// A file reserves as much as it has, so that at most half of its space is unused at
// any time. Without free space, on other file systems and after any error it is
// written without.
type reservation struct {
	end int64 // up to here the file has space
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
		r.trim(f, size) // a part may be reserved
		r.off = true
	}
}

// trim frees what is reserved beyond the end of a file of the given size.
func (r *reservation) trim(f *os.File, size int64) {
	if r.end > size {
		_ = f.Truncate(size) // after an error the file keeps unused space
	}
	r.end = size
}
