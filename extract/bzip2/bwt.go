package bzip2

import "encoding/binary"

// tableSize is the number of entries of a [table]: the power of two above
// maxBlock, so that indexes are masked and need no bounds check.
const (
	tableSize = 1 << 20
	tableMask = tableSize - 1
)

// A table is the linked list of the inverse Burrows-Wheeler transform. Entry i
// holds the next row in its upper 24 bits, and the byte to output at this step
// in its lower 8 bits.
type table [tableSize]uint32

// link builds the table from col, the last column of the sorted rotations. The n-th row
// that begins with a byte value leads to the n-th row that ends with it: both are the
// same position in the text, because rows are sorted by the text after that position.
// The output of this step is the byte.
func (t *table) link(col *column) {
	var next, end [256]uint32
	sum := uint32(0)
	for c, n := range col.count {
		next[c] = sum
		sum += n
		end[c] = sum
	}
	switch col.level {
	case level64:
		linkParts16(t, &col.buf[0], col.parts, &next)
		return
	case level16:
		linkParts8(t, &col.buf[0], col.parts, &next, &end)
		return
	}
	row := uint32(0) // in the upper 24 bits
	for at := 0; at < col.parts*partSize; at += partSize {
		part := binary.LittleEndian.Uint16(col.buf[at:])
		c := part & 0xff
		j := next[c]
		for end := row + uint32(part&^0xff); row < end; row += 1 << 8 {
			t[j&tableMask] = row | uint32(c)
			j++
		}
		next[c] = j
	}
}

// walk writes the text to dst, beginning at row origin.
//
// This is the simple form, in which each step waits for the memory access of the
// previous step. [walker.walk] writes the same bytes faster.
func (t *table) walk(dst []byte, origin uint32) {
	row := origin
	for i := range dst {
		x := t[row&tableMask]
		dst[i] = byte(x)
		row = x >> 8
	}
}
