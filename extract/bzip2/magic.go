package bzip2

import (
	"bytes"
	"encoding/binary"
)

const (
	blockMagic = 0x314159265359 // begins a block: the digits of π
	endMagic   = 0x177245385090 // ends a stream: the digits of √π
	magicBits  = 48
	overlap    = 6 // bytes of a magic number after the byte in which it begins

	// searchStep is the number of bytes that are searched for all eight bit shifts
	// before the search continues with the next bytes. So a magic number near the
	// beginning is found without searching the whole window eight times.
	searchStep = 1 << 14
)

// findMagic returns the first bit of p at which a block's magic number begins,
// or -1.
func findMagic(p []byte) int {
	for off := 0; len(p)-off >= overlap; off += searchStep {
		if bit := findMagicStep(p[off:min(off+searchStep+overlap, len(p))]); bit >= 0 {
			return off*8 + bit
		}
	}
	return -1
}

// findMagicStep returns the first bit of p, which is short, at which a block's
// magic number begins, or -1. For each bit shift it searches for the whole
// bytes in the middle of the magic number, then compares the bits around them.
func findMagicStep(p []byte) int {
	best := -1
	for shift := range 8 {
		var w [8]byte
		binary.BigEndian.PutUint64(w[:], blockMagic<<(16-shift))
		pattern := w[1:6]
		for from := 1; ; {
			i := bytes.Index(p[min(from, len(p)):], pattern)
			if i < 0 {
				break
			}
			bit := (from+i-1)*8 + shift
			if magicAt(p, bit) {
				best = bit
				p = p[:min(bit/8+overlap, len(p))] // later matches do not matter
				break
			}
			from += i + 1
		}
	}
	return best
}

// magicAt reports whether a block's magic number begins at the given bit of p.
func magicAt(p []byte, bit int) bool {
	var w [8]byte
	copy(w[:], p[bit>>3:])
	end := bit + magicBits
	return end <= len(p)*8 && binary.BigEndian.Uint64(w[:])<<(bit&7)>>16 == blockMagic
}

// find returns the first bit at which a block's magic number begins, within bytes
// [from, to) of the file, or -1. No two magic numbers begin in the same byte. After
// find, the reader's position is undefined.
func (b *bitReader) find(from, to int64) int64 {
	for from < to {
		b.seek(from * 8)
		b.ensure(searchStep)
		part := b.win[b.pos:b.end]
		if int64(len(part)) > to-from+overlap {
			part = part[:to-from+overlap]
		}
		if bit := findMagic(part); bit >= 0 {
			if bit := from*8 + int64(bit); bit < to*8 {
				return bit
			}
			return -1
		}
		if b.err != nil || len(part) <= overlap {
			return -1
		}
		from += int64(len(part) - overlap)
	}
	return -1
}

// findAll returns all bits at which a block's magic number begins, within bytes [from,
// to) of the file. After findAll, the reader's position is undefined.
func (b *bitReader) findAll(from, to int64) []int64 {
	var all []int64
	for {
		bit := b.find(from, to)
		if bit < 0 {
			return all
		}
		all = append(all, bit)
		from = bit/8 + 1
	}
}
