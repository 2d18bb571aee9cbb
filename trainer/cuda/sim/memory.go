package sim

import "fmt"

// A memory is an allocation of global memory, or the shared memory of a block. It
// has a shadow: for each small group of bytes, a cell records the last accesses.
type memory struct {
	name  string
	base  uint64
	data  []byte
	cells []cell
	grain int // log2 of the bytes that a cell stands for: the size of the smallest access so far, at most 4 bytes
}

// A cell records the last accesses to 1, 2 or 4 bytes of memory.
//
// Time is counted in intervals. The current interval is a number that grows when a
// block begins and when a block passes a barrier. Blocks run one after the other,
// so the interval of an access shows whether it happened in this launch, in this
// block, and since the last barrier of this block.
type cell struct {
	wrote   uint32 // interval of the last write; 0: never
	wSync   uint32 // how many __syncwarp the warp of the last writer had executed by then
	read    uint32 // interval of the last read
	rSync   uint32 // how many __syncwarp the warp of the last reader had executed by then
	readers uint32 // mask of the warps that read in the interval of the last read
	other   uint32 // interval of an earlier read by another block, or by work of another stream
	wThread uint16 // last writer
	rThread uint16 // last reader
	flags   uint8
}

const (
	atomicWrite  uint8 = 1 << iota // the last write was atomic
	asyncPending                   // a cp.async into the bytes was not yet waited for
)

const (
	maxGrain = 2 // log2 of 4 bytes, the size of most accesses
	byHost   = 1 // interval of writes by the host
)

func newMemory(name string, base uint64, size int) *memory {
	m := &memory{name: name, base: base, data: make([]byte, size), grain: maxGrain}
	m.cells = make([]cell, (size+3)>>maxGrain)
	m.poison()
	return m
}

// poison fills m with bytes that are NaN in every floating-point type.
func (m *memory) poison() {
	for i := range m.data {
		m.data[i] = 0xff
	}
}

// host records that the host, or a copy inside of the device, wrote [at, at+n).
func (m *memory) host(at, n int) {
	m.refine(at, n)
	for i := at >> m.grain; i < (at+n+1<<m.grain-1)>>m.grain; i++ {
		m.cells[i] = cell{wrote: byHost}
	}
}

// written reports whether every byte of [at, at+n) was written at least once.
func (m *memory) written(at, n int) bool {
	for i := at >> m.grain; i < (at+n+1<<m.grain-1)>>m.grain; i++ {
		if m.cells[i].wrote == 0 {
			return false
		}
	}
	return true
}

// refine halves all cells until [at, at+n) begins and ends at borders of cells.
func (m *memory) refine(at, n int) {
	for m.grain > 0 && (at|n)&(1<<m.grain-1) != 0 {
		m.grain--
		fine := make([]cell, (len(m.data)+1<<m.grain-1)>>m.grain)
		for i := range fine {
			fine[i] = m.cells[i/2]
		}
		m.cells = fine
	}
}

// An access is the way in which an instruction accesses memory.
type access uint8

const (
	reads access = iota
	writes
	updates // atomic read and write
	copies  // write by cp.async, which is finished once it was waited for
)

// touch records in the shadow that a lane accesses the n bytes at offset at, which
// must be inside of m. It raises a fault for a race, for a read of bytes that were
// never written, and for bytes of a pending cp.async.
func (m *memory) touch(w *warp, in *instr, lane, at, n int, how access) {
	if (at|n)&(1<<m.grain-1) != 0 {
		m.refine(at, n)
	}
	cells := m.cells[at>>m.grain : (at+n)>>m.grain]
	b := w.block
	me := uint16(w.id*warpSize + lane)
	for i := range cells {
		c := &cells[i]
		if c.flags&asyncPending != 0 && c.wrote >= b.first {
			w.fault(in, AsyncPending, lane, "%s: a copy by thread %d is under way", m.place(at), c.wThread)
		}
		if how == reads {
			if c.wrote == 0 {
				w.fault(in, Unwritten, lane, "%s, %d bytes", m.place(at), n)
			}
			if c.wrote >= b.unordered {
				m.afterWrite(w, in, lane, at, c)
			}
			if c.read != b.interval {
				// Keep the previous read if its work may run at the same time as this work.
				if c.read < b.first && (c.read >= b.launch || c.other < b.unordered) {
					c.other = c.read
				}
				c.read, c.readers = b.interval, 0
			}
			c.readers |= 1 << w.id
			c.rThread, c.rSync = me, w.syncs
			continue
		}
		if how == updates && c.wrote == 0 {
			w.fault(in, Unwritten, lane, "%s is updated", m.place(at))
		}
		if c.wrote >= b.unordered && !(how == updates && c.flags&atomicWrite != 0) {
			m.afterWrite(w, in, lane, at, c)
		}
		if c.read >= b.unordered || c.other >= b.unordered {
			m.afterRead(w, in, lane, at, c)
		}
		c.wrote, c.wSync, c.wThread, c.flags = b.interval, w.syncs, me, 0
		switch how {
		case updates:
			c.flags = atomicWrite
		case copies:
			c.flags = asyncPending
		}
	}
}

// afterWrite raises a fault if an access to c races with the last write to c. That
// write happened during this launch, or in work that may run at the same time.
func (m *memory) afterWrite(w *warp, in *instr, lane, at int, c *cell) {
	b := w.block
	switch writer := int(c.wThread); {
	case c.wrote < b.launch:
		m.besideOther(w, in, lane, at, c.wrote)
	case c.wrote < b.first:
		w.fault(in, RaceInGrid, lane, "%s was written by thread %d of block %d", m.place(at), writer, b.blockOf(c.wrote))
	case c.wrote < b.interval: // a barrier is between
	case writer/warpSize != w.id:
		w.fault(in, RaceInBlock, lane, "%s was written by thread %d, no barrier between", m.place(at), writer)
	case writer%warpSize != lane && c.wSync == w.syncs:
		w.fault(in, RaceInWarp, lane, "%s was written by thread %d, no __syncwarp between", m.place(at), writer)
	}
}

// besideOther raises a fault if the interval, which is before this launch, belongs
// to work of another stream that may run at the same time as this launch.
func (m *memory) besideOther(w *warp, in *instr, lane, at int, interval uint32) {
	if other := w.block.device.conflict(interval); other != nil {
		w.fault(in, RaceInStreams, lane, "%s: %s in another stream", m.place(at), other.name)
	}
}

// afterRead raises a fault if a write to c races with earlier reads of c. They
// happened during this launch, or in work that may run at the same time.
func (m *memory) afterRead(w *warp, in *instr, lane, at int, c *cell) {
	b := w.block
	m.besideOther(w, in, lane, at, c.read)
	m.besideOther(w, in, lane, at, c.other)
	switch {
	case c.read >= b.launch && c.read < b.first:
		w.fault(in, RaceInGrid, lane, "%s was read by block %d", m.place(at), b.blockOf(c.read))
	case c.other >= b.launch && c.other < b.first:
		w.fault(in, RaceInGrid, lane, "%s was read by block %d", m.place(at), b.blockOf(c.other))
	case c.read == b.interval && c.readers&^(1<<w.id) != 0:
		w.fault(in, RaceInBlock, lane, "%s was read by warps %b, no barrier between", m.place(at), c.readers&^(1<<w.id))
	case c.read == b.interval && int(c.rThread) != w.id*warpSize+lane && int(c.rThread)/warpSize == w.id && c.rSync == w.syncs:
		w.fault(in, RaceInWarp, lane, "%s was read by thread %d, no __syncwarp between", m.place(at), c.rThread)
	}
}

// landed records that a cp.async of a lane into [at, at+n) was waited for.
func (m *memory) landed(w *warp, lane, at, n int) {
	for i := at >> m.grain; i < (at+n)>>m.grain; i++ {
		c := &m.cells[i]
		c.flags &^= asyncPending
		c.wrote, c.wSync, c.wThread = w.block.interval, w.syncs, uint16(w.id*warpSize+lane)
	}
}

// place returns the name of m and an offset as text, such as "weights[300]".
func (m *memory) place(at int) string { return fmt.Sprintf("%s[%d]", m.name, at) }
