package bzip2

const (
	maxCodeLen = 20  // longest Huffman code that decoders accept
	maxSymbols = 258 // two for run lengths, 255 move-to-front places, end of block
	lutBits    = 11  // codes up to this length take one table look-up
)

// A huffman is the decoding table of one canonical Huffman code: shorter codes
// first, equal lengths in the order of their symbols.
type huffman struct {
	// lut maps the next lutBits bits to symbol<<5 | length of its code,
	// or 0 where the code is longer or not assigned.
	lut [1 << lutBits]uint16

	limit   [maxCodeLen + 1]uint32 // by length: one more than its last code
	first   [maxCodeLen + 1]int32  // by length: index in symbol of its code 0, may be negative
	symbol  [maxSymbols]uint16     // in the order of their codes
	longest uint
}

// init builds the table of a code from the lengths of its codes, each in
// [1, maxCodeLen].
//
// Encoders write complete codes. The libbz2 library takes any other, too: in
// an incomplete code some bit patterns mean nothing, and meeting one is an
// error; in an oversubscribed one the last symbols have no code left.
// compress/bzip2 refuses a code that is oversubscribed even without its
// shortest code (two symbols would get the same code). So do we.
func (h *huffman) init(lens []uint8) error {
	var count [maxCodeLen + 1]int
	for _, l := range lens {
		count[l]++
	}
	if oversubscribed(&count) {
		return errOversubscribed
	}
	h.sort(lens, &count)
	clear(h.lut[:])
	h.longest = 0
	code, index := uint32(0), 0
	for l := uint(1); l <= maxCodeLen; l++ {
		h.first[l] = int32(index) - int32(code)
		if l <= lutBits {
			h.fill(h.symbol[index:index+count[l]], code, l)
		}
		code += uint32(count[l])
		index += count[l]
		h.limit[l] = code
		code <<= 1
		if count[l] > 0 {
			h.longest = l
		}
	}
	return nil
}

// oversubscribed reports whether the code, less one code of the shortest
// length, takes all of the code space or more.
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

// sort puts the symbols in the order of their codes.
func (h *huffman) sort(lens []uint8, count *[maxCodeLen + 1]int) {
	var next [maxCodeLen + 1]int
	for l := 1; l < maxCodeLen; l++ {
		next[l+1] = next[l] + count[l]
	}
	for s, l := range lens {
		h.symbol[next[l]] = uint16(s)
		next[l]++
	}
}

// fill enters the symbols whose codes are code, code+1, … of length l.
func (h *huffman) fill(symbols []uint16, code uint32, l uint) {
	for _, s := range symbols {
		if code >= 1<<l {
			return // oversubscribed: no code is left
		}
		lo := code << (lutBits - l)
		hi := lo + 1<<(lutBits-l)
		e := s<<5 | uint16(l)
		for i := lo; i < hi; i++ {
			h.lut[i] = e
		}
		code++
	}
}

// long decodes a code longer than lutBits at the top of bits. It returns the
// symbol and the length of its code, or length 0 if the code is not assigned.
func (h *huffman) long(bits uint64) (symbol uint16, length uint) {
	for l := uint(lutBits + 1); l <= h.longest; l++ {
		code := uint32(bits >> (64 - l))
		if code < h.limit[l] {
			return h.symbol[int32(code)+h.first[l]], l
		}
	}
	return 0, 0
}
