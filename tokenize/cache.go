package tokenize

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A wordCache maps words of at most 15 bytes to at most 4 ids each. It is
// direct-mapped: a new word replaces the word that was in its slot. Two slots
// share a cache line. 65,536 slots of 32 bytes make 2 MiB; a larger cache is
// hardly faster.
type wordCache [1 << 16]cacheSlot

const (
	maxCached    = 15 // maximum length of a word in bytes
	maxCachedIDs = 4
	lowBytes     = 1<<(8*7) - 1 // mask of the bytes of cacheSlot.hi that belong to the word
)

// A cacheSlot holds a word, zero-padded, and its ids. Words contain no zero
// bytes, so the length need not be stored, and a slot of zeros is empty.
type cacheSlot struct {
	lo, hi uint64 // the word; the highest byte of hi is the number of ids
	ids    [maxCachedIDs]int32
}

// slotOf returns the slot number of a word of at most 15 bytes: lo holds its
// first eight bytes, hi the rest, both little-endian and zero-padded.
func slotOf(lo, hi uint64) uint16 {
	// Multiplying by the fraction of the golden ratio (Knuth, The Art of
	// Computer Programming 6.4) mixes both halves into the highest bits.
	const golden = 0x9e3779b97f4a7c15
	return uint16((lo ^ bits.RotateLeft64(hi*golden, 32)) * golden >> 48)
}

// fillSlot appends the ids of a word of 1 to 15 bytes that is not cached, and
// caches them if there are at most maxCachedIDs. lo and hi hold the word as in
// slotOf.
func (e *Encoder) fillSlot(dst []int32, lo, hi uint64) []int32 {
	slot := &e.cache[slotOf(lo, hi)]
	var word [16]byte
	binary.LittleEndian.PutUint64(word[:], lo)
	binary.LittleEndian.PutUint64(word[8:], hi)
	size := (bits.Len64(lo) + 7) / 8
	if hi != 0 {
		size = 8 + (bits.Len64(hi)+7)/8
	}
	start := len(dst)
	if utf8.RuneCount(word[:size]) > e.words.limit {
		dst = append(dst, e.vocab.unk)
	} else {
		dst = e.trie.appendPieces(dst, word[:size], e.vocab.unk)
	}
	if n := copy(slot.ids[:], dst[start:]); n == len(dst)-start {
		slot.lo, slot.hi = lo, hi|uint64(n)<<56
	} else {
		*slot = cacheSlot{}
	}
	return dst
}

// A pieceCache maps pieces of text to their ids. A piece is the text between
// two ASCII white space or punctuation characters, before normalization; it may
// be several words, or none. The cache holds pieces that do not fit a
// wordCache, mostly with characters beyond ASCII: in scripts with two bytes for
// each letter, words are longer than 15 bytes, and small vocabularies split
// them into single letters. 32,768 slots of 128 bytes make 4 MiB, of which
// English text uses little.
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

// A pieceKey is a piece of at most 31 bytes, zero-padded.
type pieceKey [4]uint64

// slot returns the piece's slot number.
func (k *pieceKey) slot() uint16 {
	const golden = 0x9e3779b97f4a7c15 // see slotOf
	h := (k[0] ^ bits.RotateLeft64(k[1]*golden, 32)) * golden
	h = (h ^ bits.RotateLeft64(k[2]*golden, 29) ^ k[3]) * golden
	return uint16(h >> (64 - pieceBits))
}

// keep stores the ids of a piece in the slot, unless there are too many.
func (s *pieceSlot) keep(key pieceKey, ids []int32) {
	if len(ids) > maxPieceIDs {
		return
	}
	s.key, s.count = key, int32(copy(s.ids[:], ids))
}
