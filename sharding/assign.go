package sharding

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// An Assignment lists the blocks of documents that each shard is made from.
type Assignment struct {
	Locations []string // paths of the documents folders
	Inputs    []Input
	Tasks     []ShardTask // Tasks[i] lists the blocks of shard i
	TextBytes int64       // size of the text of all shards together
}

// Assign assigns the blocks of the documents to o.Shards shards, or to the
// default number if that is 0.
func Assign(inputs []DocumentsInput, o ExamplesOptions) (*Assignment, error) {
	a := new(Assignment)
	var refs []BlockRef
	var files []FileBlocks // of all inputs, in source order
	for i, in := range inputs {
		a.Locations = append(a.Locations, in.Location)
		a.Inputs = append(a.Inputs, in.Input)
		for _, f := range in.Files {
			for k, b := range f.Blocks {
				refs = append(refs, BlockRef{File: len(files), Block: k, Bytes: b.TextBytes})
				a.TextBytes += b.TextBytes
			}
			files = append(files, FileBlocks{i, f.Name, f.Blocks})
		}
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("%w in the input", ErrNoDocuments)
	}
	if o.Shards == 0 {
		o.Shards = min(DefaultShards(a.TextBytes), len(refs))
	}
	shards, err := assignBlocks(refs, o.Shards, uint64(o.RandomSeed))
	if err != nil {
		return nil, err
	}
	for _, shard := range shards {
		a.Tasks = append(a.Tasks, ShardTask{blockList(files, shard)})
	}
	return a, nil
}

// blockList returns the blocks of one shard as a BlockList, grouped by file.
func blockList(files []FileBlocks, shard []BlockRef) (list BlockList) {
	last := -1
	for _, ref := range shard {
		file := files[ref.File]
		if ref.File != last {
			list = append(list, FileBlocks{Folder: file.Folder, Name: file.Name})
			last = ref.File
		}
		f := &list[len(list)-1]
		f.Blocks = append(f.Blocks, file.Blocks[ref.Block])
	}
	return list
}

// A BlockRef identifies one block of a documents file.
type BlockRef struct {
	File  int   `json:"file"`  // index into the list of documents files, in source order
	Block int   `json:"block"` // index of the block in the file
	Bytes int64 `json:"-"`     // size of the block's text
}

// DefaultShardBytes is the amount of text for each shard, in bytes, from which
// [DefaultShards] computes the number of shards.
const DefaultShardBytes = 16 << 20

// DefaultShards returns the number of shards that is used if none is given. It
// depends only on the size of the text.
func DefaultShards(textBytes int64) int {
	return int(max(1, (textBytes+DefaultShardBytes-1)/DefaultShardBytes))
}

// A TooManyShardsError reports that there are fewer blocks than shards.
type TooManyShardsError struct{ Shards, Blocks int }

func (e *TooManyShardsError) Error() string {
	return fmt.Sprintf("%d shards asked for, but the input has %d blocks of documents: give at most --shards %d", e.Shards, e.Blocks, e.Blocks)
}

// Usage marks the error as a usage error, so that commands exit with code 2.
func (e *TooManyShardsError) Usage() bool { return true }

// assignBlocks assigns blocks to shards. It orders the blocks by a hash of
// seed, file number and block number (SHA-256), then assigns each to the shard
// with the least text so far, so sizes differ by about one block. Within a
// shard, blocks are in the order in which they were given: source order. With
// one shard, the result is the input.
func assignBlocks(blocks []BlockRef, shards int, seed uint64) ([][]BlockRef, error) {
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
	assigned := make([][]BlockRef, shards)
	for i, b := range blocks {
		assigned[owner[i]] = append(assigned[owner[i]], b)
	}
	return assigned, nil
}

// permutation returns the indexes of blocks in the order of SHA-256(seed, file,
// block), where each number is a big-endian uint64. Any reader of the format
// can reproduce this shuffle.
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

// loadHeap is a heap of shards, the next shard to get a block on top. It orders
// shards by assigned bytes, then by number of blocks and by index, so that
// every shard gets a first block before any shard gets a second block of equal
// size.
type loadHeap []load

func (h loadHeap) Len() int { return len(h) }
func (h loadHeap) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.blocks, b.blocks), cmp.Compare(a.shard, b.shard)) < 0
}
func (h loadHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *loadHeap) Push(any)     { panic("BUG: the number of shards is fixed") }
func (h *loadHeap) Pop() any     { panic("BUG: the number of shards is fixed") }
