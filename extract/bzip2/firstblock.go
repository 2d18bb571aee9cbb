package bzip2

import "io"

const (
	// maxCompressed is an upper bound of the compressed size of a block, in bytes:
	// 20 bits for each of 900,000 symbols, and a header.
	maxCompressed = 4 << 20

	// doubtBudget bounds the work of [Reader.settle], in bytes read or decoded. Each
	// magic number that is tried adds doubtCost, because a hostile file may consist
	// almost only of magic numbers.
	doubtBudget = 32 << 20
	doubtCost   = 4 << 10
)

// search finds and decodes the first block that begins in the reader's range. The range
// must not begin at the start of the file.
//
// A block's magic number may also occur by chance inside another block (once in 2^48
// bits). If the data after the magic number can be decoded, it is a block; otherwise
// [Reader.settle] decides.
func (r *Reader) search() error {
	r.first = false
	b := &r.d.bits
	bit := b.find(r.start, r.end)
	if bit < 0 {
		if b.err != nil {
			return b.err
		}
		return io.EOF
	}
	err := r.try(bit)
	if err != nil && b.err == nil {
		err = r.settle(bit, err)
	}
	if err != nil && b.err != nil {
		return b.err
	}
	return err
}

// try decodes the block whose magic number seems to begin at bit number bit of the
// file.
func (r *Reader) try(bit int64) error {
	r.level, r.whole = r.levelBefore(bit)
	r.crc = 0
	r.d.bits.seek(bit + magicBits)
	r.bit, r.state = bit, atBlock
	return r.decode()
}

// levelBefore returns the level of the stream whose first block begins at the given bit
// of the file. ok is false if the block does not follow a stream header that is at the
// beginning of the file or after the end of another stream.
func (r *Reader) levelBefore(bit int64) (level int, ok bool) {
	b := &r.d.bits
	header := bit - 32
	if header < 0 || header%8 != 0 {
		return maxLevel, false
	}
	b.seek(header)
	level, ok = headerLevel(b.take(32))
	if !ok {
		return maxLevel, false
	}
	if header == 0 {
		return level, true
	}
	// The end of the previous stream: magic number, checksum, up to 7 bits of padding.
	last := header - 32 - magicBits
	for end := last; end >= 0 && end > last-8; end-- {
		b.seek(end)
		if b.take48() == endMagic {
			return level, true
		}
	}
	return maxLevel, false
}

// settle decides whether a magic number whose block cannot be decoded is a
// chance match or begins a corrupt block. It decodes the valid block before the
// magic number. If that block, or the end of its stream, extends beyond the
// magic number, the magic number is a chance match, and the reader continues
// after the valid block. Otherwise settle returns damage, the error of
// decoding.
func (r *Reader) settle(bit int64, damage error) error {
	b := &r.d.bits
	budget := int64(doubtBudget)
	first := max(bit/8-maxCompressed, 0)
	for to := bit / 8; to > first; to -= searchStep {
		before := b.findAll(max(to-searchStep, first), to)
		for i := len(before) - 1; i >= 0; i-- {
			work := r.d.work
			if r.try(before[i]) == nil {
				// No block between the two is valid: all magic numbers there were tried
				// before.
				if err := r.advance(); r.bit > bit {
					return err
				}
				return damage
			}
			budget -= doubtCost + (b.bit()-before[i])/8 + r.d.work - work
			if budget < 0 || b.err != nil {
				return damage
			}
		}
	}
	return damage
}
