package hf

import "math"

// A pairTable maps pairs of ids or of characters to merges. It is a hash table of buckets
// as large as a cache line. A pair is in the bucket of its hash, or in the next that has
// room. So nearly every look-up, also of a pair that the table does not have, takes one
// line and no branch that depends on the pair.
type pairTable struct {
	buckets []pairBucket
}

// A pairBucket has the keys of up to four pairs, 0 where a place is free, and their values.
// Places are taken in order.
type pairBucket struct {
	keys   [4]uint64
	values [4]packed
}

// A packed is a merge as one number, the rank in its upper half and the id in its lower.
// Of two packed, that with the lower rank is the lower number.
type packed uint64

// noMerge is greater than every packed: the pair cannot be merged.
const noMerge packed = math.MaxUint64

func pack(m merged) packed { return packed(uint32(m.rank))<<32 | packed(uint32(m.id)) }

func (p packed) merged() merged { return merged{rank: int32(p >> 32), id: int32(p)} }

// pairKey returns the key of a pair of numbers that are not negative. It is never 0.
func pairKey(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) + 1 }

// newPairTable returns an empty table for at most n pairs.
func newPairTable(n int) *pairTable {
	size := 4
	for size < n {
		size *= 2
	}
	return &pairTable{buckets: make([]pairBucket, size)}
}

// set stores the value of a pair. At most n pairs may be stored; see newPairTable.
func (t *pairTable) set(left, right int32, value merged) {
	key := pairKey(left, right)
	for at := t.bucket(key); ; at = (at + 1) & (len(t.buckets) - 1) {
		b := &t.buckets[at]
		for i, k := range b.keys {
			if k == key || k == 0 {
				b.keys[i], b.values[i] = key, pack(value)
				return
			}
		}
	}
}

// get returns the value of a pair.
func (t *pairTable) get(left, right int32) (merged, bool) {
	p := t.find(left, right)
	return p.merged(), p != noMerge
}

// find returns the value of a pair, or noMerge.
func (t *pairTable) find(left, right int32) packed {
	key := pairKey(left, right)
	at := t.bucket(key)
	for {
		b := &t.buckets[at]
		found := noMerge
		v0, v1, v2, v3 := b.values[0], b.values[1], b.values[2], b.values[3]
		if b.keys[0] == key {
			found = v0
		}
		if b.keys[1] == key {
			found = v1
		}
		if b.keys[2] == key {
			found = v2
		}
		last := b.keys[3]
		if last == key {
			found = v3
		}
		if last == 0 || found != noMerge {
			return found
		}
		at = (at + 1) & (len(t.buckets) - 1)
	}
}

// bucket returns the index of the bucket in which to look for a key first.
func (t *pairTable) bucket(key uint64) int {
	hash := pairHash(key)
	return int(hash^hash>>32) & (len(t.buckets) - 1)
}

// pairHash returns a hash of a key, of which the upper bits are the best.
func pairHash(key uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // see Knuth, The Art of Computer Programming 6.4
	return key * golden
}
