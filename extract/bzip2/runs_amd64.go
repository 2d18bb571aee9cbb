package bzip2

import "golang.org/x/sys/cpu"

// hasAVX2 reports whether the processor can run copyChunks.
var hasAVX2 = cpu.X86.HasAVX2

// copyChunks copies bytes from src, which has n, to dst up to the first four equal
// ones, or to fewer than 35 bytes before the end. It returns how many it copied,
// and may have overwritten up to 32 bytes of dst after them, as far as n.
//
//go:noescape
func copyChunks(dst, src *byte, n int) int
