package tfrecord

import "golang.org/x/sys/cpu"

// hasFold reports whether this processor can run foldCRC.
var hasFold = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42

// foldCRC returns the CRC-32C of b, which must have at least leastFold bytes.
//
//go:noescape
func foldCRC(b []byte) uint32
