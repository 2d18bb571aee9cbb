package pyrandom

// fast reports whether twistBlocks and temperBlocks can be used on this
// processor. Every arm64 processor has NEON.
func fast() bool { return true }

// twistBlocks computes n blocks of 8 words of the new state in place, in order, starting
// at words. It also reads the word after the last block. Word i+distance is mixed into word
// i; with a negative distance this is a word that is already new.
//
//go:noescape
func twistBlocks(words *uint64, distance, n int)

// temperBlocks writes the outputs of n blocks of 8 words to out.
//
//go:noescape
func temperBlocks(out *uint32, words *uint64, n int)
