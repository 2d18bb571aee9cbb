package tfrecord

import "golang.org/x/sys/cpu"

// hasFold reports whether this processor can run foldCRC, hasFold16 whether foldCRC16.
var (
	hasFold   = cpu.X86.HasAVX512 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42
	hasFold16 = cpu.X86.HasAVX && cpu.X86.HasPCLMULQDQ && cpu.X86.HasSSE42
)

// foldCRC returns the CRC-32C of b, which must have at least leastFold bytes.
//
//go:noescape
func foldCRC(b []byte) uint32

// foldCRC16 is foldCRC with 16 bytes at a time.
//
//go:noescape
func foldCRC16(b []byte) uint32
