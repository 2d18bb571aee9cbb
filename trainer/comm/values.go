package comm

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// bigEndian is true on a big-endian machine, where the bytes of each value are reversed
// for the network, which is little-endian. Tests change it.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// bytesOf returns the memory of x as bytes, without a copy.
func bytesOf[T float32 | float64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// valuesOf returns b as values of type T, without a copy: the inverse of bytesOf. b
// must be aligned for T; chunks of the result of bytesOf are.
func valuesOf[T float32 | float64](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// add adds x[i] to sum[i] for each element of x.
func add[T float32 | float64](sum, x []T) {
	sum = sum[:len(x)]
	for i, v := range x {
		sum[i] += v
	}
}

// swapped reverses the bytes of each value of size bytes in b, in place, and returns
// b.
func swapped(b []byte, size int) []byte {
	for at := 0; at < len(b); at += size {
		slices.Reverse(b[at : at+size])
	}
	return b
}
