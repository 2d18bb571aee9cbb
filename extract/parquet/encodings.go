package parquet

import (
	"encoding/binary"
)

// A hybrid decodes numbers of width bits, stored as runs of equal numbers and
// runs of bit-packed numbers (Encodings.md, "RLE").
type hybrid struct {
	b     []byte
	width uint
	run   uint64 // remaining numbers of a run of equal numbers
	value uint32 // the value of these numbers
	// remaining numbers of a bit-packed run, and position of the next bit in b
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

// head parses the header of the next run.
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
	// A bit-packed run consists of groups of eight values; writers may truncate the
	// last group. For width 0 there are no bytes, so no data limits the count.
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

// deltas decodes a sequence of at most limit numbers in the encoding
// DELTA_BINARY_PACKED (Encodings.md). It returns the numbers, and the rest of b after
// them.
func deltas(b []byte, limit int) (values []int32, rest []byte, err error) {
	d := deltaReader{thriftReader: thriftReader{b: b}}
	block, minis, total := d.varint(), d.varint(), d.varint()
	first := d.int()
	if d.err != nil || total > uint64(limit) || block == 0 || block > 1<<16 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return nil, nil, damagef("impossible lengths")
	}
	d.values, d.total = make([]int32, 0, min(total, 1<<16)), int(total)
	if total > 0 {
		d.add(first)
	}
	for !d.done() {
		d.block(int(minis), int(block/minis))
	}
	return d.values, b[d.at:], d.err
}

// A deltaReader decodes a sequence in the encoding DELTA_BINARY_PACKED. The encoding's
// variable-length integers are the same as Thrift's.
type deltaReader struct {
	thriftReader
	values []int32
	total  int   // number of values in the sequence
	value  int64 // the last decoded value
}

func (d *deltaReader) done() bool { return d.err != nil || len(d.values) == d.total }

// add appends the sum of the last value and delta.
func (d *deltaReader) add(delta int64) {
	if d.value += delta; d.value < 0 || d.value > maxPageBytes {
		d.fail("impossible length")
		return
	}
	d.values = append(d.values, int32(d.value))
}

// block decodes a block of miniblocks, each of size values. Writers omit unused
// miniblocks of the last block.
func (d *deltaReader) block(minis, size int) {
	least := d.int()
	for _, width := range d.take(minis) {
		if d.done() {
			return
		}
		if width > 64 {
			d.fail("impossible width")
			return
		}
		packed := d.take(size * int(width) / 8)
		for i := 0; i < size && !d.done(); i++ {
			d.add(least + int64(bits(packed, i*int(width), int(width))))
		}
	}
}

// bits returns width bits of b, from bit position at on, least significant bit first.
func bits(b []byte, at, width int) (v uint64) {
	for i := range width {
		v |= uint64(b[(at+i)/8]>>((at+i)%8)&1) << i
	}
	return v
}
