package bzip2

import "golang.org/x/sys/cpu"

// hasCLMUL reports whether the processor can run foldCRC.
var hasCLMUL = cpu.X86.HasPCLMULQDQ && cpu.X86.HasAVX

// foldCRC shortens blocks of 64 bytes at p, at least one, to the 16 bytes that
// have the same CRC if their CRC begins at 0. crc is that of the data before p,
// in the form of [crcTables.raw].
//
//go:noescape
func foldCRC(crc uint32, p *byte, blocks int, factors *crcFactors, rest *[16]byte)
