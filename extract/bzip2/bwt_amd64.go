package bzip2

// linkParts adds n parts of a column to the table. For each byte value, next holds the
// row of its first entry. linkParts needs AVX-512 and BMI2.
//
//go:noescape
func linkParts(t *table, parts *byte, n int, next *[256]uint32)
