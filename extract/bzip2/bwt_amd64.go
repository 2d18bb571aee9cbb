package bzip2

// linkParts16 adds n parts of a column to the table. For each byte value, next holds the
// row of its first entry. linkParts16 needs level64.
//
//go:noescape
func linkParts16(t *table, parts *byte, n int, next *[256]uint32)
