package wiki

import (
	"unicode/utf8"

	"golang.org/x/sys/cpu"
)

// validBlocks tells whether the whole blocks of 32 bytes in n bytes at p are
// valid UTF-8, but for a character that the last of them does not finish.
//
//go:noescape
func validBlocks(p *byte, n int) bool

// validUTF8 is utf8.Valid, some ten times as fast where the processor has AVX2.
func validUTF8(b []byte) bool {
	const block = 32
	if len(b) < 2*block || !cpu.X86.HasAVX2 {
		return utf8.Valid(b)
	}
	if !validBlocks(&b[0], len(b)) {
		return false
	}
	tail := len(b) &^ (block - 1)
	for k := tail - 1; k >= tail-3; k-- { // back to the beginning of a character left open
		if b[k] >= 0xC0 {
			tail = k
			break
		}
	}
	return utf8.Valid(b[tail:])
}
