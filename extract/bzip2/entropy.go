package bzip2

import (
	"encoding/binary"
	"math"
	"unsafe"
)

const (
	maxBlock = 900000  // maximum bytes in a block of any level, before run expansion
	maxRun   = 2 << 20 // maximum length of a run that decoders accept, for any block size

	// groupBytes is the maximum number of bytes of the file that decoding a group of
	// symbols reads, including bytes read ahead by refill.
	groupBytes = groupSize*maxCodeLen/8 + 16

	// maxPart is the maximum length of a part of a column. A longer run is divided into
	// several parts.
	maxPart  = 255
	partSize = 2 // bytes per part in memory
)

// A column is the last column of the sorted rotations of a block's text (the
// Burrows-Wheeler transform). bzip2's entropy coder encodes this column.
//
// It consists of parts: runs of one byte value, each stored as the byte and the length,
// 0 to maxPart. The length of a column is checked only once per group of symbols. So
// buf has room for the parts of one group after maxBlock, and for the part that is
// being decoded.
type column struct {
	buf   [(maxBlock + groupSize + 2) * partSize]byte
	parts int         // number of parts
	n     int         // length of the column in bytes
	count [256]uint32 // number of occurrences of each byte value

	level level // instructions to decode with

	// State between two codes, shared with decode64 and decode16.
	bits  uint64 // bits, have and pos as in bitReader
	have  uint
	pos   int
	run   int  // number of times to write the byte at place 0
	shift uint // weight of the run's next digit
	group int  // number of groups begun
	left  int  // number of symbols of the group not yet decoded

	lastPos int // maximum pos at which a group can begin without loading more of the file
	limit   int // maximum n at which a group may begin

	// For the two: pointers to the first byte of the window, of the selectors and
	// of the list, and to the tables.
	window    *byte
	selectors *uint8
	groups    int // number of selectors
	tables    *[maxTables]huffman
	list      *[256]byte
}

// A level is a set of instructions that columns are decoded with.
type level uint8

const (
	levelPlain level = iota
	level16          // AVX2, BMI1, BMI2; or NEON
	level64          // AVX-512 with VBMI, BMI1, BMI2, MOVBE
)

// A placeMask selects the entries of a move-to-front list that change when one entry
// moves to the front: this entry and all entries before it. lo and hi are for the two
// words that hold entries 0 to 15.
type placeMask struct{ lo, hi uint64 }

var placeMasks = [16]placeMask{
	{0xff, 0}, {0xffff, 0}, {0xffffff, 0}, {0xffffffff, 0},
	{0xffffffffff, 0}, {0xffffffffffff, 0}, {0xffffffffffffff, 0}, {^uint64(0), 0},
	{^uint64(0), 0xff}, {^uint64(0), 0xffff}, {^uint64(0), 0xffffff}, {^uint64(0), 0xffffffff},
	{^uint64(0), 0xffffffffff}, {^uint64(0), 0xffffffffffff}, {^uint64(0), 0xffffffffffffff}, {^uint64(0), ^uint64(0)},
}

// read decodes the compressed symbols of a block of at most limit bytes. The symbols
// are Huffman codes of places in a move-to-front list; runs of place 0 are written as a
// number in bijective base 2.
//
// A part is written when the run that follows its place has ended, and not when the
// place is read. So the first part, usually of length 0, has the byte that is at the
// front of the list at the beginning.
func (col *column) read(b *bitReader, h *header, limit int) error {
	col.n, col.parts, col.count = 0, 0, [256]uint32{}
	col.bits, col.have, col.pos = b.bits, b.n, b.pos
	col.run, col.shift, col.group, col.left = 0, 0, 0, 0
	col.lastPos, col.limit = b.end-groupBytes, limit
	col.window, col.tables, col.list = &b.win[0], &h.tables, &h.bytes
	col.selectors, col.groups = unsafe.SliceData(h.selectors), len(h.selectors)
	steps := math.MaxInt
	if col.level != levelPlain {
		steps = 1 // plain makes single steps where vector code stops
	}
	var done bool
	var err error
	for !done && err == nil {
		switch {
		case col.left <= 0:
		case col.level == level64:
			decode64(col)
		case col.level == level16:
			decode16(col)
		}
		done, err = col.plain(b, h, steps)
	}
	b.bits, b.n, b.pos = col.bits, col.have, col.pos
	if err == nil && col.n > limit {
		err = errTooLong
	}
	return err
}

// plain makes up to the given number of look-ups in the tables; each decodes one code,
// or several short codes. done is true after the end of the block, or if the column is
// too long.
//
// The first 16 places of the list are in two words, place 0 in the lowest byte, so that
// moving to the front needs only shifts and masks.
//
// The loop is one long function, because its state (bit buffer, output position, run,
// list) must stay in registers: without vector instructions, it takes half of the
// decoding time. Sizes are checked only once per group of symbols, which the padding of
// the buffers permits.
func (col *column) plain(b *bitReader, h *header, steps int) (done bool, err error) {
	var (
		lo, hi                     = binary.LittleEndian.Uint64(h.bytes[:]), binary.LittleEndian.Uint64(h.bytes[8:])
		bits, have, pos, win       = col.bits, col.have, col.pos, b.win
		n, run, shift, group, left = col.n, col.run, col.shift, col.group, col.left
	)
	for ; steps > 0; steps-- {
		if left <= 0 {
			if done = n > col.limit; done {
				break
			}
			if pos, err = col.load(b, h, group, pos); err != nil {
				break
			}
			group, left = group+1, groupSize
		}
		t := &h.tables[h.selectors[group-1]]
		if have < maxCodeLen {
			bits |= binary.BigEndian.Uint64(win[pos:]) >> have
			have, pos = have|56, pos+int((63-have)>>3)
		}
		lut := &t.several
		if left < maxSeveral {
			lut = &t.one
		}
		e := lut[bits>>(64-lutBits)]
		if e == noEntry {
			if e = t.long(bits); e == noEntry {
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
		n += run
		col.count[front] += uint32(run)
		if run > maxPart {
			if run, err = col.split(front, run, n); err != nil {
				break
			}
		}
		col.add(front, run)
		run, shift = 1, 0
		if place < 16 {
			lo, hi = toFront(lo, hi, place)
			continue
		}
		if done = place == endOfBlock; done {
			break
		}
		c := h.removeFar(place, byte(hi>>56))
		lo, hi = lo<<8|uint64(c), hi<<8|lo>>56
	}
	col.bits, col.have, col.pos = bits, have, pos
	col.n, col.run, col.shift, col.group, col.left = n, run, shift, group, left
	binary.LittleEndian.PutUint64(h.bytes[:], lo)
	binary.LittleEndian.PutUint64(h.bytes[8:], hi)
	return done, err
}

// load prepares the next group of symbols, after the given number of groups: it loads more of
// the file if the group may need it. It returns the position in the window from which the
// group is read.
func (col *column) load(b *bitReader, h *header, groups, pos int) (int, error) {
	if groups == len(h.selectors) {
		return pos, errSelectors
	}
	if pos > col.lastPos {
		b.pos = pos
		b.ensure(groupBytes)
		col.lastPos = b.end - groupBytes
		if pos = b.pos; pos > b.end+8 {
			return pos, errTruncated
		}
	}
	return pos, nil
}

// toFront moves the byte at a place below 16 of a list to the front. lo has places 0 to 7
// of the list, hi 8 to 15.
func toFront(lo, hi uint64, place uint) (newLo, newHi uint64) {
	word := lo
	if place >= 8 {
		word = hi
	}
	mask := &placeMasks[place&15]
	newHi = hi&^mask.hi | (hi<<8|lo>>56)&mask.hi
	return lo&^mask.lo | lo<<8&mask.lo | word>>(place*8&63)&0xff, newHi
}

// removeFar removes the byte at a place from 16 on from the list, and puts the one that was at
// place 15 at place 16.
func (h *header) removeFar(place uint, last byte) byte {
	c := h.bytes[place&0xff]
	copy(h.bytes[17:], h.bytes[16:place&0xff])
	h.bytes[16] = last
	return c
}

// add adds a part: run times the byte c.
func (col *column) add(c byte, run int) {
	binary.LittleEndian.PutUint16(col.buf[col.parts*partSize:], uint16(run)<<8|uint16(c))
	col.parts++
}

// split adds the first parts of a long run of the byte c, with which the column has n bytes,
// and returns the length of its last part. It fails before a run that buf may lack room for.
func (col *column) split(c byte, run, n int) (last int, err error) {
	if n > col.limit {
		return run, errTooLong
	}
	for ; run > maxPart; run -= maxPart {
		col.add(c, maxPart)
	}
	return run, nil
}
