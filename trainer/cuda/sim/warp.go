package sim

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const warpSize = 32

// A warp is 32 threads that run in step. Where they part, those that are
// furthest behind run first until they meet the others, as compilers expect.
type warp struct {
	block *block
	id    int

	w [][warpSize]uint32 // registers of up to 32 bits
	l [][warpSize]uint64
	p []uint32 // predicates, a bit a lane

	isSet [3][]uint32 // by bank: lanes in which a register was set

	groups  []group // by rising pc; none when all have returned
	live    uint32  // lanes that have not returned
	syncs   uint32  // __syncwarp so far
	barrier int     // instruction of the barrier at which the warp waits; -1: it does not
	copies  [warpSize]copyGroups
	near    *memory // allocation of the last access
}

// A group is lanes at the same instruction.
type group struct {
	pc   int
	mask uint32
}

func newWarp(b *block, id int) *warp {
	p := b.program
	w := &warp{block: b, id: id, w: make([][warpSize]uint32, p.size[words]), l: make([][warpSize]uint64, p.size[longs]), p: make([]uint32, p.size[predicates])}
	for i := range w.isSet {
		w.isSet[i] = make([]uint32, p.size[i])
	}
	for v, r := range p.constants[words] {
		for l := range w.w[r] {
			w.w[r][l] = uint32(v)
		}
	}
	for v, r := range p.constants[longs] {
		for l := range w.l[r] {
			w.l[r][l] = v
		}
	}
	return w
}

// start makes the warp ready for a block of threads.
func (w *warp) start(threads int) {
	p, b := w.block.program, w.block
	for i := range w.isSet {
		clear(w.isSet[i])
	}
	for i, bank := range p.constants {
		for _, r := range bank {
			w.isSet[i][r] = full
		}
	}
	grid, dim, at := b.launched.Grid, b.launched.Block, b.at
	values := map[string]func(thread int) int{
		"%tid.x": func(t int) int { return t % dim.X }, "%tid.y": func(t int) int { return t / dim.X % dim.Y }, "%tid.z": func(t int) int { return t / (dim.X * dim.Y) },
		"%ntid.x": func(int) int { return dim.X }, "%ntid.y": func(int) int { return dim.Y }, "%ntid.z": func(int) int { return dim.Z },
		"%ctaid.x": func(int) int { return at.X }, "%ctaid.y": func(int) int { return at.Y }, "%ctaid.z": func(int) int { return at.Z },
		"%nctaid.x": func(int) int { return grid.X }, "%nctaid.y": func(int) int { return grid.Y }, "%nctaid.z": func(int) int { return grid.Z },
		"%laneid": func(t int) int { return t % warpSize }, "%warpid": func(t int) int { return t / warpSize },
	}
	for name, f := range values {
		r := p.named[name]
		w.isSet[words][r.index] = full
		for l := range warpSize {
			w.w[r.index][l] = uint32(f(w.id*warpSize + l))
		}
	}
	w.live = full
	if left := threads - w.id*warpSize; left < warpSize {
		w.live = 1<<left - 1
	}
	w.groups = append(w.groups[:0], group{0, w.live})
	w.barrier, w.near = -1, nil
	for i := range w.copies {
		w.copies[i] = copyGroups{pending: w.copies[i].pending[:0]}
	}
}

// done reports whether all lanes have returned.
func (w *warp) done() bool { return len(w.groups) == 0 }

// run executes up to about n instructions: it returns at a barrier and at the
// end too.
func (w *warp) run(n int) {
	for !w.done() && w.barrier < 0 && n > 0 {
		n -= w.runGroup(n)
		w.merge()
	}
}

// runGroup executes the group that is furthest behind until it meets the next,
// parts, waits or returns, and returns the number of instructions.
func (w *warp) runGroup(most int) int {
	code := w.block.program.code
	meet := math.MaxInt
	if len(w.groups) > 1 {
		meet = w.groups[1].pc
	}
	pc, mask := w.groups[0].pc, w.groups[0].mask
	n := 0
	for mask != 0 && pc < meet && n < most {
		if pc >= len(code) { // past the last instruction: as ret
			w.live &^= mask
			mask = 0
			break
		}
		n++
		in := &code[pc]
		in.counts.Instructions++
		lanes := mask
		if in.guard >= 0 {
			v := w.p[in.guard]
			if in.negate {
				v = ^v
			}
			if mask&^w.isSet[predicates][in.guard] != 0 {
				w.fault(in, UnsetRegister, bits.TrailingZeros32(mask&^w.isSet[predicates][in.guard]), "the guard was never set")
			}
			lanes &= v
		}
		pc++
		if in.control == straight {
			if lanes != 0 {
				w.checkSet(in, lanes)
				in.run(w, in, lanes)
				for _, d := range in.defs {
					w.isSet[d.bank][d.index] |= lanes
				}
			}
			continue
		}
		switch in.control {
		case branches:
			switch lanes {
			case 0:
			case mask:
				pc = int(in.target)
			default:
				w.groups = append(w.groups, group{int(in.target), lanes})
				mask &^= lanes
				meet = min(meet, pc) // look who is behind now
			}
		case returns:
			w.live &^= lanes
			mask &^= lanes
		case waits:
			if lanes != w.live || mask != lanes {
				w.fault(in, Divergent, 0, "barrier reached by lanes %08x of the live %08x", lanes, w.live)
			}
			w.barrier = pc - 1
			meet = 0
		}
	}
	w.groups[0] = group{pc, mask}
	return n
}

// checkSet checks that what an instruction reads was set in the lanes of a mask.
func (w *warp) checkSet(in *instr, lanes uint32) {
	for _, u := range in.uses {
		if have := w.isSet[u.bank][u.index]; have&lanes != lanes {
			w.fault(in, UnsetRegister, bits.TrailingZeros32(lanes&^have), "a source was never set")
		}
	}
}

// merge sorts the groups, drops empty ones and joins those that met.
func (w *warp) merge() {
	if len(w.groups) == 1 {
		if w.groups[0].mask == 0 {
			w.groups = w.groups[:0]
		}
		return
	}
	slices.SortFunc(w.groups, func(a, b group) int { return cmp.Compare(a.pc, b.pc) })
	out := w.groups[:0]
	for _, g := range w.groups {
		switch n := len(out); {
		case g.mask == 0:
		case n > 0 && out[n-1].pc == g.pc:
			out[n-1].mask |= g.mask
		default:
			out = append(out, g)
		}
	}
	w.groups = out
}
