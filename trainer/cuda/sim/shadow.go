package sim

import (
	"iter"
	"math/bits"
)

// A chunk is the shadow of chunkSize bytes.
type chunk struct {
	cells []cell // nil: none of the bytes was ever accessed
	grain int    // log2 of the bytes for each cell: the size of the smallest access so far, at most 16 bytes
}

const (
	chunkSize = 512
	maxGrain  = 4
)

// A cell records the last accesses to 1, 2, 4, 8 or 16 bytes of memory.
//
// Time is counted in intervals. The number of the current interval is increased when a block
// begins and when a block passes a barrier. Blocks run one after the other, so the interval
// of an access shows whether it happened in this launch, in this block, and since the last
// barrier of this block.
type cell struct {
	wrote   uint32 // interval of the last write; 0: never
	wSync   uint32 // number of __syncwarp that the last writer's warp had executed at that time
	read    uint32 // interval of the last read
	rSync   uint32 // number of __syncwarp that the last reader's warp had executed at that time
	readers uint32 // mask of the warps that read in the interval of the last read
	other   uint32 // interval of an earlier read by another block, or by work of another stream
	wThread uint16 // last writer
	rThread uint16 // last reader
	flags   uint8
}

const (
	atomicWrite  uint8 = 1 << iota // the last write was atomic
	asyncPending                   // a cp.async into the bytes was not yet waited for
	scratch                        // the last write was by a matrix product into its workspace; nobody may read the bytes
)

const byHost = 1 // interval of writes by the host

// host records that the host, or a copy inside of the device, wrote [at, at+n).
func (m *memory) host(at, n int) {
	for _, cells := range m.pieces(at, n) {
		for i := range cells {
			cells[i] = cell{wrote: byHost}
		}
	}
}

// written reports whether every byte of [at, at+n) was written at least once, and not as the
// workspace of a product since.
func (m *memory) written(at, n int) bool {
	for _, cells := range m.pieces(at, n) {
		for i := range cells {
			if cells[i].wrote == 0 || cells[i].flags&scratch != 0 {
				return false
			}
		}
	}
	return true
}

// pieces yields the cells of [at, at+n), chunk by chunk, with the offset of the first cell in
// each chunk.
func (m *memory) pieces(at, n int) iter.Seq2[int, []cell] {
	return func(yield func(int, []cell) bool) {
		for n > 0 {
			part := min(n, chunkSize-at%chunkSize)
			if !yield(at, m.cells(at, part)) {
				return
			}
			at, n = at+part, n-part
		}
	}
}

// cells returns the cells of [at, at+n), which must be in one chunk. It first divides the
// chunk's cells if none begins at at or ends at at+n.
func (m *memory) cells(at, n int) []cell {
	k := &m.shadow[at/chunkSize]
	if k.cells == nil || (at|n)&(1<<k.grain-1) != 0 {
		k.refine(at | n)
	}
	first := at % chunkSize
	return k.cells[first>>k.grain : (first+n)>>k.grain]
}

// refine divides cells until bytes is a multiple of the cells' size.
func (k *chunk) refine(bytes int) {
	if k.cells == nil {
		k.grain = min(maxGrain, bits.TrailingZeros(uint(bytes)))
		k.cells = make([]cell, chunkSize>>k.grain)
	}
	for bytes&(1<<k.grain-1) != 0 {
		k.grain--
		fine := make([]cell, chunkSize>>k.grain)
		for i := range fine {
			fine[i] = k.cells[i/2]
		}
		k.cells = fine
	}
}
