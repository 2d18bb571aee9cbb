package utf8scan

import "golang.org/x/sys/cpu"

// fast reports whether validBlocks may be called.
func fast() bool { return cpu.X86.HasAVX2 }

// validBlocks tells whether the whole blocks in n bytes at p are valid UTF-8,
// but for a character that the last of them does not finish.
//
//go:noescape
func validBlocks(p *byte, n int) bool
