package tokenize

// hasVector reports whether cutBlocks, fillQueue and fetchSlots can be used: every arm64
// processor has NEON.
const hasVector = true
