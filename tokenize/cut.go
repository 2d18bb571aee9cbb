package tokenize

import "math/bits"

// cuts holds a stretch of text and the positions of its parts. A part is a word of ASCII
// letters and digits, an ASCII punctuation character, or a run of other characters between
// ASCII white space and punctuation. All positions are found before the first part is
// looked up, 64 bytes at a time, so that the processor has no branches to predict.
type cuts struct {
	// text holds the stretch, with ASCII letters in lower case if the options require that,
	// and white space up to the end of the last block. Bytes after that are undefined.
	text [stretchBytes + 2*blockBytes]byte

	// others has a set bit for each byte that is neither an ASCII letter or digit nor ASCII
	// white space or punctuation. It also has a set bit after the last block.
	others [stretchBytes/blockBytes + 2]uint64

	// starts and ends are the positions of the parts in order; nStarts and nEnds are their
	// numbers. A part that reaches the end of the last block has no end.
	starts, ends   [stretchBytes + blockBytes]uint16
	nStarts, nEnds int

	controls bool // whether a byte is an ASCII control character other than white space

	queue [queueLength]wordKey // words to be looked up
	sets  [queueLength]uint16  // set of each word of queue in the wordCache

	slots [fetchAhead]uint16 // slots of the pieceCache that were prefetched last
}

const (
	stretchBytes = 1024 // maximum length of a stretch
	blockBytes   = 64
	queueLength  = 64
	fetchAhead   = 16 // maximum number of parts whose slots are prefetched together
)

// The first UTF-8 bytes of the characters for which Tokenizer.wide has ids. A part that
// begins with another byte beyond ASCII is looked up in the pieceCache.
const (
	firstWideLead = 0xe0 | wideFirst>>12
	lastWideLead  = 0xe0 | wideLast>>12
)

// A wordKey is a word of at most 15 bytes, little-endian and zero-padded: lo
// holds its first eight bytes, hi the rest.
type wordKey struct{ lo, hi uint64 }

// blockOfSpaces is appended to the text to end its last part.
const blockOfSpaces = "                                                                "

// take copies the beginning of s, which must not be empty, to c and cuts it into parts.
// lower is 0x20 in every byte if letters become lower-case, else 0. It returns the number
// of complete parts, and the length of the text that they cover. A part that touches the
// end of the stretch is complete only if s ends there, too; otherwise the next stretch
// begins with that part.
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

// cut finds the parts in the first blocks of c.text and sets the fields of c.
func (c *cuts) cut(blocks int, lower uint64) {
	c.nStarts, c.nEnds, c.controls = 0, 0, false
	var openBefore, aloneBefore uint64 // 1 if the block before ended in a run, with punctuation
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

// classify returns masks with a bit for each byte of a block: ASCII letters and digits,
// visible ASCII characters, ASCII white space, and bytes beyond ASCII. If lower is set, it
// makes letters lower-case.
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

// equal returns an integer in which the highest bit of a byte is set if that byte of x is
// b; the other bits are undefined.
func equal(x uint64, b byte) uint64 {
	x ^= uint64(b) * bytes01
	return ^(x&bytes7f + bytes7f | x)
}

// nextOther returns the position of the first set bit of c.others at or after at.
func (c *cuts) nextOther(at int) int {
	k := at / blockBytes
	x := c.others[k] &^ (1<<(at%blockBytes) - 1)
	for x == 0 {
		k++
		x = c.others[k]
	}
	return k*blockBytes + bits.TrailingZeros64(x)
}

// fill puts words into c.queue, beginning with part k. It stops before a part that does not
// fit in a wordKey, or that contains the byte at position other, the next one marked in
// c.others. It returns the number of words, and prefetches their sets in cache.
func (c *cuts) fill(k, parts, other int, cache *wordCache) (n int) {
	if n = fillVector(c, k, parts, other, cache); n >= 0 {
		return n
	}
	return c.fillPlain(k, parts, other)
}

// fillPlain implements fill without vector instructions and without prefetching.
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

// fetch prefetches the slots in pieces for up to fetchAhead of the parts from k to parts.
// It returns the index of the first part that was not handled.
func (c *cuts) fetch(k, parts int, pieces *pieceCache) int {
	end := min(k+fetchAhead, parts)
	fetchVector(c, k, end, pieces)
	return end
}

// keyMasks[n] is the mask that keeps the first n bytes of a wordKey or a pieceKey.
var keyMasks = makeKeyMasks()

func makeKeyMasks() (masks [maxPiece + 1][4]uint64) {
	for n := range masks {
		for i := range n {
			masks[n][i/8] |= 0xff << (8 * (i % 8))
		}
	}
	return masks
}
