package wikitext

import "golang.org/x/sys/cpu"

// canMark reports whether markBlocks may be called.
func canMark() bool { return cpu.X86.HasAVX2 }

// markBlocks writes a word for each of the blocks of 64 bytes at p: bit k is
// set if byte k of the block is of classSpecial.
//
//go:noescape
func markBlocks(p *byte, blocks int, words *uint64)
