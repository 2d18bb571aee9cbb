package wikitext

import "golang.org/x/sys/cpu"

// canMark reports whether markBlocks may be called.
func canMark() bool { return cpu.X86.HasAVX2 }

// markBlocks fills words[k] with the marks of block k of 64 bytes at p: bit j
// of a mark is for byte j of the block.
//
//go:noescape
func markBlocks(p *byte, blocks int, words *mark64)
