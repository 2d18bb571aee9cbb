package tokenize

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// A wordCache maps words of at most 15 bytes to at most 4 ids each. A hash selects the set
// of a word; a set is a cache line with two slots. 65,536 sets make 4 MiB; a larger cache
// is hardly faster.
type wordCache [1 << setBits]wordSet

const setBits = 16

const (
	maxCached    = 15 // maximum length of a word in bytes
	maxCachedIDs = 4
	lowBytes     = 1<<(8*7) - 1 // mask of the bytes of cacheSlot.hi that belong to the word
)

// A wordSet holds two words. A new word replaces the second one. When the second word is
// looked up again, the two change places. So a word that occurred twice is not evicted by
// words that occur once.
type wordSet [2]cacheSlot

// A cacheSlot holds a word and its ids. Words contain no zero bytes, so the
// length need not be stored, and a slot of zeros is empty.
type cacheSlot struct {
	lo, hi uint64 // lo and hi as in wordKey; the highest byte of hi is the number of ids
	ids    [maxCachedIDs]int32
}

// golden is the fractional part of the golden ratio, times 2^64. Multiplying by it mixes
// all bits of a number into the highest ones (Knuth, The Art of Computer Programming 6.4).
const golden = 0x9e3779b97f4a7c15

// set returns the number of the word's set in a wordCache.
func (k wordKey) set() uint16 {
	return uint16((k.lo ^ bits.RotateLeft64(k.hi*golden, 32)) * golden >> (64 - setBits))
}

// has reports whether the slot holds the word.
func (s *cacheSlot) has(k wordKey) bool { return s.lo == k.lo && s.hi&lowBytes == k.hi }

// find reports whether the set holds a word, and moves it to the first slot.
func (s *wordSet) find(k wordKey) bool {
	if s[0].has(k) {
		return true
	}
	if !s[1].has(k) {
		return false
	}
	s[0], s[1] = s[1], s[0]
	return true
}

// appendQueue appends the ids of the first n words of e.cuts.queue to dst.
func (e *Encoder) appendQueue(dst []int32, n int) []int32 {
	c := &e.cuts
	dst = slices.Grow(dst, maxCachedIDs*n)
	for i, key := range c.queue[:n] {
		set := &e.cache[c.sets[i]]
		if !set[0].has(key) && !set.find(key) {
			dst = slices.Grow(e.appendNew(dst, set, key), maxCachedIDs*(n-i))
			continue
		}
		// Copying all ids is faster than checking their number first.
		at := len(dst)
		dst = dst[:at+maxCachedIDs]
		*(*[maxCachedIDs]int32)(dst[at:]) = set[0].ids
		dst = dst[:at+int(set[0].hi>>56&7)]
	}
	return dst
}

// appendCached appends the ids of a word of 1 to 15 bytes.
func (e *Encoder) appendCached(dst []int32, key wordKey) []int32 {
	set := &e.cache[key.set()]
	if !set.find(key) {
		return e.appendNew(dst, set, key)
	}
	return append(dst, set[0].ids[:set[0].hi>>56&7]...)
}

// appendNew appends the ids of a word that is not in its set. It adds the word to the set
// if it has at most maxCachedIDs ids.
func (e *Encoder) appendNew(dst []int32, set *wordSet, key wordKey) []int32 {
	var word [16]byte
	binary.LittleEndian.PutUint64(word[:], key.lo)
	binary.LittleEndian.PutUint64(word[8:], key.hi)
	size := (bits.Len64(key.lo) + 7) / 8
	if key.hi != 0 {
		size = 8 + (bits.Len64(key.hi)+7)/8
	}
	start := len(dst)
	if utf8.RuneCount(word[:size]) > e.words.limit {
		dst = append(dst, e.vocab.unk)
	} else {
		dst = e.trie.appendPieces(dst, word[:size], e.vocab.unk)
	}
	slot := &set[1]
	if n := len(dst) - start; n <= maxCachedIDs {
		copy(slot.ids[:], dst[start:])
		slot.lo, slot.hi = key.lo, key.hi|uint64(n)<<56
	}
	return dst
}

// A pieceCache maps pieces of text to their ids. A piece is the text between two ASCII
// white space or punctuation characters, before normalization; it may consist of several
// words, or none. The cache is for pieces that do not fit in a wordCache, mostly with
// characters beyond ASCII: in scripts with two bytes for each letter, words are longer than
// 15 bytes, and small vocabularies split them into single letters. 32,768 slots of 128
// bytes make 4 MiB, of which English text uses little.
type pieceCache [1 << pieceBits]pieceSlot

const pieceBits = 15

const maxPieceIDs = 23

// A pieceSlot holds a piece, zero-padded, and its ids. A slot of zeros is
// empty, because a piece has at least one byte that is not zero.
type pieceSlot struct {
	key   pieceKey
	count int32
	ids   [maxPieceIDs]int32
}

// A pieceKey is a piece of at most maxPiece bytes, zero-padded.
type pieceKey [4]uint64

const maxPiece = 31

// slot returns the piece's slot number.
func (k *pieceKey) slot() uint16 {
	h := (k[0] ^ bits.RotateLeft64(k[1]*golden, 32)) * golden
	h = (h ^ bits.RotateLeft64(k[2]*golden, 29) ^ k[3]) * golden
	return uint16(h >> (64 - pieceBits))
}

// keep stores a piece and its ids in the slot, unless there are more than maxPieceIDs ids.
func (s *pieceSlot) keep(key pieceKey, ids []int32) {
	if len(ids) > maxPieceIDs {
		return
	}
	s.key, s.count = key, int32(copy(s.ids[:], ids))
}
