package bzip2

import "pretext/internal/hugepages"

// pieceSize is the maximum number of bytes that one call of [Reader.Next]
// returns. A block of 900 kB may expand to 46 MB.
const pieceSize = 4 << 20

// A decoder decodes single blocks. It reuses its memory: 9 MB and the buffer for one
// piece of decoded data.
type decoder struct {
	bits   bitReader
	header header
	column column
	table  table
	walker walker
	crcs   *crcTables

	text [maxBlock]byte // text of the block before run expansion
	size int            // number of bytes of text in use
	runs runs           // expands text
	out  []byte         // the piece returned last
	work int64          // bytes decoded so far, including invalid blocks
}

func newDecoder() *decoder {
	d := &decoder{crcs: newCRCTables()}
	hugepages.Advise(d.table[:]) // read in a random order, as text is written
	hugepages.Advise(d.text[:])
	d.column.level, d.runs.vector = bestLevel, hasChunks
	return d
}

// decode decodes the block whose magic number ends at the reader's position.
// The block may have at most limit bytes before run expansion. decode verifies
// everything, including the checksum, and leaves the reader's position after
// the block. Then [decoder.piece] returns the data.
func (d *decoder) decode(limit int) error {
	if err := d.header.read(&d.bits); err != nil {
		return err
	}
	err := d.column.read(&d.bits, &d.header, limit)
	d.size = d.column.n
	d.work += int64(d.size)
	if err != nil {
		return err
	}
	if d.bits.overrun() {
		return errTruncated
	}
	if d.header.origin >= uint32(d.size) {
		return errOrigin
	}
	d.table.link(&d.column)
	d.walker.scratch = d.column.buf[:] // the column is no longer needed
	d.walker.walk(&d.table, d.text[:d.size], d.header.origin)
	return d.check()
}

// check verifies the checksum of the whole block before any of its bytes are returned.
// If the block fits in one piece, it stays in d.out. A larger block is expanded twice,
// piece by piece, so that memory stays bounded: first here for the checksum, then for
// the reader.
func (d *decoder) check() error {
	d.rewind()
	crc := uint32(0)
	pieces := 0
	for ; d.more(); pieces++ {
		d.expand()
		crc = d.crcs.update(crc, d.out)
		d.work += int64(len(d.out))
	}
	if crc != d.header.crc {
		return errBlockCRC
	}
	if pieces > 1 {
		d.rewind()
	}
	return nil
}

// rewind goes back to the beginning of the block's data.
func (d *decoder) rewind() {
	d.runs.src = d.text[:d.size]
	d.out = d.out[:0]
}

// more reports whether the block has data that is not yet expanded.
func (d *decoder) more() bool { return len(d.runs.src) > 0 }

// expand expands the next piece of the block's data into out.
func (d *decoder) expand() {
	d.out = d.out[:0]
	for {
		d.out = d.runs.expand(d.out)
		if !d.more() || cap(d.out) >= pieceSize {
			return
		}
		size := min(max(2*cap(d.out), 1<<20), pieceSize)
		d.out = append(make([]byte, 0, size), d.out...)
	}
}

// piece returns the next piece of the block's data.
func (d *decoder) piece() []byte {
	if d.more() {
		d.expand()
	}
	return d.out
}
