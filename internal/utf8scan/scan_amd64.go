package utf8scan

import "golang.org/x/sys/cpu"

// fast reports whether validBlocks can be used on this processor.
func fast() bool { return cpu.X86.HasAVX2 }

// validBlocks reports whether the whole blocks in the n bytes at p are valid
// UTF-8. An incomplete character at the end of the last block is accepted.
//
//go:noescape
func validBlocks(p *byte, n int) bool
