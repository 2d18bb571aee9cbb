package bzip2

import (
	"encoding/binary"
	"math"
	"unsafe"
)

const (
	maxBlock = 900000  // most bytes in a block of any level, before runs expand
	maxRun   = 2 << 20 // longest run that decoders accept, whatever the block size

	// groupBytes is the maximum number of bytes that decoding a group of symbols
	// reads from the file, with the bytes that refilling reads ahead.
	groupBytes = groupSize*maxCodeLen/8 + 16

	// vectorRun is the longest run that is written by one store of decodeVector;
	// plainRun is that of decodePlain.
	vectorRun = 32
	plainRun  = 8

	// columnSlack is the number of bytes that may be written after the end of a
	// column, because its length is checked once for each group: a run for each
	// symbol, and one store.
	columnSlack = (groupSize + 1) * vectorRun
)

// A column is the last column of the sorted rotations of a block's text (the
// Burrows-Wheeler transform). bzip2's entropy coder encodes this column.
type column struct {
	buf   [1 + maxBlock + columnSlack]byte // the column begins at buf[1]
	n     int                              // length of the column
	count [256]uint32                      // how often each byte value occurs

	vector bool // decode with vector instructions
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
// it has ended: mostly by a single store of several bytes. So the first write is
// of the byte at the front of the list before any place was read; it goes to
// buf[0], which is not a part of the column.
func (col *column) read(b *bitReader, h *header, limit int) error {
	col.count = [256]uint32{}
	col.count[h.bytes[0]] = ^uint32(0) // -1: buf[0] does not count
	s := symbolDecoder{bits: b.bits, have: b.n, pos: b.pos, run: 1, lastPos: b.end - groupBytes, lastN: limit + 1, h: h, col: col,
		window: &b.win[0], column: &col.buf[0], selectors: unsafe.SliceData(h.selectors), groups: len(h.selectors),
		tables: &h.tables, list: &h.bytes, count: &col.count}
	steps := math.MaxInt
	if col.vector {
		steps = 1 // of what decodeVector leaves
	}
	var done bool
	var err error
	for !done && err == nil {
		if col.vector && s.left > 0 {
			decodeVector(&s)
		}
		done, err = s.plain(b, steps)
	}
	b.bits, b.n, b.pos = s.bits, s.have, s.pos
	col.n = max(s.n-1, 0)
	if err == nil && s.n > s.lastN {
		err = errTooLong
	}
	return err
}

// A symbolDecoder is the state of [column.read] between two codes. decodeVector
// reads and writes its fields, too.
type symbolDecoder struct {
	bits  uint64 // bits, have and pos as in bitReader
	have  uint
	pos   int
	n     int  // bytes written, with buf[0]
	run   int  // how often to write the byte at place 0
	shift uint // weight of the run's next digit
	group int  // groups begun
	left  int  // symbols of the group not decoded yet

	lastPos int // maximum of pos at which a group may begin without loading more of the file
	lastN   int // maximum of n at which a group may begin
	h       *header
	col     *column

	// For decodeVector: the same, by their first bytes.
	window    *byte
	column    *byte
	selectors *uint8
	groups    int // number of selectors
	tables    *[maxTables]huffman
	list      *[256]byte
	count     *[256]uint32
}

// plain decodes up to the given number of codes, or pairs of codes that a table
// has one entry for. It returns true after the end of the block, or if the column
// is too long.
//
// The first 16 places of the list are in two words, place 0 in the lowest byte,
// so that moving to the front is shifts and masks.
//
// The loop is one long function, because its state (bit buffer, output
// position, run, list) must stay in registers: without vector instructions it
// takes half of the time of decoding. Sizes are checked once for each group of
// symbols, which the padding of the buffers permits.
func (s *symbolDecoder) plain(b *bitReader, steps int) (done bool, err error) {
	var (
		h, col          = s.h, s.col
		lo, hi          = binary.LittleEndian.Uint64(h.bytes[:]), binary.LittleEndian.Uint64(h.bytes[8:])
		n, run, shift   = s.n, s.run, s.shift
		group, left     = s.group, s.left
		bits, have, pos = s.bits, s.have, s.pos
		win             = b.win
	)
	for ; steps > 0; steps-- {
		if left <= 0 {
			if n > s.lastN {
				done = true
				break
			}
			if group == len(h.selectors) {
				err = errSelectors
				break
			}
			if pos > s.lastPos {
				b.pos = pos
				b.ensure(groupBytes)
				s.lastPos = b.end - groupBytes
				if pos = b.pos; pos > b.end+8 {
					err = errTruncated
					break
				}
			}
			group, left = group+1, groupSize
		}
		t := &h.tables[h.selectors[group-1]]
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
				break
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
				break
			}
			continue
		}
		front := byte(lo)
		col.count[front] += uint32(run)
		binary.LittleEndian.PutUint64(col.buf[n:], uint64(front)*0x0101010101010101)
		if run > plainRun {
			if run > vectorRun && run > s.lastN-n { // shorter ones fit into columnSlack
				err = errTooLong
				break
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
			done = true
			break
		}
		c := h.bytes[place&0xff]
		copy(h.bytes[17:], h.bytes[16:place&0xff])
		h.bytes[16] = byte(hi >> 56)
		hi = hi<<8 | lo>>56
		lo = lo<<8 | uint64(c)
	}
	s.bits, s.have, s.pos = bits, have, pos
	s.n, s.run, s.shift, s.group, s.left = n, run, shift, group, left
	binary.LittleEndian.PutUint64(h.bytes[:], lo)
	binary.LittleEndian.PutUint64(h.bytes[8:], hi)
	return done, err
}
