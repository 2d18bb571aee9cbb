package bzip2

import "encoding/binary"

const (
	maxBlock = 900000  // most symbols in a block of any level, before runs expand
	maxRun   = 2 << 20 // longest run that decoders accept, whatever the block size

	// groupBytes is what a group of symbols can take of the file, with the
	// bytes that refilling reads ahead.
	groupBytes = groupSize*maxCodeLen/8 + 16
)

// A column is the last column of the sorted rotations of a block, which is
// what the entropy coder of bzip2 transmits.
type column struct {
	data  [maxBlock + 64]byte // a group of literals may pass the end before it is noticed
	n     int                 // bytes of data in use
	count [256]uint32         // how often each byte value occurs
}

// read decodes the compressed symbols of a block of at most limit bytes:
// Huffman codes of move-to-front places, with runs of place 0 written as a
// number in bijective base 2.
//
// The loop is one function, and long, because its state (bit buffer, output
// position, run, move-to-front list) must stay in registers. Checks are made
// once in a group where the buffers' slack permits.
func (col *column) read(b *bitReader, h *header, limit int) (err error) {
	col.count = [256]uint32{}
	m := newMTF(h.bytes[:])
	lo, hi := m.lo, m.hi
	end := uint(h.symbols - 1)
	n, run, weight := 0, 0, 1
	bits, have, pos, win := b.bits, b.n, b.pos, b.win
	group := 0
decoding:
	for ; ; group++ {
		if group == len(h.selectors) {
			err = errSelectors
			break
		}
		if pos+groupBytes > b.end {
			b.bits, b.n, b.pos = bits, have, pos
			b.ensure(groupBytes)
			pos = b.pos
			if pos > b.end+8 {
				err = errTruncated
				break
			}
		}
		table := &h.tables[h.selectors[group]]
		for range groupSize {
			if have < maxCodeLen {
				bits |= binary.BigEndian.Uint64(win[pos:]) >> have
				pos += int((63 - have) >> 3)
				have |= 56
			}
			e := table.lut[bits>>(64-lutBits)]
			sym, length := uint(e>>5), uint(e&31)
			if length == 0 {
				s, l := table.long(bits)
				if l == 0 {
					err = errCode
					break decoding
				}
				sym, length = uint(s), l
			}
			bits <<= length & 63
			have -= length
			if sym <= 1 {
				run += weight << sym
				weight <<= 1
				continue
			}
			if run > 0 {
				c := byte(lo)
				if run > limit-n {
					err = errTooLong
					break decoding
				}
				col.count[c] += uint32(run)
				dst := col.data[n : n+run]
				for i := range dst {
					dst[i] = c
				}
				n += run
				run, weight = 0, 1
			}
			if sym == end {
				break decoding
			}
			place := sym - 1
			var c uint64
			switch {
			case place < 8:
				s := place * 8
				c = lo >> (s & 63) & 0xff
				mask := uint64(0x100)<<(s&63) - 1
				lo = lo&^mask | lo<<8&mask | c
			case place < 16:
				s := place*8 - 64
				c = hi >> (s & 63) & 0xff
				mask := uint64(0x100)<<(s&63) - 1
				hi = hi&^mask | hi<<8&mask | lo>>56
				lo = lo<<8 | c
			default:
				j := (place - 16) & 0xff
				c = uint64(m.rest[j])
				copy(m.rest[1:j+1], m.rest[:j])
				m.rest[0] = byte(hi >> 56)
				hi = hi<<8 | lo>>56
				lo = lo<<8 | c
			}
			col.count[byte(c)]++
			col.data[n] = byte(c)
			n++
		}
		if run > maxRun {
			err = errRepeat
			break
		}
		if n > limit {
			break
		}
	}
	b.bits, b.n, b.pos = bits, have, pos
	col.n = n
	if err == nil && n > limit {
		err = errTooLong
	}
	return err
}

// An mtf is a move-to-front list of bytes. The first 16 places lie in two
// words, place 0 lowest, where moving to the front is shifts and masks.
type mtf struct {
	lo, hi uint64
	rest   [256]byte // places from 16 on
}

func newMTF(values []byte) mtf {
	m := mtf{lo: binary.LittleEndian.Uint64(values), hi: binary.LittleEndian.Uint64(values[8:])}
	copy(m.rest[:], values[16:])
	return m
}
