package wikitext

import "golang.org/x/sys/cpu"

// canMark reports whether markBlocks may be called.
func canMark() bool { return cpu.X86.HasAVX2 }

// markBlocks classifies blocks × 64 bytes at p. Bit j of the masks in words[k] is for
// byte j of block k.
//
//go:noescape
func markBlocks(p *byte, blocks int, words *mark64)
