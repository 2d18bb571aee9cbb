package sim

// An access is the way in which an instruction accesses memory.
type access uint8

const (
	reads access = iota
	writes
	updates // atomic read and write
	copies  // write by cp.async, which is complete once the lane has waited for it
)

// touch records in the shadow that a lane accesses the n bytes at offset at, which must be
// inside of m. It raises a fault for a race, for a read of bytes that were never written, and
// for bytes of a pending cp.async.
func (m *memory) touch(w *warp, in *instr, lane, at, n int, how access) {
	m.touchCells(w, in, m.cells(at, n), place{lane, at, n}, how)
}

// touchRow is touch for all lanes of a warp, which access n adjacent bytes each from the offset
// at, a multiple of n, in the order of the lanes.
func (m *memory) touchRow(w *warp, in *instr, at, n int, how access) {
	for lane := 0; lane < warpSize; {
		part := min(warpSize-lane, (chunkSize-at%chunkSize)/n) // lanes whose bytes are in this chunk
		k := &m.shadow[at/chunkSize]
		if k.cells == nil || (at|n)&(1<<k.grain-1) != 0 {
			k.refine(at | n)
		}
		first := at % chunkSize
		m.touchCells(w, in, k.cells[first>>k.grain:(first+part*n)>>k.grain], place{lane, at, n}, how)
		lane, at = lane+part, at+part*n
	}
}

// touchCells records an access to cells of one chunk, by the lane of p and those after it, each
// to as many bytes as p has; p is the place of the first. Usually all earlier accesses are
// complete (see [block.past]); for the other cases it calls beforeRead and beforeWrite.
func (m *memory) touchCells(w *warp, in *instr, cells []cell, p place, how access) {
	b := w.block
	if m != b.shared {
		in.counts.moved(cells, 1<<m.shadow[p.at/chunkSize].grain, b.launch, how)
	}
	each := p.n >> m.shadow[p.at/chunkSize].grain // cells of a lane
	for ; len(cells) > 0; cells = cells[each:] {
		if how == reads {
			m.touchRead(w, in, cells[:each], p)
		} else {
			m.touchWrite(w, in, cells[:each], p, how)
		}
		p.lane, p.at = p.lane+1, p.at+p.n
	}
}

// touchRead records that the cells of p are read.
func (m *memory) touchRead(w *warp, in *instr, cells []cell, p place) {
	b, me, mine := w.block, uint16(w.id*warpSize+p.lane), uint32(1)<<w.id
	for i := range cells {
		c := &cells[i]
		if c.wrote == 0 || c.flags&(asyncPending|scratch) != 0 || !b.past(c.wrote) {
			m.beforeRead(w, in, p, c)
		}
		if c.read != b.interval {
			// Keep the previous read if its work may run at the same time as this work.
			if c.read < b.first && (c.read >= b.launch || c.other < b.unordered) {
				c.other = c.read
			}
			c.read, c.readers = b.interval, 0
		}
		c.readers |= mine
		c.rThread, c.rSync = me, w.syncs
	}
}

// touchWrite records that the cells of p are written.
func (m *memory) touchWrite(w *warp, in *instr, cells []cell, p place, how access) {
	b, me, mine := w.block, uint16(w.id*warpSize+p.lane), uint32(1)<<w.id
	flags := [...]uint8{writes: 0, updates: atomicWrite, copies: asyncPending}[how]
	for i := range cells {
		c := &cells[i]
		again := c.read == b.interval && c.rThread == me && c.readers == mine
		if how != writes || c.flags != 0 || !b.past(c.wrote) || !again && !b.past(c.read) || !b.past(c.other) {
			m.beforeWrite(w, in, p, c, how)
		}
		c.wrote, c.wSync, c.wThread, c.flags = b.interval, w.syncs, me, flags
	}
}

// A place is where a lane accesses memory: n bytes at offset at.
type place struct{ lane, at, n int }

// beforeRead raises a fault if p must not be read. c is a cell of p.
func (m *memory) beforeRead(w *warp, in *instr, p place, c *cell) {
	m.renew(w.block, c)
	switch {
	case c.flags&asyncPending != 0 && c.wrote >= w.block.first:
		w.fault(in, AsyncPending, p.lane, "%s: a copy by thread %d is under way", m.place(p.at), c.wThread)
	case c.flags&scratch != 0:
		w.fault(in, Unwritten, p.lane, "%s, %d bytes: a matrix product used them as its workspace", m.place(p.at), p.n)
	case c.wrote == 0:
		w.fault(in, Unwritten, p.lane, "%s, %d bytes", m.place(p.at), p.n)
	case c.wrote >= w.block.unordered:
		m.afterWrite(w, in, p, c)
	}
}

// beforeWrite raises a fault if p must not be written. c is a cell of p.
func (m *memory) beforeWrite(w *warp, in *instr, p place, c *cell, how access) {
	b := w.block
	m.renew(b, c)
	if c.flags&asyncPending != 0 && c.wrote >= b.first {
		w.fault(in, AsyncPending, p.lane, "%s: a copy by thread %d is under way", m.place(p.at), c.wThread)
	}
	if how == updates && (c.wrote == 0 || c.flags&scratch != 0) {
		w.fault(in, Unwritten, p.lane, "%s is updated", m.place(p.at))
	}
	if c.wrote >= b.unordered && !(how == updates && c.flags&atomicWrite != 0) {
		m.afterWrite(w, in, p, c)
	}
	if c.read >= b.unordered || c.other >= b.unordered {
		m.afterRead(w, in, p, c)
	}
}

// renew resets a cell of shared memory that an earlier block of the launch accessed, because
// the shared memory of a new block is unwritten.
func (m *memory) renew(b *block, c *cell) {
	if m == b.shared && c.wrote < b.first && c.read < b.first {
		*c = cell{}
	}
}

// afterWrite raises a fault if an access to c races with the last write to c. That
// write happened during this launch, or in work that may run at the same time.
func (m *memory) afterWrite(w *warp, in *instr, p place, c *cell) {
	b := w.block
	switch writer := int(c.wThread); {
	case c.wrote < b.launch:
		m.besideOther(w, in, p, c.wrote)
	case c.wrote < b.first:
		w.fault(in, RaceInGrid, p.lane, "%s was written by thread %d of block %d", m.place(p.at), writer, b.blockOf(c.wrote))
	case c.wrote < b.interval: // a barrier is between the two accesses
	case writer/warpSize != w.id:
		w.fault(in, RaceInBlock, p.lane, "%s was written by thread %d, no barrier between", m.place(p.at), writer)
	case writer%warpSize != p.lane && c.wSync == w.syncs:
		w.fault(in, RaceInWarp, p.lane, "%s was written by thread %d, no __syncwarp between", m.place(p.at), writer)
	}
}

// besideOther raises a fault if the interval, which is before this launch, belongs
// to work of another stream that may run at the same time as this launch.
func (m *memory) besideOther(w *warp, in *instr, p place, interval uint32) {
	d := w.block.device
	if other := d.conflict(interval); other != nil {
		w.fault(in, RaceInStreams, p.lane, "%s: %s in another stream", m.place(p.at), other.name)
	}
	w.block.calm = d.looked
}

// afterRead raises a fault if a write to c races with earlier reads of c. They
// happened during this launch, or in work that may run at the same time.
func (m *memory) afterRead(w *warp, in *instr, p place, c *cell) {
	b := w.block
	m.besideOther(w, in, p, c.read)
	m.besideOther(w, in, p, c.other)
	switch {
	case c.read >= b.launch && c.read < b.first:
		w.fault(in, RaceInGrid, p.lane, "%s was read by block %d", m.place(p.at), b.blockOf(c.read))
	case c.other >= b.launch && c.other < b.first:
		w.fault(in, RaceInGrid, p.lane, "%s was read by block %d", m.place(p.at), b.blockOf(c.other))
	case c.read == b.interval && c.readers&^(1<<w.id) != 0:
		w.fault(in, RaceInBlock, p.lane, "%s was read by warps %b, no barrier between", m.place(p.at), c.readers&^(1<<w.id))
	case c.read == b.interval && int(c.rThread) != w.id*warpSize+p.lane && int(c.rThread)/warpSize == w.id && c.rSync == w.syncs:
		w.fault(in, RaceInWarp, p.lane, "%s was read by thread %d, no __syncwarp between", m.place(p.at), c.rThread)
	}
}

// landed records that a lane has waited for its cp.async into [at, at+n).
func (m *memory) landed(w *warp, lane, at, n int) {
	cells := m.cells(at, n)
	for i := range cells {
		c := &cells[i]
		c.flags &^= asyncPending
		c.wrote, c.wSync, c.wThread = w.block.interval, w.syncs, uint16(w.id*warpSize+lane)
	}
}
