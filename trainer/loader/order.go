package loader

import (
	"encoding/binary"

	"pretext/trainer"
)

// A span is a range of blocks of one file that is read at once.
type span struct {
	file  int
	from  int   // first block of the file's index
	to    int   // the block after the last block of the span
	count int64 // number of its sequences
}

// spanBytes is the size of a span. It is large enough for efficient reads from
// disks and remote storage, and small enough for several spans in memory.
const spanBytes = 16 << 20

// spans divides the files of an index into spans of at most limit bytes. A
// block larger than limit is a span of its own.
func (x *Index) spans(limit int64) (spans []span) {
	for i := range x.files {
		blocks := x.files[i].blocks
		for from := 0; from < len(blocks)-1; {
			to := from + 1
			for to < len(blocks)-1 && blocks[to+1].offset-blocks[from].offset <= limit {
				to++
			}
			spans = append(spans, span{i, from, to, x.files[i].sequences(from, to)})
			from = to
		}
	}
	return spans
}

// An order maps each index of an epoch to a sequence. The spans are shuffled and
// then grouped into windows; the sequences of each window are shuffled. It
// depends only on the seed, the epoch and the spans.
type order struct {
	seed   int64
	spans  []span
	window int // number of spans in a window

	epoch  int64   // epoch of perm and starts; -1: none
	perm   []int32 // spans in the order of this epoch
	starts []int64 // index in the epoch of each window's first sequence, then the total
}

// layOut computes the permutation and the window starts of an epoch.
func (o *order) layOut(epoch int64) {
	if o.epoch == epoch && o.perm != nil {
		return
	}
	o.epoch, o.perm = epoch, trainer.Permutation(o.key(epoch, -1), len(o.spans))
	o.starts = o.starts[:0]
	at := int64(0)
	for i, s := range o.perm {
		if i%o.window == 0 {
			o.starts = append(o.starts, at)
		}
		at += o.spans[s].count
	}
	o.starts = append(o.starts, at)
}

// windowSpans returns the spans of a window, as indexes of o.spans.
func (o *order) windowSpans(window int) []int32 {
	from := window * o.window
	return o.perm[from:min(from+o.window, len(o.perm))]
}

// key returns the generator key of one permutation, from seed, epoch and
// window; window is -1 for the permutation of the spans.
func (o *order) key(epoch, window int64) (key [32]byte) {
	binary.LittleEndian.PutUint64(key[0:], uint64(o.seed))
	binary.LittleEndian.PutUint64(key[8:], uint64(epoch))
	binary.LittleEndian.PutUint64(key[16:], uint64(window))
	return key
}
