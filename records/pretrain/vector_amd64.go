package pretrain

import "golang.org/x/sys/cpu"

// hasEights reports whether this processor has the instructions of widenEights and
// putEights, hasWiden those of widenVector, hasCompress those of putCandidates.
var (
	hasEights   = cpu.X86.HasAVX2 && cpu.X86.HasPOPCNT
	hasWiden    = cpu.X86.HasBMI2 && cpu.X86.HasAVX512 && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
	hasCompress = hasWiden && cpu.X86.HasAVX512 && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasPOPCNT
)

// putCandidates writes the indexes of the tokens that are neither a nor b to places and
// returns their number. places must be compressSpare elements longer than tokens.
//
//go:noescape
func putCandidates(places []uint16, tokens []int32, a, b int32) int

// widenVector implements widen with AVX-512. src must be as long as dst.
//
//go:noescape
func widenVector(dst []int32, src []uint16)

// putEights is putCandidates for a multiple of eight tokens, with AVX2. kept is [keptPlaces].
//
//go:noescape
func putEights(places []uint16, tokens []int32, a, b int32, kept *[256][8]uint16) int

// widenEights is widenVector for a multiple of eight ids, with AVX2.
//
//go:noescape
func widenEights(dst []int32, src []uint16)

// canFetch reports whether fetch can be called, which every amd64 processor can.
const canFetch = true

// fetch begins to load the 384 bytes at p into the processor's cache, without waiting. The
// address may be outside the memory of the program.
//
//go:noescape
func fetch(p *byte)
