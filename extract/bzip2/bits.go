package bzip2

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// windowSize is the number of bytes of the file in memory.
	windowSize = 1 << 20
	// padding is the number of zero bytes that follow the end of the file
	// in the window. The entropy decoder checks for the end once a group and
	// may run past it by one group (groupBytes) before it looks.
	padding = 512
)

// A bitReader reads bits, most significant first, from a file through a window
// of bounded size.
//
// After the end of the file it reads zeros, which end every loop of the format,
// and overrun then reports true. Callers check overrun only where it matters,
// not after each bit.
type bitReader struct {
	src  io.ReaderAt
	size int64 // of the file, in bytes
	err  error // of the last ReadAt, other than the file's end

	win  []byte // window, windowSize+padding long
	base int64  // offset of win[0] in the file
	end  int    // bytes of the file in win; padding follows at the file's end
	pos  int    // byte of win that goes into bits next

	bits uint64 // next bits, left-aligned
	n    uint   // how many of them are valid
}

// reset makes the reader read another file, keeping the window's memory.
func (b *bitReader) reset(src io.ReaderAt, size int64) {
	win := b.win
	if win == nil {
		win = make([]byte, windowSize+padding)
	}
	*b = bitReader{src: src, size: max(size, 0), win: win}
	clear(b.win[:padding])
}

// bit returns the position in the file of the next bit.
func (b *bitReader) bit() int64 { return (b.base+int64(b.pos))*8 - int64(b.n) }

// overrun reports whether bits after the end of the file were consumed.
func (b *bitReader) overrun() bool { return b.bit() > b.size*8 }

// seek sets the position to a bit of the file.
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

// load moves the window so that it begins at pos, and fills it from the file.
// pos must be at most end.
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

// ensure loads more of the file unless the window has need more bytes. At the
// end of the file there may be fewer, followed by zeros.
func (b *bitReader) ensure(need int) {
	if b.pos+need > b.end && b.pos <= b.end && b.base+int64(b.end) < b.size {
		b.load()
	}
}

// refill fills bits up to at least 56 valid bits.
func (b *bitReader) refill() {
	b.ensure(8)
	if b.pos > b.end+8 {
		b.n |= 56 // far behind the end: zeros from here on, and overrun stays true
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

// take48 returns the next 48 bits, the size of a magic number.
func (b *bitReader) take48() uint64 {
	hi := uint64(b.take(24))
	return hi<<24 | uint64(b.take(24))
}

// align skips to the next byte boundary.
func (b *bitReader) align() { b.take(b.n & 7) }
