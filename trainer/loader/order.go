package loader

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sort"
)

// A span is a run of records of one file, as long as may be read at a time.
type span struct {
	file    int
	from    int // first block of the file's index
	to      int // the block after the last
	records int64
}

// spanBytes is the size of a span. Spans are read whole: large enough for disks
// and remote stores, small enough that a few of them fit in memory.
const spanBytes = 16 << 20

// spans cuts the files of an index into spans of at most limit bytes, or of one
// block.
func (x *Index) spans(limit int64) (spans []span) {
	for i := range x.files {
		blocks := x.files[i].blocks
		for from := 0; from < len(blocks)-1; {
			to := from + 1
			for to < len(blocks)-1 && blocks[to+1].offset-blocks[from].offset <= limit {
				to++
			}
			spans = append(spans, span{i, from, to, blocks[to].record - blocks[from].record})
			from = to
		}
	}
	return spans
}

// An order says which record comes at which index of an epoch. The spans are
// shuffled; the records of each window, some spans that follow each other then,
// are shuffled among themselves. It is a function of the seed, the epoch and
// the spans alone.
type order struct {
	seed   int64
	spans  []span
	window int // spans in a window

	epoch  int64   // the one that is laid out; -1: none
	perm   []int32 // spans in the order of the epoch
	starts []int64 // index in the epoch of the first record of each window, then their number
}

// layOut computes the order of an epoch.
func (o *order) layOut(epoch int64) {
	if o.epoch == epoch && o.perm != nil {
		return
	}
	o.epoch, o.perm = epoch, permutation(o.key(epoch, -1), len(o.spans))
	o.starts = o.starts[:0]
	at := int64(0)
	for i, s := range o.perm {
		if i%o.window == 0 {
			o.starts = append(o.starts, at)
		}
		at += o.spans[s].records
	}
	o.starts = append(o.starts, at)
}

// find returns the window that holds an index of the epoch, and the index in it.
func (o *order) find(index int64) (window int, in int64) {
	window = sort.Search(len(o.starts), func(w int) bool { return o.starts[w] > index }) - 1
	return window, index - o.starts[window]
}

// windowSpans returns the spans of a window.
func (o *order) windowSpans(window int) []int32 {
	from := window * o.window
	return o.perm[from:min(from+o.window, len(o.perm))]
}

// windowOrder returns the order of the records of a window.
func (o *order) windowOrder(window int) []int32 {
	return permutation(o.key(o.epoch, int64(window)), int(o.starts[window+1]-o.starts[window]))
}

// key is the key of the generator of one permutation: seed, epoch and window,
// -1 for that of the spans.
func (o *order) key(epoch, window int64) (key [32]byte) {
	binary.LittleEndian.PutUint64(key[0:], uint64(o.seed))
	binary.LittleEndian.PutUint64(key[8:], uint64(epoch))
	binary.LittleEndian.PutUint64(key[16:], uint64(window))
	return key
}

// permutation returns a permutation of n numbers by Fisher and Yates. The
// generator is ChaCha8, whose output is specified (C2SP, chacha8rand), and a
// number below i+1 is the upper half of its product with a 64-bit draw, so the
// order of a run does not depend on the release of Go. The bias is below
// 2^-32.
func permutation(key [32]byte, n int) []int32 {
	perm := make([]int32, n)
	for i := range perm {
		perm[i] = int32(i)
	}
	rng := rand.NewChaCha8(key)
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(rng.Uint64(), uint64(i+1))
		perm[i], perm[j] = perm[j], perm[i]
	}
	return perm
}
