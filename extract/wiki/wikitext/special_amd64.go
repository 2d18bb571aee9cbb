package wikitext

import "golang.org/x/sys/cpu"

// canMark reports whether markBlocks may be called.
func canMark() bool { return cpu.X86.HasAVX2 }

// markBlocks writes the marks of the blocks of 64 bytes at p: bit k is for byte
// k of the block.
//
//go:noescape
func markBlocks(p *byte, blocks int, words *mark64)
