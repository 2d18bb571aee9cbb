package sharding

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
)

// An Assignment assigns the blocks of documents to shards. It keeps the inputs'
// block tables and four bytes for each block.
type Assignment struct {
	Locations []string // paths of the documents folders
	Inputs    []Input
	Shards    int
	TextBytes int64 // size of the text of all shards together

	files  []FileBlocks // of all inputs, in source order
	first  []uint32     // number of each file's first block among all blocks
	blocks []uint32     // numbers of the blocks of shard 0, then of shard 1, and so on, each in source order
	ends   []uint32     // where each shard's blocks end in blocks
}

// Assign assigns the blocks of the documents to o.Shards shards, or to the
// default number if that is 0.
func Assign(inputs []DocumentsInput, o ExamplesOptions) (*Assignment, error) {
	a := &Assignment{Shards: o.Shards}
	total := 0
	for i, in := range inputs {
		a.Locations = append(a.Locations, in.Location)
		a.Inputs = append(a.Inputs, in.Input)
		for _, f := range in.Files {
			a.first = append(a.first, uint32(total))
			a.files = append(a.files, FileBlocks{i, f.Name, f.Blocks})
			if total += len(f.Blocks); total > math.MaxUint32 {
				return nil, fmt.Errorf("more than %d blocks of documents", uint32(math.MaxUint32))
			}
			for _, b := range f.Blocks {
				a.TextBytes += b.TextBytes
			}
		}
	}
	if total == 0 {
		return nil, fmt.Errorf("%w in the input", ErrNoDocuments)
	}
	if a.Shards == 0 {
		a.Shards = min(DefaultShards(a.TextBytes), total)
	}
	if a.Shards < 1 || a.Shards > total {
		return nil, &TooManyShardsError{a.Shards, total}
	}
	a.deal(uint64(o.RandomSeed), total)
	return a, nil
}

// deal assigns the blocks to shards. It orders the blocks by a hash of seed, file
// number and block number (SHA-256), then assigns each to the shard with the least
// text so far, so sizes differ by about one block. Within a shard, blocks are in
// source order. With one shard, the result is the input.
func (a *Assignment) deal(seed uint64, total int) {
	owner := make([]uint32, total)
	loads := make(loadHeap, a.Shards)
	for i := range loads {
		loads[i].shard = uint32(i)
	}
	for _, d := range a.shuffled(seed, total) {
		file, block := a.place(d.block)
		owner[d.block] = loads[0].shard
		loads.add(a.files[file].Blocks[block].TextBytes)
	}
	a.ends = make([]uint32, a.Shards) // first where each shard begins
	for _, l := range loads {
		if int(l.shard)+1 < a.Shards {
			a.ends[l.shard+1] = l.blocks
		}
	}
	for i := 1; i < len(a.ends); i++ {
		a.ends[i] += a.ends[i-1]
	}
	a.blocks = make([]uint32, total)
	for i, shard := range owner {
		a.blocks[a.ends[shard]] = uint32(i)
		a.ends[shard]++
	}
}

// place returns the file of a block, given its number among all blocks, and its
// number in the file.
func (a *Assignment) place(block uint32) (file, number int) {
	file = sort.Search(len(a.first), func(i int) bool { return a.first[i] > block }) - 1
	return file, int(block - a.first[file])
}

// A dealt block is a block in the order of assignment.
type dealt struct {
	key   uint64 // first bytes of its hash
	block uint32 // its number among all blocks
}

// shuffled returns all blocks in the order of SHA-256(seed, file, block), where
// each number is a big-endian uint64. Any reader of the format can reproduce
// this shuffle.
func (a *Assignment) shuffled(seed uint64, total int) []dealt {
	order := make([]dealt, 0, total)
	for file, f := range a.files {
		for block := range f.Blocks {
			sum := blockHash(seed, file, block)
			order = append(order, dealt{binary.BigEndian.Uint64(sum[:]), uint32(len(order))})
		}
	}
	slices.SortFunc(order, func(x, y dealt) int {
		if x.key != y.key {
			return cmp.Compare(x.key, y.key)
		}
		return a.compareHashes(seed, x.block, y.block)
	})
	return order
}

func blockHash(seed uint64, file, block int) [sha256.Size]byte {
	var in [24]byte
	binary.BigEndian.PutUint64(in[:], seed)
	binary.BigEndian.PutUint64(in[8:], uint64(file))
	binary.BigEndian.PutUint64(in[16:], uint64(block))
	return sha256.Sum256(in[:])
}

// compareHashes compares the whole hashes of two blocks.
func (a *Assignment) compareHashes(seed uint64, x, y uint32) int {
	xf, xb := a.place(x)
	yf, yb := a.place(y)
	xs, ys := blockHash(seed, xf, xb), blockHash(seed, yf, yb)
	return cmp.Or(bytes.Compare(xs[:], ys[:]), cmp.Compare(x, y))
}

// of returns the numbers of the blocks of a shard.
func (a *Assignment) of(shard int) []uint32 {
	start := uint32(0)
	if shard > 0 {
		start = a.ends[shard-1]
	}
	return a.blocks[start:a.ends[shard]]
}

// Task returns the plan of a shard: its blocks, grouped by file.
func (a *Assignment) Task(shard int) ShardTask {
	var list BlockList
	last := -1
	for _, number := range a.of(shard) {
		file, block := a.place(number)
		f := a.files[file]
		if file != last {
			list = append(list, FileBlocks{Folder: f.Folder, Name: f.Name})
			last = file
		}
		list[len(list)-1].Blocks = append(list[len(list)-1].Blocks, f.Blocks[block])
	}
	return ShardTask{list}
}

// A ShardSize is the text of a shard, in bytes. A block grows beyond its usual
// size only if it is a single long document.
type ShardSize struct{ TextBytes, LargestBlock int64 }

// Sizes returns the size of each shard.
func (a *Assignment) Sizes() []ShardSize {
	sizes := make([]ShardSize, a.Shards)
	for i := range sizes {
		for _, number := range a.of(i) {
			file, block := a.place(number)
			n := a.files[file].Blocks[block].TextBytes
			sizes[i].TextBytes += n
			sizes[i].LargestBlock = max(sizes[i].LargestBlock, n)
		}
	}
	return sizes
}

// Tasks returns the plans of all shards.
func (a *Assignment) Tasks() TaskList {
	return TaskList{a.Shards, func(i int) any { return a.Task(i) }}
}

// The size of a shard's text in bytes if no number of shards is given. Small
// shards keep many processors busy and take little memory; the number of files is
// limited by larger shards for the largest texts.
const (
	DefaultShardBytes = 4 << 20  // of up to manyShards shards
	largeShardBytes   = 16 << 20 // of more
	manyShards        = 4096
)

// DefaultShards returns the number of shards that is used if none is given: one
// for each 4 MiB of text up to 16 GiB, then 4096 up to 64 GiB, then one for each
// 16 MiB. It depends only on the size of the text, so that the output does.
func DefaultShards(textBytes int64) int {
	count := func(each int64) int64 { return (textBytes + each - 1) / each }
	return int(max(1, min(count(DefaultShardBytes), max(manyShards, count(largeShardBytes)))))
}

// A TooManyShardsError reports that there are fewer blocks than shards.
type TooManyShardsError struct{ Shards, Blocks int }

func (e *TooManyShardsError) Error() string {
	return fmt.Sprintf("%d shards asked for, but the input has %d blocks of documents: give at most --shards %d", e.Shards, e.Blocks, e.Blocks)
}

// Usage marks the error as a usage error, so that commands exit with code 2.
func (e *TooManyShardsError) Usage() bool { return true }

// loadHeap is a heap of shards, the next shard to get a block on top. It orders
// shards by assigned bytes, then by number of blocks and by index, so that
// every shard gets a first block before any shard gets a second block of equal
// size.
type loadHeap []load

type load struct {
	bytes  int64
	blocks uint32
	shard  uint32
}

func (l load) before(other load) bool {
	return cmp.Or(cmp.Compare(l.bytes, other.bytes), cmp.Compare(l.blocks, other.blocks), cmp.Compare(l.shard, other.shard)) < 0
}

// add assigns a block of some bytes to the shard on top and moves that down to
// its place.
func (h loadHeap) add(bytes int64) {
	top := h[0]
	top.bytes += bytes
	top.blocks++
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(top) {
			break
		}
		h[i], i = h[child], child
	}
	h[i] = top
}
