package bzip2

// crcPoly is the generator polynomial of bzip2's CRC-32. It is the polynomial of
// Ethernet, most significant bit first. Package hash/crc32 supports it only with the
// least significant bit first.
const crcPoly = 0x04c11db7

// foldBlock is the number of bytes that foldCRC folds at a time.
const foldBlock = 64

// crcTables holds, for k = 0..7, the CRC of each byte followed by k zero bytes.
type crcTables struct {
	bytes   [8][256]uint32
	factors crcFactors
	fold    bool // use foldCRC
}

// crcFactors are powers of x modulo the generator polynomial. Multiplication by them
// moves the lower and the upper half of 16 bytes: by 64 bytes (the first two), or by 16
// bytes.
type crcFactors [4]uint64

func newCRCTables() *crcTables {
	t := &crcTables{fold: hasCLMUL}
	for i := range t.bytes[0] {
		c := uint32(i) << 24
		for range 8 {
			c = timesX(c)
		}
		t.bytes[0][i] = c
	}
	for k := 1; k < len(t.bytes); k++ {
		for i, c := range t.bytes[k-1] {
			t.bytes[k][i] = c<<8 ^ t.bytes[0][c>>24]
		}
	}
	for i, n := range []int{foldBlock * 8, foldBlock*8 + 64, 128, 128 + 64} {
		c := uint32(1)
		for range n {
			c = timesX(c)
		}
		t.factors[i] = uint64(c)
	}
	return t
}

// timesX multiplies a polynomial by x, modulo the generator polynomial.
func timesX(c uint32) uint32 { return c<<1 ^ crcPoly&-(c>>31) }

// update returns the CRC of the data whose CRC is crc, followed by p. The CRC
// of no data is 0.
//
// Long data is first folded, if the processor can multiply polynomials: 64 bytes
// are replaced by their product with a power of x modulo the generator, added to
// the next 64 bytes (Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction", Intel 2009).
func (t *crcTables) update(crc uint32, p []byte) uint32 {
	c := ^crc
	if blocks := len(p) / foldBlock; blocks > 0 && t.fold {
		var rest [16]byte
		foldCRC(c, &p[0], blocks, &t.factors, &rest)
		c = t.raw(0, rest[:])
		p = p[blocks*foldBlock:]
	}
	return ^t.raw(c, p)
}

// raw is update without the inversion of the CRC before and after. It processes eight
// bytes at a time, each with a separate table, which shortens the chain of dependent
// operations ("slicing by eight", Kounavis and Berry 2005).
func (t *crcTables) raw(c uint32, p []byte) uint32 {
	b := &t.bytes
	for len(p) >= 8 {
		c ^= uint32(p[3]) | uint32(p[2])<<8 | uint32(p[1])<<16 | uint32(p[0])<<24
		c = b[7][c>>24] ^ b[6][c>>16&0xff] ^ b[5][c>>8&0xff] ^ b[4][c&0xff] ^
			b[3][p[4]] ^ b[2][p[5]] ^ b[1][p[6]] ^ b[0][p[7]]
		p = p[8:]
	}
	for _, x := range p {
		c = c<<8 ^ b[0][byte(c>>24)^x]
	}
	return c
}
