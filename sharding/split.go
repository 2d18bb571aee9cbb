package sharding

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// A Split configures how many and which documents are held out for evaluation.
type Split struct {
	Fraction float64 `json:"eval_fraction"` // fraction of documents in the eval split, in [0, 1)
	Seed     uint64  `json:"split_seed"`
}

// HeldOut reports whether the documents with the given [extract.Document.SplitID] belong to
// the eval split. This is the case if the first 64 bits of SHA-256(seed in decimal, a zero
// byte, ID), divided by 2^64, are below Fraction. The result depends on nothing else, so a
// document stays in its split when the corpus grows.
func (s Split) HeldOut(id string) bool {
	if s.Fraction <= 0 {
		return false
	}
	h := sha256.New()
	h.Write(strconv.AppendUint(nil, s.Seed, 10))
	h.Write([]byte{0})
	h.Write([]byte(id))
	first := binary.BigEndian.Uint64(h.Sum(nil))
	return float64(first)/(1<<64) < s.Fraction
}

// split returns the split of the documents with a split ID, as an index of [ExamplesOptions.Splits].
func (s Split) split(id string) int {
	if s.HeldOut(id) {
		return 1
	}
	return 0
}

// evalSeedOffset is added to the seed of a train shard for the eval shard with the same
// index. With this offset, all seeds are distinct for any number of shards.
const evalSeedOffset = 1 << 32

// Seed returns the seed for making a shard's examples: randomSeed plus the
// shard's index, plus 2^32 in the eval split.
func (n ShardName) Seed(randomSeed int64) int64 {
	seed := randomSeed + int64(n.Index)
	if n.Split == Eval {
		seed += evalSeedOffset
	}
	return seed
}
