package pretrain

// Every arm64 processor has NEON, the instructions of widenEights and putEights. Variables,
// because tests run the plain code too.
var hasEights, hasWiden, hasCompress = true, false, false

func putCandidates([]uint16, []int32, int32, int32) int { panic("BUG: pretrain: no AVX-512") }

func widenVector([]int32, []uint16) { panic("BUG: pretrain: no AVX-512") }

// putEights writes the indexes of the tokens that are neither a nor b to places and returns
// their number. The number of tokens must be a multiple of eight, and places compressSpare
// elements longer than tokens. kept is [keptPlaces].
//
//go:noescape
func putEights(places []uint16, tokens []int32, a, b int32, kept *[256][8]uint16) int

// widenEights implements widen for a multiple of eight ids. src must be as long as dst.
//
//go:noescape
func widenEights(dst []int32, src []uint16)

// canFetch reports whether fetch can be called, which every arm64 processor can.
const canFetch = true

// fetch begins to load the 384 bytes at p into the processor's cache, without waiting. The
// address may be outside the memory of the program.
//
//go:noescape
func fetch(p *byte)
