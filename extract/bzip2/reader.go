package bzip2

import (
	"io"
	"math/bits"
)

const (
	headerPrefix = 'B'<<16 | 'Z'<<8 | 'h' // begins a stream; the level follows, '1' to '9'
	maxLevel     = 9
	levelSize    = 100000 // block size before run expansion, for each level
)

// A Block is a decoded block of a bzip2 file, or a piece of one. Only a block
// with more than 4 MiB of data, which long runs of one byte produce, comes in
// several pieces.
type Block struct {
	Data      []byte // decoded data; valid until the next call
	Bit       int64  // bit offset in the file of the block's magic number
	Owned     bool   // the block begins in the reader's range
	Continued bool   // Data continues the previous block's data
}

// A Reader decodes the blocks that begin in a byte range of a bzip2 file, and then the
// blocks after the range for as long as the caller calls Next; see the package comment.
// It is not safe for concurrent use.
type Reader struct {
	d          *decoder
	start, end int64 // the range, in bytes of the file

	state state
	bit   int64  // bit offset in the file of the last magic number
	level int    // level of the stream; 9 if its header was not read
	whole bool   // the stream was read from its header
	crc   uint32 // checksum of the stream's blocks so far, if whole
	first bool   // no stream header has been read yet
	err   error  // returned by every further call
}

// A state is what follows at the position of a Reader.
type state uint8

const (
	atStart  state = iota // the range; nothing has been read yet
	atHeader              // a stream header or the end of the file
	atMagic               // a block or the end of a stream
	atBlock               // a block whose magic number has been read
	decoded               // a block's data, decoded but not yet returned
	inBlock               // the rest of a block's data, if there is more
)

// A Range is the byte range [Start, End) of a file.
type Range struct{ Start, End int64 }

// NewReader returns a reader of the blocks that begin in a range of a bzip2
// file of size bytes.
func NewReader(src io.ReaderAt, size int64, rng Range) *Reader {
	r := &Reader{d: newDecoder()}
	r.Reset(src, size, rng)
	return r
}

// Reset prepares the reader for another range or file, with the arguments of
// [NewReader]. It reuses the reader's memory.
func (r *Reader) Reset(src io.ReaderAt, size int64, rng Range) {
	d := r.d
	d.bits.reset(src, size)
	*r = Reader{d: d, start: max(rng.Start, 0), end: min(rng.End, size), first: true}
}

// Next returns the next block, or the next piece of a block. At the end of the
// file, or immediately if no block begins in the range, it returns [io.EOF].
// Any other error is a [*CorruptError] or an error of reading the file. After
// an error, further calls return the same error.
func (r *Reader) Next() (Block, error) {
	if r.err != nil {
		return Block{}, r.err
	}
	b := r.block()
	if !b.Continued {
		if r.err = r.decode(); r.err != nil {
			return Block{}, r.err
		}
		b = r.block()
		r.state = inBlock
	}
	b.Data = r.d.piece()
	return b, nil
}

// Peek returns the block that [Reader.Next] will return, without its data. It decodes
// the block only if this is necessary to find it, so Peek is a cheap way to test
// whether all blocks of the range were read. It returns the errors that Next would
// return before it decodes the block; further calls return the same error.
func (r *Reader) Peek() (Block, error) {
	if r.err != nil {
		return Block{}, r.err
	}
	if b := r.block(); b.Continued {
		return b, nil
	}
	if r.err = r.locate(); r.err != nil {
		return Block{}, r.err
	}
	return r.block(), nil
}

// block describes the current or next block.
func (r *Reader) block() Block {
	return Block{
		Bit:       r.bit,
		Owned:     r.bit < r.end*8,
		Continued: r.state == inBlock && r.d.more(),
	}
}

// decode decodes the next block.
func (r *Reader) decode() error {
	if err := r.locate(); err != nil {
		return err
	}
	if r.state == decoded {
		return nil
	}
	if err := r.d.decode(r.level * levelSize); err != nil {
		return r.fail(err)
	}
	r.crc = bits.RotateLeft32(r.crc, 1) ^ r.d.header.crc
	r.state = decoded
	return nil
}

// locate finds the next block, unless it has been found already.
func (r *Reader) locate() error {
	switch r.state {
	case atBlock, decoded:
		return nil
	case atStart:
		if err := r.begin(); err != nil {
			return err
		}
		if r.bit >= r.end*8 {
			return io.EOF
		}
		return nil
	default:
		return r.advance()
	}
}

// begin finds the first block that begins in or after the range. If the range
// begins at the start of the file, it parses the stream header, to detect
// errors in it; otherwise it searches for a magic number.
func (r *Reader) begin() error {
	if r.start > 0 {
		return r.search()
	}
	r.state = atHeader
	return r.advance()
}

// advance moves from the end of a block, or from a stream header, to the next
// block. It skips ends of streams and streams without blocks.
func (r *Reader) advance() error {
	b := &r.d.bits
	for {
		if r.state == atHeader {
			if err := r.readHeader(); err != nil {
				return err
			}
		}
		r.bit = b.bit()
		switch b.take48() {
		case blockMagic:
			r.state = atBlock
			return nil
		case endMagic:
			if err := r.readEnd(); err != nil {
				return err
			}
		default:
			return r.fail(errMagic)
		}
	}
}

// readEnd parses the end of a stream, after its magic number.
func (r *Reader) readEnd() error {
	b := &r.d.bits
	crc := b.take(32)
	if b.overrun() {
		return r.fail(errTruncated)
	}
	if r.whole && crc != r.crc {
		return r.fail(errStreamCRC)
	}
	b.align()
	r.state = atHeader
	return nil
}

// readHeader parses a stream header. If the file ends there, it returns io.EOF.
func (r *Reader) readHeader() error {
	b := &r.d.bits
	r.bit = b.bit()
	left := b.size - r.bit/8
	if left == 0 && !r.first {
		return io.EOF
	}
	h := b.take(32)
	if left < 4 && h>>(32-8*left) == headerPrefix<<8>>(32-8*left) {
		return r.fail(errTruncated)
	}
	level, ok := headerLevel(h)
	if !ok {
		return r.badHeader(h)
	}
	r.level, r.whole, r.crc = level, true, 0
	r.first, r.state = false, atMagic
	return nil
}

// badHeader returns the error for data that is not a stream header. If a block's magic
// number follows, the stream is corrupt; otherwise it is data after the last stream. h
// is the first 32 bits.
func (r *Reader) badHeader(h uint32) error {
	r.d.bits.seek(r.bit) // so that overrun is false
	at := r.bit / 8
	if r.first || h>>8 == headerPrefix || r.d.bits.find(at, at+windowSize) >= 0 {
		return r.fail(errHeader)
	}
	return r.fail(errTrailing)
}

// headerLevel returns the level in h, the 32 bits of a stream header; ok is
// false if h is not a stream header.
func headerLevel(h uint32) (level int, ok bool) {
	level = int(h&0xff) - '0'
	return level, h>>8 == headerPrefix && level >= 1 && level <= maxLevel
}

// fail converts cause to the error at position r.bit.
func (r *Reader) fail(cause error) error {
	b := &r.d.bits
	e := &CorruptError{Offset: r.bit / 8, Reason: cause.Error()}
	switch {
	case b.err != nil:
		return b.err
	case cause == errTrailing:
		e.Err = ErrTrailing
	case b.overrun() || cause == errTruncated:
		e.Reason, e.Err = errTruncated.Error(), io.ErrUnexpectedEOF
	}
	return e
}
