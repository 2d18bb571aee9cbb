package bzip2

// linkParts adds n parts of a column to the table. For each byte value, next holds the
// row of its first entry. linkParts needs levelAVX512.
//
//go:noescape
func linkParts(t *table, parts *byte, n int, next *[256]uint32)

// linkPartsAVX2 is linkParts for levelAVX2. end holds the row after the last entry of
// each byte value.
//
//go:noescape
func linkPartsAVX2(t *table, parts *byte, n int, next, end *[256]uint32)
