package parquet

import (
	"encoding/binary"
)

// A hybrid decodes runs of equal or bit-packed numbers (Encodings.md, "RLE").
type hybrid struct {
	b     []byte
	width uint
	run   uint64 // equal values left
	value uint32
	// bits left of a packed run, and position of the next
	packed uint64
	bit    uint64
}

// next returns the next number.
func (h *hybrid) next() (uint32, error) {
	for h.run == 0 && h.packed == 0 {
		if err := h.head(); err != nil {
			return 0, err
		}
	}
	if h.run > 0 {
		h.run--
		return h.value, nil
	}
	v := uint32(0)
	for i := range h.width {
		at := h.bit + uint64(i)
		v |= uint32(h.b[at/8]>>(at%8)&1) << i
	}
	h.bit += uint64(h.width)
	if h.packed--; h.packed == 0 {
		h.b, h.bit = h.b[(h.bit+7)/8:], 0
	}
	return v, nil
}

// head parses the header of a run.
func (h *hybrid) head() error {
	n, size := binary.Uvarint(h.b)
	if size <= 0 {
		return damagef("fewer values than the page says")
	}
	h.b = h.b[size:]
	if n&1 == 0 {
		bytes := int(h.width+7) / 8
		if len(h.b) < bytes {
			return damagef("a run without its value")
		}
		h.value = 0
		for i := range bytes {
			h.value |= uint32(h.b[i]) << (8 * i)
		}
		h.run, h.b = n>>1, h.b[bytes:]
		return nil
	}
	// A packed run is in groups of eight values; writers may truncate the last
	// one. With width 0 there are no bytes to check the count against.
	groups := n >> 1
	if h.width == 0 {
		h.run, h.value = min(groups, 1<<32)*8, 0
		return nil
	}
	if groups > uint64(len(h.b)) {
		return damagef("a packed run without end")
	}
	h.packed = groups * 8
	if have := uint64(len(h.b)) * 8 / uint64(h.width); h.packed > have {
		h.packed = have
	}
	if h.packed == 0 && groups > 0 {
		return damagef("a packed run without end")
	}
	return nil
}

// deltas decodes a DELTA_BINARY_PACKED sequence (Encodings.md) of at most limit
// numbers. It returns the numbers and the bytes after them.
func deltas(b []byte, limit int) (values []int32, rest []byte, err error) {
	d := thriftReader{b: b} // uses the same varints
	block, minis, total := d.varint(), d.varint(), d.varint()
	value := d.int()
	if d.err != nil || total > uint64(limit) || block == 0 || block > 1<<16 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return nil, nil, damagef("impossible lengths")
	}
	values = make([]int32, 0, min(total, 1<<16))
	add := func() error {
		if value < 0 || value > MaxPageBytes {
			return damagef("impossible length")
		}
		values = append(values, int32(value))
		return nil
	}
	if total > 0 {
		if err := add(); err != nil {
			return nil, nil, err
		}
	}
	perMini := int(block / minis)
	for uint64(len(values)) < total {
		least := d.int()
		at := d.at
		d.take(int(minis))
		if d.err != nil {
			return nil, nil, d.err
		}
		widths := b[at:d.at]
		for _, width := range widths {
			if uint64(len(values)) == total {
				break // writers omit unused miniblocks of the last block
			}
			if width > 64 {
				return nil, nil, damagef("impossible width")
			}
			at := d.at
			d.take(perMini * int(width) / 8)
			if d.err != nil {
				return nil, nil, d.err
			}
			packed := b[at:d.at]
			for i := range perMini {
				if uint64(len(values)) == total {
					break
				}
				value += least + int64(bits(packed, i*int(width), int(width)))
				if err := add(); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	return values, b[d.at:], nil
}

// bits returns the width bits at bit position at.
func bits(b []byte, at, width int) (v uint64) {
	for i := range width {
		v |= uint64(b[(at+i)/8]>>((at+i)%8)&1) << i
	}
	return v
}
