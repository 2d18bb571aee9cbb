package sharding

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"pretext/extract"
)

// An Assignment assigns blocks of documents to shards. A unit is a block in one pass over
// the documents; without a mix there is one pass. An Assignment stores the block tables
// of the inputs and four bytes for each unit, or eight with a mix.
type Assignment struct {
	Locations []string // paths of the documents folders
	Inputs    []Input
	Shards    int
	TextBytes int64 // size of the text of all shards together
	ReadBytes int64 // size of the text of all blocks that the shards read

	files  []unitFile // files of all inputs in source order, repeated for each pass over them
	first  []uint32   // number of each file's first unit
	used   []uint32   // number of bytes of each unit's text to use; 0: the unit is not assigned. nil: all bytes
	blocks []uint32   // numbers of the units of shard 0, then of shard 1, and so on, each in source order
	ends   []uint32   // where each shard's units end in blocks

	lines  []line  // documents from which random segments are drawn; nil without [pretrain.NegativesCorpus]
	shares []int64 // with lines: bytes of text in all shards before each shard; the last element is the total
}

// A unitFile is a documents file in one pass over it.
type unitFile struct {
	FileBlocks
	number int // index of the file among all files
	pass   int // from 0
}

// Assign assigns the blocks of the documents to o.Shards shards, or to the
// default number if that is 0. With o.Mix use [ResolveMix].
func Assign(inputs []DocumentsInput, o ExamplesOptions) (*Assignment, error) {
	a := &Assignment{}
	total := 0
	for i, in := range inputs {
		a.Locations = append(a.Locations, in.Location)
		a.Inputs = append(a.Inputs, in.Input)
		for _, f := range in.Files {
			a.add(unitFile{FileBlocks: FileBlocks{i, f.Name, f.Blocks}, number: len(a.files)}, total)
			if len(f.Blocks) > maxUnits-total {
				return nil, fmt.Errorf("more than %d blocks of documents", maxUnits)
			}
			total += len(f.Blocks)
		}
	}
	return a, a.assign(o)
}

// maxUnits is the maximum number of units. An assignment stores unit numbers as uint32,
// and functions use int.
const maxUnits = math.MaxUint32 & math.MaxInt

// add appends a file whose first unit has the number first.
func (a *Assignment) add(f unitFile, first int) {
	a.first = append(a.first, uint32(first))
	a.files = append(a.files, f)
}

// assign assigns the units.
func (a *Assignment) assign(o ExamplesOptions) error {
	total, units := 0, 0
	for i, f := range a.files {
		for block, b := range f.Blocks {
			n := a.text(i, block)
			if total++; n == 0 && a.used != nil {
				continue
			}
			units++
			a.TextBytes += n
			a.ReadBytes += b.TextBytes
		}
	}
	if units == 0 {
		return fmt.Errorf("%w in the input", ErrNoDocuments)
	}
	a.Shards = o.Shards
	if a.Shards == 0 {
		a.Shards = min(DefaultShards(a.TextBytes), units)
	}
	if a.Shards < 1 || a.Shards > units {
		return &TooManyShardsError{a.Shards, units}
	}
	order := a.shuffled(uint64(o.RandomSeed), total)
	a.deal(order, total)
	if o.NSPNegatives != "" {
		a.prepareNegatives(order)
	}
	return nil
}

// text returns how many bytes of a block's text are used. file is an index of a.files.
func (a *Assignment) text(file, block int) int64 {
	if a.used == nil {
		return a.files[file].Blocks[block].TextBytes
	}
	return int64(a.used[int(a.first[file])+block])
}

// nobody is the owner of a unit that is not assigned.
const nobody = math.MaxUint32

// deal assigns the units to shards in the order of [Assignment.shuffled]. Each unit goes
// to the shard with the least text so far, so sizes differ by about one block. A shard
// gets a block twice only if all shards already have it. Within a shard, units are in
// source order. With one shard, the shard equals the input.
func (a *Assignment) deal(order []dealt, total int) {
	owner := make([]uint32, total)
	for i := range owner {
		owner[i] = nobody
	}
	loads := make(loadHeap, a.Shards)
	for i := range loads {
		loads[i].shard = uint32(i)
	}
	others := make(copies, a.Shards)
	for _, d := range order {
		at := max(0, loads.least(0, others.mark(a, owner, d.block)))
		owner[d.block] = loads[at].shard
		loads.add(at, a.size(d))
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
		if shard != nobody {
			a.blocks[a.ends[shard]] = uint32(i)
			a.ends[shard]++
		}
	}
}

// copies prevents a shard from getting a block twice. The element of a shard is 1 plus
// the number of the last marked unit whose block the shard already has from another pass.
type copies []uint32

// mark records which shards already have the block of a unit from another pass. It
// returns a function that reports this for a shard, or nil if no shard or every shard has
// the block.
func (c copies) mark(a *Assignment, owner []uint32, unit uint32) func(shard uint32) bool {
	if a.used == nil {
		return nil // there is one pass
	}
	file, block := a.place(unit)
	first := file - a.files[file].pass
	some := 0
	for i := first; i < len(a.files) && a.files[i].number == a.files[file].number; i++ {
		if shard := owner[int(a.first[i])+block]; shard != nobody && c[shard] != unit+1 {
			c[shard] = unit + 1
			some++
		}
	}
	if some == 0 || some == len(c) {
		return nil
	}
	return func(shard uint32) bool { return c[shard] == unit+1 }
}

// place returns the file of a unit, as an index of a.files, and the index of the unit's
// block in that file.
func (a *Assignment) place(unit uint32) (file, number int) {
	file = sort.Search(len(a.first), func(i int) bool { return a.first[i] > unit }) - 1
	return file, int(unit - a.first[file])
}

// A dealt unit is an element of the order in which units are assigned.
type dealt struct {
	key   uint64 // first bytes of its hash
	block uint32 // number of the unit
	text  uint32 // bytes of its text that are used; at most [longText]
}

// longText stands for a text that is at least so long.
const longText = math.MaxUint32

// size returns how many bytes of a unit's text are used. For millions of units in random
// order, reading the block tables instead would mostly wait for memory.
func (a *Assignment) size(d dealt) int64 {
	if d.text < longText {
		return int64(d.text)
	}
	return a.text(a.place(d.block))
}

// shuffled returns all units sorted by SHA-256(seed, file, block). In passes after the
// first the hash is SHA-256(seed, file, block, pass). Each number is a big-endian uint64.
// Any reader of the format can reproduce this shuffle.
func (a *Assignment) shuffled(seed uint64, total int) []dealt {
	order := make([]dealt, 0, total)
	for file, f := range a.files {
		for block := range f.Blocks {
			text := a.text(file, block)
			if a.used != nil && text == 0 {
				continue
			}
			sum := f.hash(seed, block)
			order = append(order, dealt{binary.BigEndian.Uint64(sum[:]), a.first[file] + uint32(block), uint32(min(uint64(text), longText))})
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

// hash returns the hash of a block of the file in its pass.
func (f *unitFile) hash(seed uint64, block int) [sha256.Size]byte {
	in := binary.BigEndian.AppendUint64(make([]byte, 0, 32), seed)
	in = binary.BigEndian.AppendUint64(in, uint64(f.number))
	in = binary.BigEndian.AppendUint64(in, uint64(block))
	if f.pass > 0 {
		in = binary.BigEndian.AppendUint64(in, uint64(f.pass))
	}
	return sha256.Sum256(in)
}

// compareHashes compares the whole hashes of two units.
func (a *Assignment) compareHashes(seed uint64, x, y uint32) int {
	xf, xb := a.place(x)
	yf, yb := a.place(y)
	xs, ys := a.files[xf].hash(seed, xb), a.files[yf].hash(seed, yb)
	return cmp.Or(bytes.Compare(xs[:], ys[:]), cmp.Compare(x, y))
}

// of returns the numbers of the units of a shard.
func (a *Assignment) of(shard int) []uint32 {
	start := uint32(0)
	if shard > 0 {
		start = a.ends[shard-1]
	}
	return a.blocks[start:a.ends[shard]]
}

// Task returns the plan of a shard: its blocks by pass, grouped by file.
func (a *Assignment) Task(shard int) ShardTask {
	t := ShardTask{Negatives: a.negativesOf(shard)}
	if a.used == nil {
		t.Blocks = a.list(a.of(shard))
		return t
	}
	lists := map[int]*BlockList{0: &t.Blocks} // by pass
	for _, number := range a.of(shard) {
		file, block := a.place(number)
		f := a.files[file]
		list := lists[f.pass]
		if list == nil {
			list = new(BlockList)
			lists[f.pass] = list
		}
		list.add(f.FileBlocks, block)
	}
	for _, pass := range slices.Sorted(maps.Keys(lists)) {
		if pass > 0 {
			t.Repeats = append(t.Repeats, Repeat{pass, *lists[pass]})
		}
	}
	return t
}

// list returns the blocks of units of one pass, which are in source order.
func (a *Assignment) list(units []uint32) (list BlockList) {
	blocks := make([]extract.Block, len(units)) // those of all files
	start, last := 0, -1
	for i, unit := range units {
		file, block := a.place(unit)
		f := &a.files[file]
		if file != last {
			list, start, last = append(list, FileBlocks{Folder: f.Folder, Name: f.Name}), i, file
		}
		blocks[i] = f.Blocks[block]
		list[len(list)-1].Blocks = blocks[start : i+1 : i+1]
	}
	return list
}

// A ShardSize is the size of a shard's text and of its negatives, in bytes. A block
// exceeds its usual size only if it is a single long document.
type ShardSize struct{ TextBytes, LargestBlock int64 }

// Sizes returns the size of each shard.
func (a *Assignment) Sizes() []ShardSize {
	sizes := make([]ShardSize, a.Shards)
	for i := range sizes {
		for _, number := range a.of(i) {
			file, block := a.place(number)
			sizes[i].TextBytes += a.text(file, block)
			sizes[i].LargestBlock = max(sizes[i].LargestBlock, a.files[file].Blocks[block].TextBytes)
		}
		if n := a.negativesOf(i); n != nil {
			sizes[i].TextBytes += n.Blocks.TextBytes()
			sizes[i].LargestBlock = max(sizes[i].LargestBlock, n.Blocks.LargestBlock())
		}
	}
	return sizes
}

// Tasks returns the plans of all shards.
func (a *Assignment) Tasks() TaskList {
	return TaskList{a.Shards, func(i int) any { return a.Task(i) }}
}

// Default size of a shard's text in bytes. Small shards use many processors and little
// memory. For very large texts, larger shards limit the number of files.
const (
	DefaultShardBytes = 4 << 20  // up to manyShards shards
	largeShardBytes   = 16 << 20 // for more text
	manyShards        = 4096
)

// DefaultShards returns the default number of shards: one for each 4 MiB of text up to
// 16 GiB, then 4096 up to 64 GiB, then one for each 16 MiB. The number depends only on
// the size of the text, so that the output is reproducible.
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

// loadHeap is a heap whose first element is the shard that gets the next block.
// Shards are ordered by assigned bytes, then by number of blocks and by index, so
// that every shard gets a first block before any gets a second block of equal size.
type loadHeap []load

type load struct {
	bytes  int64
	blocks uint32
	shard  uint32
}

func (l load) before(other load) bool {
	if l.bytes != other.bytes {
		return l.bytes < other.bytes
	}
	return cmp.Or(cmp.Compare(l.blocks, other.blocks), cmp.Compare(l.shard, other.shard)) < 0
}

// least returns the index of the first shard that does not have the block, in h's order,
// among the heap element i and its descendants. It returns -1 if all of these have the
// block. If has is nil, no shard has it.
func (h loadHeap) least(i int, has func(shard uint32) bool) int {
	if i >= len(h) {
		return -1
	}
	if has == nil || !has(h[i].shard) {
		return i
	}
	left, right := h.least(2*i+1, has), h.least(2*i+2, has)
	if left < 0 || right >= 0 && h[right].before(h[left]) {
		return right
	}
	return left
}

// add adds the size of a block to the shard at index i and restores the order of the
// heap.
func (h loadHeap) add(i int, bytes int64) {
	top := h[i]
	top.bytes += bytes
	top.blocks++
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
