package comm

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// bigEndian reports whether values must be swapped between memory and the
// network, where they are little-endian. A variable, so that tests can set it.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// bytesOf returns the memory of x.
func bytesOf[T float32 | float64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// valuesOf is the inverse of bytesOf. b must be aligned for T, as chunks of bytesOf
// are.
func valuesOf[T float32 | float64](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// add adds x to sum.
func add[T float32 | float64](sum, x []T) {
	sum = sum[:len(x)]
	for i, v := range x {
		sum[i] += v
	}
}

// swapped reverses the bytes of each value of b in place.
func swapped(b []byte, size int) []byte {
	for at := 0; at < len(b); at += size {
		slices.Reverse(b[at : at+size])
	}
	return b
}
