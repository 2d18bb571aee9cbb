package bzip2

import "encoding/binary"

const (
	maxBlock = 900000  // most bytes in a block of any level, before runs expand
	maxRun   = 2 << 20 // longest run that decoders accept, whatever the block size

	// groupBytes is the maximum number of bytes that decoding a group of symbols
	// reads from the file, with the bytes that refilling reads ahead.
	groupBytes = groupSize*maxCodeLen/8 + 16

	// columnSlack is the number of bytes that may be written after the end of a
	// column, because its length is checked once for each group: 8 bytes for each
	// symbol, and one word.
	columnSlack = groupSize*8 + 8
)

// A column is the last column of the sorted rotations of a block's text (the
// Burrows-Wheeler transform). bzip2's entropy coder encodes this column.
type column struct {
	buf   [1 + maxBlock + columnSlack]byte // the column begins at buf[1]
	n     int                              // length of the column
	count [256]uint32                      // how often each byte value occurs
}

// data returns the column.
func (col *column) data() []byte { return col.buf[1 : 1+col.n] }

// A placeMask selects the entries of a move-to-front list that change when one
// entry moves to the front: that entry and the entries before it. lo and hi are
// for the two words that hold entries 0 to 15.
type placeMask struct{ lo, hi uint64 }

var placeMasks = [16]placeMask{
	{0xff, 0}, {0xffff, 0}, {0xffffff, 0}, {0xffffffff, 0},
	{0xffffffffff, 0}, {0xffffffffffff, 0}, {0xffffffffffffff, 0}, {^uint64(0), 0},
	{^uint64(0), 0xff}, {^uint64(0), 0xffff}, {^uint64(0), 0xffffff}, {^uint64(0), 0xffffffff},
	{^uint64(0), 0xffffffffff}, {^uint64(0), 0xffffffffffff}, {^uint64(0), 0xffffffffffffff}, {^uint64(0), ^uint64(0)},
}

// read decodes the compressed symbols of a block of at most limit bytes:
// Huffman codes of places in a move-to-front list, with runs of place 0 written
// as a number in bijective base 2.
//
// A byte is not written when its place is read, but when the run that follows
// it has ended: mostly by a single store of eight bytes. So the first write is
// that of the byte at the front of the list before any place was read; it goes
// to buf[0], which is not a part of the column.
//
// The first 16 places of the list are in two words, place 0 in the lowest byte,
// so that moving to the front is shifts and masks. The other places are in
// h.bytes from index 16 on.
//
// The loop is one long function, because its state (bit buffer, output
// position, run, list) must stay in registers: it takes half of the time of
// decoding. Sizes are checked once for each group of symbols, which the padding
// of the buffers permits.
func (col *column) read(b *bitReader, h *header, limit int) (err error) {
	var (
		lo, hi = binary.LittleEndian.Uint64(h.bytes[:]), binary.LittleEndian.Uint64(h.bytes[8:])
		n      = 0       // bytes written, with buf[0]
		run    = 1       // how often to write the byte at place 0
		shift  = uint(0) // weight of the run's next digit
	)
	col.count = [256]uint32{}
	col.count[byte(lo)] = ^uint32(0) // -1: buf[0] does not count
	bits, have, pos, win := b.bits, b.n, b.pos, b.win
decoding:
	for group := 0; ; group++ {
		if group == len(h.selectors) {
			err = errSelectors
			break
		}
		if pos+groupBytes > b.end {
			b.bits, b.n, b.pos = bits, have, pos
			b.ensure(groupBytes)
			if pos = b.pos; pos > b.end+8 {
				err = errTruncated
				break
			}
		}
		t := &h.tables[h.selectors[group]]
		for left := groupSize; left > 0; {
			if have < maxCodeLen {
				bits |= binary.BigEndian.Uint64(win[pos:]) >> have
				pos += int((63 - have) >> 3)
				have |= 56
			}
			lut := &t.several
			if left < maxSeveral {
				lut = &t.one
			}
			e := lut[bits>>(64-lutBits)]
			if e == 0 {
				if e = t.long(bits); e == 0 {
					err = errCode
					break decoding
				}
			}
			bits <<= e.length() & 63
			have -= e.length()
			left -= e.symbols()
			run += int(e.run()) << (shift & 63)
			shift += e.digits()
			place := e.place()
			if place == 0 {
				if run > maxRun {
					err = errRepeat
					break decoding
				}
				continue
			}
			front := byte(lo)
			col.count[front] += uint32(run)
			binary.LittleEndian.PutUint64(col.buf[n:], uint64(front)*0x0101010101010101)
			if run > 8 {
				if run > limit+1-n {
					err = errTooLong
					break decoding
				}
				fill(col.buf[n:n+run], front)
			}
			n += run
			run, shift = 1, 0
			if place < 16 {
				word := lo
				if place >= 8 {
					word = hi
				}
				c := word >> (place * 8 & 63) & 0xff
				mask := &placeMasks[place&15]
				hi = hi&^mask.hi | (hi<<8|lo>>56)&mask.hi
				lo = lo&^mask.lo | lo<<8&mask.lo | c
				continue
			}
			if place == endOfBlock {
				break decoding
			}
			j := (place - 16) & 0xff
			c := h.bytes[16+j]
			copy(h.bytes[17:17+j], h.bytes[16:16+j])
			h.bytes[16] = byte(hi >> 56)
			hi = hi<<8 | lo>>56
			lo = lo<<8 | uint64(c)
		}
		if n > limit+1 {
			break
		}
	}
	b.bits, b.n, b.pos = bits, have, pos
	col.n = max(n-1, 0)
	if err == nil && n > limit+1 {
		err = errTooLong
	}
	return err
}
