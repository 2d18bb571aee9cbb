package bzip2

import "math"

const (
	maxCodeLen = 20  // longest Huffman code that decoders accept
	maxSymbols = 258 // two digits of runs, 255 places, end of block

	lutBits    = 10           // number of bits that index a decoding table
	lutSize    = 1 << lutBits // entries of a decoding table
	maxSeveral = 3            // maximum number of symbols in an entry

	endOfBlock = 256 // place in an entry that means the end of the block
)

// An entry of a decoding table is the meaning of the next bits: digits of a run, then
// optionally a place in the move-to-front list, or the end of the block.
//
//	bits  0- 7  length of the codes, in bits
//	bits  8-15  number of symbols, at most maxSeveral
//	bits 16-19  value of the digits, the first with weight 1
//	bits 20-22  number of digits
//	bits 23-31  the place (1 to 255), endOfBlock, or 0
//
// decode64 and decode16 depend on this layout.
type entry uint32

func (e entry) length() uint { return uint(e & 0xff) }
func (e entry) symbols() int { return int(e >> symbolsField & 0xff) }
func (e entry) run() int     { return int(e >> runField & 0xf) }
func (e entry) digits() uint { return uint(e >> digitsField & 7) }
func (e entry) place() uint  { return uint(e >> placeField) }

// First bits of fields of an entry.
const (
	symbolsField = 8
	runField     = 16
	digitsField  = 20
	placeField   = 23
)

// noEntry is for bits that begin no code, or a code that is not in the table.
const noEntry entry = 511 << placeField

// newEntry returns the entry for one symbol. symbols is the size of the alphabet,
// length the length of the symbol's code in bits.
func newEntry(symbol, symbols int, length uint) entry {
	e := entry(1<<symbolsField | length)
	switch symbol {
	case 0, 1: // digits in bijective base 2, with values 1 and 2
		return e | 1<<digitsField | entry(symbol+1)<<runField
	case symbols - 1:
		return e | endOfBlock<<placeField
	default:
		return e | entry(symbol-1)<<placeField
	}
}

// join returns the entry for the symbols of e, which must all be digits, followed by
// the symbols of f.
func (e entry) join(f entry) entry {
	const sums = 0xff | 0xff<<symbolsField | 7<<digitsField // fields that are added
	return e + f&sums + entry(f.run())<<(runField+e.digits()) + f&^(1<<placeField-1)
}

// A huffman is the decoding table of a canonical Huffman code: codes are
// assigned in the order of their lengths, codes of equal length in the order of
// their symbols.
type huffman struct {
	one     [lutSize]entry // index: the next lutBits bits; entry: the next symbol
	several [lutSize]entry // same index; entry: the next symbols, up to a place

	entries [maxSymbols]entry      // in the order of their codes
	limit   [maxCodeLen + 1]uint32 // by code length: one more than the last code of this length
	first   [maxCodeLen + 1]int32  // by code length: index in entries minus code, may be negative

	// above holds limit for the lengths from lutBits on, left-aligned in 32 bits, for
	// vector code. A limit after all codes does not fit in 32 bits, so vector code may
	// take the last code for unassigned.
	above [16]uint32
}

// init builds the table of a code from the lengths of its codes, each in [1,
// maxCodeLen].
//
// Encoders write complete codes. Other codes are treated as in libbz2 and
// compress/bzip2:
//
//   - In an incomplete code some bit patterns have no meaning; such a pattern
//     in the data is an error.
//   - In an oversubscribed code the last symbols have no code. It is an error,
//     as in compress/bzip2, if the code is oversubscribed even without one of
//     its shortest codes.
func (h *huffman) init(lens []uint8) error {
	var count [maxCodeLen + 1]int
	for _, l := range lens {
		count[l]++
	}
	if oversubscribed(&count) {
		return errOversubscribed
	}
	h.sort(lens, &count)
	for i := range h.one {
		h.one[i] = noEntry
	}
	code, index := uint32(0), 0
	for l := uint(1); l <= maxCodeLen; l++ {
		h.first[l] = int32(index) - int32(code)
		if l <= lutBits {
			h.fill(h.entries[index:index+count[l]], code, l)
		}
		code += uint32(count[l])
		index += count[l]
		h.limit[l] = code
		if l >= lutBits {
			h.above[l-lutBits] = uint32(min(uint64(code)<<(32-l), math.MaxUint32))
		}
		code <<= 1
	}
	h.combine()
	return nil
}

// oversubscribed reports whether the code would fill the code space, or exceed it, even
// without one code of the shortest length. count is the number of codes of each length.
func oversubscribed(count *[maxCodeLen + 1]int) bool {
	sum, shortest := 0, 0
	for l := maxCodeLen; l > 0; l-- {
		sum += count[l] << (maxCodeLen - l)
		if count[l] > 0 {
			shortest = l
		}
	}
	return sum-1<<(maxCodeLen-shortest) >= 1<<maxCodeLen
}

// sort stores the symbols in entries in the order of their codes.
func (h *huffman) sort(lens []uint8, count *[maxCodeLen + 1]int) {
	var next [maxCodeLen + 1]int
	for l := 1; l < maxCodeLen; l++ {
		next[l+1] = next[l] + count[l]
	}
	for s, l := range lens {
		h.entries[next[l]] = newEntry(s, len(lens), uint(l))
		next[l]++
	}
}

// fill adds symbols to the table. Their codes are code, code+1, … and have l bits. The
// end of the block is not added; [huffman.long] handles it.
func (h *huffman) fill(entries []entry, code uint32, l uint) {
	for _, e := range entries {
		if code >= 1<<l {
			return // oversubscribed: no code is left
		}
		if e.place() != endOfBlock {
			lo := code << (lutBits - l)
			part := h.one[lo : lo+1<<(lutBits-l)]
			for i := range part {
				part[i] = e
			}
		}
		code++
	}
}

// combine builds several from one. If an entry is a digit, combine appends the symbols
// after it, up to the first place, as long as their codes are within the lutBits bits.
// Half of all digits are followed by another digit, so with this table most steps of
// the decoder end with a place.
func (h *huffman) combine() {
	for i, e := range h.one {
		for e.place() == 0 && e.symbols() < maxSeveral {
			f := h.one[i<<e.length()&(lutSize-1)]
			if f == noEntry || e.length()+f.length() > lutBits {
				break
			}
			e = e.join(f)
		}
		h.several[i] = e
	}
}

// long returns the entry for the code at the top of bits. It handles the codes that are
// not in the tables: those longer than lutBits, and the end of the block. For an
// unassigned code it returns noEntry.
func (h *huffman) long(bits uint64) entry {
	for l := uint(1); l <= maxCodeLen; l++ {
		code := uint32(bits >> (64 - l))
		if code < h.limit[l] {
			return h.entries[int32(code)+h.first[l]]
		}
	}
	return noEntry
}
