package sharding

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A BlockRef names one block of one documents file, in source order: folder
// and file by their place in the plan's input list.
type BlockRef struct {
	File  int   `json:"file"`  // index into the list of documents files, in source order
	Block int   `json:"block"` // index of the block in the file
	Bytes int64 `json:"-"`     // of text
}

// DefaultShardBytes is the text that a shard holds when the number of shards
// is not given.
const DefaultShardBytes = 16 << 20

// DefaultShards returns the number of shards for so much text: a function of
// the input alone.
func DefaultShards(textBytes int64) int {
	return int(max(1, (textBytes+DefaultShardBytes-1)/DefaultShardBytes))
}

// A TooManyShardsError says that there are fewer blocks than shards.
type TooManyShardsError struct{ Shards, Blocks int }

func (e *TooManyShardsError) Error() string {
	return fmt.Sprintf("%d shards asked for, but the input has %d blocks of documents: give at most --shards %d", e.Shards, e.Blocks, e.Blocks)
}

// Plan deals blocks to shards. The blocks are put into an order that depends on
// the seed alone (by SHA-256 of seed, file and block number), and each goes to
// the shard that holds the least text so far, so that sizes differ by about one
// block. Within a shard blocks keep the order in which they were given: source
// order. With one shard the plan is the input, unchanged.
func Plan(blocks []BlockRef, shards int, seed uint64) ([][]BlockRef, error) {
	if shards < 1 || shards > len(blocks) {
		return nil, &TooManyShardsError{shards, len(blocks)}
	}
	owner := make([]int, len(blocks))
	loads := make(loadHeap, shards)
	for i := range loads {
		loads[i].shard = i
	}
	for _, i := range permutation(blocks, seed) {
		owner[i] = loads[0].shard
		loads[0].bytes += blocks[i].Bytes
		loads[0].blocks++
		heap.Fix(&loads, 0)
	}
	dealt := make([][]BlockRef, shards)
	for i, b := range blocks {
		dealt[owner[i]] = append(dealt[owner[i]], b)
	}
	return dealt, nil
}

// permutation returns the indices of blocks ordered by the hash of seed and
// name: a shuffle that any reader of the format can repeat.
func permutation(blocks []BlockRef, seed uint64) []int {
	keys := make([][sha256.Size]byte, len(blocks))
	order := make([]int, len(blocks))
	for i, b := range blocks {
		var in [24]byte
		binary.BigEndian.PutUint64(in[:], seed)
		binary.BigEndian.PutUint64(in[8:], uint64(b.File))
		binary.BigEndian.PutUint64(in[16:], uint64(b.Block))
		keys[i] = sha256.Sum256(in[:])
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(slices.Compare(keys[a][:], keys[b][:]), cmp.Compare(a, b))
	})
	return order
}

type load struct {
	bytes  int64
	blocks int
	shard  int
}

// loadHeap orders shards by what they hold; the number of blocks and the index
// break ties, so that every shard gets a block before any gets two.
type loadHeap []load

func (h loadHeap) Len() int { return len(h) }
func (h loadHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.blocks, b.blocks), cmp.Compare(a.shard, b.shard)) < 0
}
func (h loadHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *loadHeap) Push(any)     { panic("BUG: the number of shards is fixed") }
func (h *loadHeap) Pop() any     { panic("BUG: the number of shards is fixed") }

// A Split decides which documents are held out for evaluation.
type Split struct {
	Fraction float64 `json:"eval_fraction"` // share of documents held out, in [0, 1)
	Seed     uint64  `json:"split_seed"`
}

// HeldOut reports whether a document belongs to the eval side: whether the
// first 64 bits of SHA-256(seed in decimal, a zero byte, ID) as a fraction of
// 2^64 fall below Fraction. It depends on nothing else, so a document keeps
// its side when the corpus grows.
func (s Split) HeldOut(id string) bool {
	if s.Fraction <= 0 {
		return false
	}
	h := sha256.New()
	h.Write(strconv.AppendUint(nil, s.Seed, 10))
	h.Write([]byte{0})
	h.Write([]byte(id))
	first := binary.BigEndian.Uint64(h.Sum(nil))
	return float64(first)/math.Exp2(64) < s.Fraction
}

// evalSeedOffset keeps the generators of the two sides apart for any number of
// shards.
const evalSeedOffset = 1 << 32

// Seed returns the seed of the generator that makes a shard's examples: the
// run's seed plus the shard's index, and 2^32 more on the eval side.
func (n ShardName) Seed(randomSeed int64) int64 {
	seed := randomSeed + int64(n.Index)
	if n.Split == Eval {
		seed += evalSeedOffset
	}
	return seed
}
