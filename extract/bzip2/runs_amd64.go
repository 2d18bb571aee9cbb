package bzip2

import "golang.org/x/sys/cpu"

// hasChunks reports whether the processor can run copyChunks.
var hasChunks = cpu.X86.HasAVX2

// copyChunks copies bytes from src to dst. It stops before the first four equal bytes in
// a row, or when fewer than 35 of the n bytes of src are left. It returns the number of
// bytes copied. It may overwrite up to 32 bytes of dst after them, but none after dst[n-1].
//
//go:noescape
func copyChunks(dst, src *byte, n int) int
