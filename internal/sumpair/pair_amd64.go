package sumpair

import "golang.org/x/sys/cpu"

// hasPair reports whether the processor can run blocks: it has the SHA extensions, which
// package cpu does not report.
var hasPair = cpu.X86.HasSSSE3 && cpu.X86.HasSSE41 && features()&(1<<29) != 0

// features returns the register EBX of leaf 7 of the instruction CPUID, or 0 on a
// processor without this leaf.
func features() (ebx uint32)

// blocks adds n ≥ 1 blocks of 64 bytes at p to the state x of one sum and n blocks at q to
// the state y of another. k has the constants of the rounds. A round needs the result of
// the round before it, for which the processor waits; it does the other sum's round in
// this time.
//
//go:noescape
func blocks(x, y *[8]uint32, p, q *byte, n int, k *[64]uint32)
