//go:build amd64 || arm64

package bzip2

// linkParts8 adds n parts of a column to the table. For each byte value, next holds the
// row of its first entry, end the row after its last. linkParts8 needs level16.
//
//go:noescape
func linkParts8(t *table, parts *byte, n int, next, end *[256]uint32)
