package bzip2

import (
	"bytes"
	"math/bits"
	"slices"
	"sort"
)

// An encoder writes bzip2 files that say what a test wants, sound or not.
type encoder struct {
	out  []byte
	free int    // bits of out's last byte that are not written
	crc  uint32 // of the stream's blocks
}

// bits appends the low k bits of v, k <= 64.
func (e *encoder) bits(v uint64, k int) {
	for ; k > 0; k-- {
		if e.free == 0 {
			e.out, e.free = append(e.out, 0), 8
		}
		e.free--
		e.out[len(e.out)-1] |= byte(v>>(k-1)&1) << e.free
	}
}

// bit returns the position of the next bit.
func (e *encoder) bit() int64 { return int64(len(e.out)*8 - e.free) }

// begin writes the header of a stream.
func (e *encoder) begin(level int) {
	e.free = 0
	e.out = append(e.out, 'B', 'Z', 'h', byte('0'+level))
	e.crc = 0
}

// end writes the end of a stream.
func (e *encoder) end() {
	e.bits(endMagic, 48)
	e.bits(uint64(e.crc), 32)
	e.free = 0
}

// text writes a block of text.
func (e *encoder) text(text string) { e.block(newBlock([]byte(text))) }

// block writes a block.
func (e *encoder) block(b *testBlock) {
	e.crc = bits.RotateLeft32(e.crc, 1) ^ b.crc
	e.bits(blockMagic, 48)
	e.bits(uint64(b.crc), 32)
	e.bits(uint64(b.randomised), 1)
	e.bits(uint64(b.origin), 24)
	e.used(b.used)
	e.bits(uint64(len(b.lens)), 3)
	e.bits(uint64(len(b.selectors)), 15)
	for _, s := range b.selectors {
		e.bits(1<<(s+1)-2, int(s)+1) // s ones and a zero
	}
	for _, lens := range b.lens {
		e.lens(lens)
	}
	order := append([]int{0, 1, 2, 3, 4, 5}, make([]int, 64)...)
	for i, s := range b.symbols {
		if i/groupSize >= len(b.selectors) {
			break
		}
		if i%groupSize == 0 {
			place := b.selectors[i/groupSize]
			table := order[place] % len(b.lens)
			copy(order[1:place+1], order[:place])
			order[0] = table
		}
		lens := b.lens[order[0]]
		e.bits(code(lens, int(s)), int(lens[s]))
	}
}

// used writes the bitmap of byte values.
func (e *encoder) used(used [256]bool) {
	var ranges, words [16]uint64
	for c, u := range used {
		if u {
			ranges[c>>4] = 1
			words[c>>4] |= 1 << (15 - c&15)
		}
	}
	for _, r := range ranges {
		e.bits(r, 1)
	}
	for i, w := range words {
		e.bits(w, 16*int(ranges[i]))
	}
}

// lens writes the code lengths of a table.
func (e *encoder) lens(lens []uint8) {
	l := lens[0]
	e.bits(uint64(l), 5)
	for _, want := range lens {
		for ; l < want; l++ {
			e.bits(0b10, 2)
		}
		for ; l > want; l-- {
			e.bits(0b11, 2)
		}
		e.bits(0, 1)
	}
}

// code returns the canonical code of symbol s, or 0.
func code(lens []uint8, s int) uint64 {
	c := uint64(0)
	for l := uint8(1); l <= maxCodeLen; l++ {
		for t, tl := range lens {
			if tl != l {
				continue
			}
			if t == s {
				return c
			}
			c++
		}
		c <<= 1
	}
	return 0 // it has none
}

// A testBlock is a block as the encoder writes it.
type testBlock struct {
	crc        uint32
	randomised int
	origin     int
	used       [256]bool
	selectors  []uint8   // places in the move-to-front list
	lens       [][]uint8 // code lengths of each table
	symbols    []uint16  // places and runs, with the end of block
}

// newBlock returns the block that encodes the text.
func newBlock(text []byte) *testBlock {
	last, origin := transform(shorten(text))
	b := columnBlock(last, origin)
	b.crc = plainCRC(text)
	return b
}

// columnBlock returns the block of a column; its checksum is not set.
func columnBlock(last []byte, origin int) *testBlock {
	b := &testBlock{origin: origin}
	for _, c := range last {
		b.used[c] = true
	}
	var order []byte
	for c, u := range b.used {
		if u {
			order = append(order, byte(c))
		}
	}
	b.symbols = places(last, order)
	b.fit(len(order) + 2)
	return b
}

// fit gives the block two tables for so many symbols, and selectors.
func (b *testBlock) fit(symbols int) {
	b.lens = [][]uint8{flat(symbols), skewed(symbols)}
	b.selectors = make([]uint8, (len(b.symbols)+groupSize-1)/groupSize)
	for i := range b.selectors {
		b.selectors[i] = uint8(i % 2)
	}
}

// flat returns the lengths of a complete code, as equal as can be.
func flat(symbols int) []uint8 {
	lens := make([]uint8, symbols)
	l := bits.Len(uint(symbols - 1))
	short := 1<<l - symbols
	for i := range lens {
		lens[i] = uint8(l)
		if i < short {
			lens[i]--
		}
	}
	return lens
}

// skewed returns the lengths of a complete code, as unequal as can be.
func skewed(symbols int) []uint8 {
	const most = 10
	lens := make([]uint8, symbols)
	head := min(most, symbols-2)
	for i := range head {
		lens[i] = uint8(i + 1)
	}
	for i, l := range flat(symbols - head) {
		lens[head+i] = uint8(head) + l
	}
	return lens
}

// places returns a column as runs and places in a move-to-front list.
func places(last, values []byte) []uint16 {
	order := slices.Clone(values)
	var symbols []uint16
	run := 0
	flush := func() {
		for ; run > 0; run = (run - 1) / 2 {
			symbols = append(symbols, uint16((run-1)&1))
		}
	}
	for _, c := range last {
		i := bytes.IndexByte(order, c)
		if i == 0 {
			run++
			continue
		}
		flush()
		symbols = append(symbols, uint16(i+1))
		copy(order[1:i+1], order[:i])
		order[0] = c
	}
	flush()
	return append(symbols, uint16(len(values)+1))
}

// shorten applies the run-length coding of bzip2.
func shorten(text []byte) []byte {
	var out []byte
	for len(text) > 0 {
		n := 1
		for n < len(text) && n < runMark+maxMore && text[n] == text[0] {
			n++
		}
		out = append(out, text[:min(n, runMark)]...)
		if n >= runMark {
			out = append(out, byte(n-runMark))
		}
		text = text[n:]
	}
	return out
}

// transform returns the last column of the sorted rotations of a text, and
// the row of the text.
func transform(text []byte) (last []byte, origin int) {
	double := slices.Concat(text, text)
	rows := make([]int, len(text))
	for i := range rows {
		rows[i] = i
	}
	sort.SliceStable(rows, func(i, j int) bool {
		return bytes.Compare(double[rows[i]:rows[i]+len(text)], double[rows[j]:rows[j]+len(text)]) < 0
	})
	last = make([]byte, len(text))
	for i, r := range rows {
		last[i] = double[r+len(text)-1]
		if r == 0 {
			origin = i
		}
	}
	return last, origin
}

// plainCRC is the checksum of bzip2, bit by bit.
func plainCRC(p []byte) uint32 {
	crc := ^uint32(0)
	for _, c := range p {
		crc ^= uint32(c) << 24
		for range 8 {
			if crc>>31 == 1 {
				crc = crc<<1 ^ crcPoly
			} else {
				crc <<= 1
			}
		}
	}
	return ^crc
}
