package bzip2

// linkParts enters n parts of a column into the table. next has the row of the
// first entry of each byte. It needs AVX-512 and BMI2.
//
//go:noescape
func linkParts(t *table, parts *byte, n int, next *[256]uint32)
