package bzip2

import "golang.org/x/sys/cpu"

// hasCLMUL reports whether the processor can run foldCRC.
var hasCLMUL = cpu.ARM64.HasPMULL

// foldCRC reduces one or more blocks of 64 bytes at p to 16 bytes, rest, with the same
// CRC. The CRC of rest must be computed with the initial value 0. crc is the CRC of the
// data before p, in the form of [crcTables.raw].
//
//go:noescape
func foldCRC(crc uint32, p *byte, blocks int, factors *crcFactors, rest *[16]byte)
