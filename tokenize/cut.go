package tokenize

import "math/bits"

// cuts is a stretch of text and its parts: the words of ASCII letters and
// digits, the other runs of characters without ASCII white space and
// punctuation between them, and the ASCII punctuation characters. The positions
// of all parts are found before the first is looked up, 64 bytes at a time, so
// that the processor need not guess where a word ends.
type cuts struct {
	// text holds the stretch, in lower case if the options say so (ASCII only),
	// and white space up to the end of the last block. Bytes behind that are
	// undefined.
	text [stretchBytes + 2*blockBytes]byte

	// others has a bit for each byte of the blocks that is neither an ASCII letter
	// or digit nor ASCII white space or punctuation, and a set bit after the last
	// block.
	others [stretchBytes/blockBytes + 2]uint64

	// starts and ends are the positions of the first nStarts and nEnds parts, in
	// order. A part that reaches the end of the last block has no end.
	starts, ends   [stretchBytes + blockBytes]uint16
	nStarts, nEnds int

	controls bool // whether a byte is an ASCII control character other than white space

	queue [queueLength]wordKey // words to be looked up
	sets  [queueLength]uint16  // set in the wordCache of each piece

	slots [fetchAhead]uint16 // slots of the pieceCache that were fetched last
}

const (
	stretchBytes = 1024 // maximum length of a stretch
	blockBytes   = 64
	queueLength  = 64
	fetchAhead   = 16 // maximum number of parts whose slots are fetched together
)

// The first bytes of the characters that are mostly found in Tokenizer.wide. A
// part that begins with another byte beyond ASCII is a piece for the pieceCache.
const (
	firstWideLead = 0xe0 | wideFirst>>12
	lastWideLead  = 0xe0 | wideLast>>12
)

// A wordKey is a word of at most 15 bytes, little-endian and zero-padded: lo
// holds its first eight bytes, hi the rest.
type wordKey struct{ lo, hi uint64 }

// blockOfSpaces ends the last part of a text.
const blockOfSpaces = "                                                                "

// take cuts the beginning of s, which must not be empty, into parts. lower is
// 0x20 in every byte if letters become lower-case, else 0. It returns the number
// of complete parts, and how much of the text they take. A part that touches the end
// of the stretch is complete only if s ends there, too; if not, the next stretch
// begins with it.
func take[T bytestring](c *cuts, s T, lower uint64) (parts, length int) {
	n := copy(c.text[:stretchBytes], s)
	blocks := n / blockBytes
	if n == len(s) {
		copy(c.text[n:], blockOfSpaces)
		blocks++
	}
	c.others[blocks] = 1
	if !cutVector(c, blocks, lower) {
		c.cut(blocks, lower)
	}
	if c.nStarts > c.nEnds {
		n = int(c.starts[c.nEnds])
	}
	return c.nEnds, n
}

// cut sets the fields of c from the first blocks of c.text.
func (c *cuts) cut(blocks int, lower uint64) {
	c.nStarts, c.nEnds, c.controls = 0, 0, false
	var openBefore, aloneBefore uint64 // 1 if the last byte of the block before was inside a run, punctuation
	for k := range blocks {
		at := k * blockBytes
		word, visible, space, beyond := c.classify(c.text[at:at+blockBytes], lower)
		alone := visible &^ word
		open := ^(space | alone)
		c.others[k] = open &^ word
		c.controls = c.controls || c.others[k]&^beyond != 0
		before := open<<1 | openBefore
		for starts := open&^before | alone; starts != 0; starts &= starts - 1 {
			c.starts[c.nStarts] = uint16(at + bits.TrailingZeros64(starts))
			c.nStarts++
		}
		for ends := before&^open | alone<<1 | aloneBefore; ends != 0; ends &= ends - 1 {
			c.ends[c.nEnds] = uint16(at + bits.TrailingZeros64(ends))
			c.nEnds++
		}
		openBefore, aloneBefore = open>>63, alone>>63
	}
}

// classify returns masks with a bit for each byte of a block: letters and
// digits, visible characters, white space, all of ASCII, and bytes beyond ASCII.
// It makes letters lower-case.
func (c *cuts) classify(block []byte, lower uint64) (word, visible, space, beyond uint64) {
	for i := 0; i < blockBytes; i += 8 {
		x := load8(block, i)
		capitals := letters(x)
		put := func(mask *uint64, high uint64) { *mask |= high >> 7 * 0x0102040810204080 >> 56 << i }
		put(&word, ^others(x, capitals)&bytes80)
		d := x & bytes7f
		put(&visible, (d+(0x80-'!')*bytes01)&^(d+(0x7f-'~')*bytes01)&^x&bytes80)
		put(&space, (equal(x, ' ')|equal(x, '\t')|equal(x, '\n')|equal(x, '\r'))&bytes80)
		put(&beyond, x&bytes80)
		x |= capitals >> 2 & lower
		for j := range 8 {
			block[i+j] = byte(x >> (8 * j))
		}
	}
	return word, visible, space, beyond
}

// equal returns an integer that has the highest bit of a byte set if that byte
// of x is b; the other bits are undefined.
func equal(x uint64, b byte) uint64 {
	x ^= uint64(b) * bytes01
	return ^(x&bytes7f + bytes7f | x)
}

// nextOther returns the position of the first bit of c.others at or after at.
func (c *cuts) nextOther(at int) int {
	k := at / blockBytes
	x := c.others[k] &^ (1<<(at%blockBytes) - 1)
	for x == 0 {
		k++
		x = c.others[k]
	}
	return k*blockBytes + bits.TrailingZeros64(x)
}

// fill puts words into c.queue, from part k on, up to a part that has one of
// the others, of which the next is at position other, or that does not fit a
// wordKey. It returns the number of words. It asks the processor to fetch what
// cache has about them.
func (c *cuts) fill(k, parts, other int, cache *wordCache) (n int) {
	if n = fillVector(c, k, parts, other, cache); n >= 0 {
		return n
	}
	return c.fillPlain(k, parts, other)
}

// fillPlain is fill without vector instructions.
func (c *cuts) fillPlain(k, parts, other int) (n int) {
	for ; k < parts && n < queueLength; k++ {
		from, to := int(c.starts[k]), int(c.ends[k])
		if to > other || to-from > maxCached {
			break
		}
		mask := &keyMasks[to-from]
		key := wordKey{load8(c.text[:], from) & mask[0], load8(c.text[:], from+8) & mask[1]}
		c.queue[n], c.sets[n] = key, key.set()
		n++
	}
	return n
}

// fetch asks the processor to fetch what pieces has about the parts from k on, of
// which there are parts. It returns the first part that it leaves.
func (c *cuts) fetch(k, parts int, pieces *pieceCache) int {
	end := min(k+fetchAhead, parts)
	fetchVector(c, k, end, pieces)
	return end
}

// keyMasks are the masks that keep the first bytes of a wordKey or a pieceKey,
// by the number of bytes.
var keyMasks = makeKeyMasks()

func makeKeyMasks() (masks [maxPiece + 1][4]uint64) {
	for n := range masks {
		for i := range n {
			masks[n][i/8] |= 0xff << (8 * (i % 8))
		}
	}
	return masks
}
