package tokenize

import "golang.org/x/sys/cpu"

// hasVector reports whether the processor has the instructions that cutBlocks, fillQueue
// and fetchSlots use.
var hasVector = cpu.X86.HasAVX2 && cpu.X86.HasBMI1
