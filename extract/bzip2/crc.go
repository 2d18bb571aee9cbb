package bzip2

// crcPoly is the generator polynomial of bzip2's CRC-32: that of Ethernet, most
// significant bit first. Package hash/crc32 has only the form with the least
// significant bit first.
const crcPoly = 0x04c11db7

// crcTables holds, for k = 0..7, the CRC of each byte followed by k zero bytes.
type crcTables [8][256]uint32

func newCRCTables() *crcTables {
	t := new(crcTables)
	for i := range t[0] {
		c := uint32(i) << 24
		for range 8 {
			c = c<<1 ^ crcPoly&-(c>>31)
		}
		t[0][i] = c
	}
	for k := 1; k < len(t); k++ {
		for i, c := range t[k-1] {
			t[k][i] = c<<8 ^ t[0][c>>24]
		}
	}
	return t
}

// update returns the CRC of the data whose CRC is crc, followed by p. The CRC
// of no data is 0. It processes eight bytes at a time, each with a table of its
// own, which shortens the chain of dependent operations ("slicing by eight",
// Kounavis and Berry 2005).
func (t *crcTables) update(crc uint32, p []byte) uint32 {
	c := ^crc
	for len(p) >= 8 {
		c ^= uint32(p[3]) | uint32(p[2])<<8 | uint32(p[1])<<16 | uint32(p[0])<<24
		c = t[7][c>>24] ^ t[6][c>>16&0xff] ^ t[5][c>>8&0xff] ^ t[4][c&0xff] ^
			t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]]
		p = p[8:]
	}
	for _, x := range p {
		c = c<<8 ^ t[0][byte(c>>24)^x]
	}
	return ^c
}
