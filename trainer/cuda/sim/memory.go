package sim

import "fmt"

// A memory is an allocation of global memory, or the shared memory of a block,
// with a shadow: one cell for every grain of it says who touched it last.
type memory struct {
	name  string
	base  uint64
	data  []byte
	cells []cell
	grain int // log2 of the bytes of a cell: as fine as the finest access so far, at most 4 bytes
}

// A cell is the shadow of one grain.
//
// Time is counted in intervals: a number that grows with every block that begins
// and with every barrier of it. Blocks run one after the other, so the interval
// alone tells whether something happened in this launch, in this block, and
// since its last barrier.
type cell struct {
	wrote   uint32 // interval of the last write; 0: never
	wSync   uint32 // count of __syncwarp of the writer's warp at that time
	read    uint32 // interval of the last read
	rSync   uint32 // as wSync, of the last reader
	readers uint32 // warps that read in that interval
	other   uint32 // interval of a read by another block or other work before it
	wThread uint16
	rThread uint16
	flags   uint8
}

const (
	atomicWrite  uint8 = 1 << iota // the last write was atomic
	asyncPending                   // a cp.async into it is under way
)

const (
	maxGrain = 2 // log2 of 4 bytes: what registers are mostly moved by
	byHost   = 1 // the interval of what the host wrote
)

func newMemory(name string, base uint64, size int) *memory {
	m := &memory{name: name, base: base, data: make([]byte, size), grain: maxGrain}
	m.cells = make([]cell, (size+3)>>maxGrain)
	m.poison()
	return m
}

// poison fills m with bytes that are NaN in every type.
func (m *memory) poison() {
	for i := range m.data {
		m.data[i] = 0xff
	}
}

// host notes that the host, or the device's own copy, wrote [at, at+n).
func (m *memory) host(at, n int) {
	m.refine(at, n)
	for i := at >> m.grain; i < (at+n+1<<m.grain-1)>>m.grain; i++ {
		m.cells[i] = cell{wrote: byHost}
	}
}

// written reports whether all of [at, at+n) was ever written.
func (m *memory) written(at, n int) bool {
	for i := at >> m.grain; i < (at+n+1<<m.grain-1)>>m.grain; i++ {
		if m.cells[i].wrote == 0 {
			return false
		}
	}
	return true
}

// refine splits cells until [at, at+n) is made of whole ones.
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

// An access is how an instruction touches memory.
type access uint8

const (
	reads access = iota
	writes
	updates // atomically
	copies  // cp.async: written when it was waited for
)

// touch checks an access of a lane to n bytes at an offset, which are inside of
// m, and notes it.
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
				// A reader that may run beside this work must not be forgotten.
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

// afterWrite checks an access to a cell that was written during this launch, or by
// work that may run beside it.
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

// besideOther checks an access to a cell that was touched at an interval before
// this launch.
func (m *memory) besideOther(w *warp, in *instr, lane, at int, interval uint32) {
	if other := w.block.device.conflict(interval); other != nil {
		w.fault(in, RaceInStreams, lane, "%s: %s in another stream", m.place(at), other.name)
	}
}

// afterRead checks a write to a cell that was read during this launch, or by work
// that may run beside it.
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

// landed ends a cp.async of a lane into [at, at+n).
func (m *memory) landed(w *warp, lane, at, n int) {
	for i := at >> m.grain; i < (at+n)>>m.grain; i++ {
		c := &m.cells[i]
		c.flags &^= asyncPending
		c.wrote, c.wSync, c.wThread = w.block.interval, w.syncs, uint16(w.id*warpSize+lane)
	}
}

func (m *memory) place(at int) string { return fmt.Sprintf("%s[%d]", m.name, at) }
