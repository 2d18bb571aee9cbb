package wikitext

// canMark reports whether markBlocks may be called: every arm64 processor has NEON.
func canMark() bool { return true }

// markBlocks classifies blocks × 64 bytes at p. Bit j of the masks in words[k] is for
// byte j of block k.
//
//go:noescape
func markBlocks(p *byte, blocks int, words *mark64)
