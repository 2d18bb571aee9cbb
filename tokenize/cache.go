package tokenize

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A wordCache maps words of at most 15 bytes to at most 4 ids each. Two slots
// share a cache line. It is direct-mapped: a word evicts the one before it in
// its slot. 65,536 slots of 32 bytes make 2 MiB; a larger cache is hardly
// faster.
type wordCache [1 << 16]cacheSlot

const (
	maxCached    = 15 // maximum bytes of a word
	maxCachedIDs = 4
	lowBytes     = 1<<(8*7) - 1 // mask of the bytes of hi that belong to the word
)

// A cacheSlot holds a word, zero-padded. Words contain no zero bytes, so the
// length need not be stored, and a zero slot is empty.
type cacheSlot struct {
	lo, hi uint64 // the word; the highest byte of hi is the number of ids
	ids    [maxCachedIDs]int32
}

// slotOf returns the slot number of a word.
func slotOf(lo, hi uint64) uint16 {
	// Multiplying by the fraction of the golden ratio (Knuth, The Art of
	// Computer Programming 6.4) mixes both halves into the highest bits.
	const golden = 0x9e3779b97f4a7c15
	return uint16((lo ^ bits.RotateLeft64(hi*golden, 32)) * golden >> 48)
}

// fillSlot appends the ids of a word of 1 to 15 bytes that is not in its slot,
// and stores them there unless there are too many.
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

// A pieceCache maps pieces of text that do not fit a wordCache to their ids.
// Most contain characters beyond ASCII. The key is the unnormalized text; it
// may be several words, or none. Scripts with two bytes a letter have longer
// words than a wordCache holds, and small vocabularies split them into single
// letters. 32,768 slots of 128 bytes make 4 MiB, of which English text uses
// little.
type pieceCache [1 << pieceBits]pieceSlot

const pieceBits = 15

const maxPieceIDs = 23

// A pieceSlot holds a piece, zero-padded. A zero slot is empty, because a piece
// has at least one byte that is not zero.
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
