package bzip2

// tableSize is the size of the table of the inverse transform: the power of
// two above maxBlock, so that indexes are masked and need no check.
const (
	tableSize = 1 << 20
	tableMask = tableSize - 1
)

// A table is the linked list that the inverse Burrows-Wheeler transform
// walks: entry i holds the next row in its upper 24 bits, and the byte that
// this step yields in its lower 8 bits.
type table [tableSize]uint32

// link builds the list of a column. The n-th row that begins with some byte
// leads to the n-th row that ends with it: both are the same place of the
// text, and the rows are sorted by what follows that place. The byte to yield
// is the one they share.
func (t *table) link(col *column) {
	var next [256]uint32
	sum := uint32(0)
	for c, n := range col.count {
		next[c] = sum
		sum += n
	}
	for i, c := range col.data() {
		j := next[c]
		next[c] = j + 1
		t[j&tableMask] = uint32(i)<<8 | uint32(c)
	}
}

// walk writes the text to dst, beginning at row origin.
//
// It is the plain form: each step waits for the memory access of the one
// before. [walker.walk] gives the same bytes faster.
func (t *table) walk(dst []byte, origin uint32) {
	row := origin
	for i := range dst {
		x := t[row&tableMask]
		dst[i] = byte(x)
		row = x >> 8
	}
}
