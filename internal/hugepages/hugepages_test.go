package hugepages

import (
	"testing"
	"unsafe"
)

// Memory that is advised keeps its contents, whatever its size and place.
func TestAdviceChangesNothing(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 1 << 20, 3<<20 + 17, 9 << 20} {
		s := make([]byte, n)
		for i := range s {
			s[i] = byte(i * 7)
		}
		Advise(s)
		Advise(unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(s))), n/4))
		for i := range s {
			if s[i] != byte(i*7) {
				t.Fatalf("byte %d of %d is %d", i, n, s[i])
			}
		}
	}
	Advise([]uint64(nil))
}
