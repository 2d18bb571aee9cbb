package pyrandom

import "golang.org/x/sys/cpu"

// fast reports whether twistBlocks and temperBlocks can be used on this
// processor.
func fast() bool { return cpu.X86.HasAVX2 }

// twistBlocks replaces n blocks of 8 words at words by new ones, in order. It
// reads the word after the last block. The word mixed into word i is word
// i+distance; distance may be negative, to read new words.
//
//go:noescape
func twistBlocks(words *uint64, distance, n int)

// temperBlocks writes the outputs of n blocks of 8 words to out.
//
//go:noescape
func temperBlocks(out *uint32, words *uint64, n int)
