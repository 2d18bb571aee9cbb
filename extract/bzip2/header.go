package bzip2

const (
	maxTables    = 6
	maxSelectors = 1<<15 - 1 // maximum of a 15-bit field; encoders need at most 18002
	groupSize    = 50        // symbols decoded with one table
)

// A header is the part of a block before the compressed symbols.
type header struct {
	crc       uint32    // checksum of the block's data
	origin    uint32    // row of the sorted rotations that equals the text
	symbols   int       // size of the alphabet of the Huffman codes
	bytes     [256]byte // byte values in use; there are symbols-2
	selectors []uint8   // index of the table for each group
	tables    [maxTables]huffman
}

// read parses the header of a block, after its magic number.
func (h *header) read(b *bitReader) error {
	h.crc = b.take(32)
	if b.take(1) != 0 {
		return errRandomised
	}
	h.origin = b.take(24)
	h.symbols = h.readBytes(b) + 2
	if h.symbols == 2 {
		return errNoBytes
	}
	tables := int(b.take(3))
	if tables < 2 || tables > maxTables {
		return errTables
	}
	if err := h.readSelectors(b, tables); err != nil {
		return err
	}
	for i := range tables {
		if err := h.readTable(b, &h.tables[i]); err != nil {
			return err
		}
	}
	if len(h.selectors) == 0 {
		return errNoSelectors
	}
	return nil
}

// readBytes reads the set of byte values that occur in the block and returns its size.
// The set is stored as 16 bitmaps of 16 bits; empty bitmaps are omitted, and another
// bitmap marks which are present.
func (h *header) readBytes(b *bitReader) int {
	n := 0
	ranges := b.take(16)
	for i := range 16 {
		if ranges>>(15-i)&1 == 0 {
			continue
		}
		used := b.take(16)
		for j := range 16 {
			if used>>(15-j)&1 != 0 {
				h.bytes[n] = byte(i<<4 | j)
				n++
			}
		}
	}
	return n
}

// readSelectors reads the number of the Huffman table for each group of
// symbols, stored as an index into a move-to-front list, in unary.
func (h *header) readSelectors(b *bitReader, tables int) error {
	n := int(b.take(15))
	if h.selectors == nil {
		h.selectors = make([]uint8, 0, maxSelectors)
	}
	h.selectors = h.selectors[:n]
	order := [maxTables]uint8{0, 1, 2, 3, 4, 5}
	for i := range h.selectors {
		place := int(b.ones())
		if place >= tables {
			return errSelector
		}
		table := order[place]
		copy(order[1:place+1], order[:place])
		order[0] = table
		h.selectors[i] = table
	}
	return nil
}

// readTable reads the code lengths of a Huffman code and builds the decoding table t.
// Each length is stored as the difference from the previous one.
func (h *header) readTable(b *bitReader, t *huffman) error {
	var lens [maxSymbols]uint8
	l := b.take(5)
	for i := range lens[:h.symbols] {
		for {
			if l < 1 || l > maxCodeLen {
				return errCodeLength
			}
			if b.take(1) == 0 {
				break
			}
			l += 1 - 2*b.take(1)
		}
		lens[i] = uint8(l)
	}
	return t.init(lens[:h.symbols])
}
