package utf8scan

// fast reports whether validBlocks can be used on this processor: every arm64 processor
// has NEON.
func fast() bool { return true }

// validBlocks reports whether the whole blocks in the n bytes at p are valid
// UTF-8. An incomplete character at the end of the last block is accepted.
//
//go:noescape
func validBlocks(p *byte, n int) bool
