package hugepages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// pageBytes is the size of a large page.
const pageBytes = 2 << 20

// Advise asks for large pages for the memory of s, which should have a megabyte at least. A
// large page that s has a part of is asked for as a whole. It is advice: only speed depends
// on it.
func Advise[T any](s []T) {
	if len(s) == 0 {
		return
	}
	p := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	first := p &^ (pageBytes - 1)
	end := (p + uintptr(len(s))*unsafe.Sizeof(s[0]) + pageBytes - 1) &^ (pageBytes - 1)
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, first, end-first, unix.MADV_HUGEPAGE)
}
