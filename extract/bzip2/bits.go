package bzip2

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
)

const (
	// windowSize is the maximum number of bytes of the file that the window holds.
	windowSize = 1 << 20
	// padding is the number of zero bytes after the end of the file in the window.
	// The entropy decoder checks for the end once for each group of symbols, so it
	// may read up to groupBytes after the end.
	padding = 512
)

// A bitReader reads bits, most significant first, from a file through a window of
// bounded size.
//
// After the end of the file it returns zeros, and overrun returns true. Zeros end every
// loop of the decoder, so callers need not check for the end of the file after each
// bit.
type bitReader struct {
	src  io.ReaderAt
	size int64 // size of the file, in bytes
	err  error // error of reading the file; nil at its end

	win  []byte // window, windowSize+padding long
	base int64  // offset of win[0] in the file
	end  int    // bytes of the file in win; padding follows at the file's end
	pos  int    // index in win of the next byte to put into bits

	bits uint64 // the next bits, left-aligned
	n    uint   // number of valid bits in bits
}

// reset prepares the reader for another file of the given size in bytes. It reuses the
// window.
func (b *bitReader) reset(src io.ReaderAt, size int64) {
	win := b.win
	if win == nil {
		win = make([]byte, windowSize+padding)
	}
	*b = bitReader{src: src, size: max(size, 0), win: win}
	clear(b.win[:padding])
}

// bit returns the position of the next bit, counted from the start of the file.
func (b *bitReader) bit() int64 { return (b.base+int64(b.pos))*8 - int64(b.n) }

// overrun reports whether bits after the end of the file were consumed.
func (b *bitReader) overrun() bool { return b.bit() > b.size*8 }

// seek moves to the given bit of the file.
func (b *bitReader) seek(bit int64) {
	off := bit >> 3
	b.bits, b.n = 0, 0
	if off >= b.base && off <= b.base+int64(b.end) {
		b.pos = int(off - b.base)
	} else {
		b.base, b.end, b.pos = off, 0, 0
		b.load()
	}
	b.take(uint(bit & 7))
}

// load drops the bytes of the window before pos and fills the window from the
// file. pos must be at most end.
func (b *bitReader) load() {
	kept := copy(b.win, b.win[b.pos:b.end])
	b.base += int64(b.pos)
	b.pos, b.end = 0, kept
	want := min(int64(windowSize-kept), b.size-b.base-int64(kept))
	if want > 0 && b.err == nil {
		n, err := b.src.ReadAt(b.win[kept:kept+int(want)], b.base+int64(kept))
		b.end += n
		if int64(n) < want {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			b.err = fmt.Errorf("read bzip2 file at byte %d: %w", b.base+int64(b.end), err)
		}
	}
	clear(b.win[b.end : b.end+padding])
}

// ensure loads more of the file if the window has fewer than need bytes from pos on.
// Near the end of the file there may be fewer bytes; zeros follow them.
func (b *bitReader) ensure(need int) {
	if b.pos+need > b.end && b.pos <= b.end && b.base+int64(b.end) < b.size {
		b.load()
	}
}

// refill adds bytes to bits until at least 56 bits are valid.
func (b *bitReader) refill() {
	b.ensure(8)
	if b.pos > b.end+8 {
		b.n |= 56 // far after the end: all further bits are zeros, and overrun stays true
		return
	}
	b.bits |= binary.BigEndian.Uint64(b.win[b.pos:]) >> b.n
	b.pos += int((63 - b.n) >> 3)
	b.n |= 56
}

// take returns the next k bits, k <= 32.
func (b *bitReader) take(k uint) uint32 {
	if b.n < k {
		b.refill()
	}
	v := uint32(b.bits >> 32 >> (32 - k))
	b.bits <<= k
	b.n -= k
	return v
}

// ones skips the ones before the next zero, and the zero. It returns the number of
// ones, at most 32.
func (b *bitReader) ones() uint {
	if b.n <= 32 {
		b.refill()
	}
	k := min(uint(bits.LeadingZeros64(^b.bits)), 32)
	b.bits <<= k + 1
	b.n -= k + 1
	return k
}

// take48 returns the next 48 bits, the length of a magic number.
func (b *bitReader) take48() uint64 {
	hi := uint64(b.take(24))
	return hi<<24 | uint64(b.take(24))
}

// align skips to the next byte boundary.
func (b *bitReader) align() { b.take(b.n & 7) }
