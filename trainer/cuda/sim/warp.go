package sim

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

const (
	warpSize = 32
	banks    = 32 // of shared memory
)

// A warp is 32 threads (lanes) that execute the same instruction together. After a branch
// that only some lanes take, the lanes with the smallest program counter run first, until
// they reach the other lanes. Compilers expect this order.
type warp struct {
	block *block
	id    int

	w [][warpSize]uint32 // registers of up to 32 bits, by lane
	l [][warpSize]uint64
	p []uint32 // predicate registers, one bit per lane

	exact [][warpSize]float64 // products without rounding; see program.contract

	isSet []uint32 // for each register, the mask of lanes that have set it; see program.place

	groups  []group // by rising pc; empty once all lanes have returned
	live    uint32  // mask of the lanes that have not returned
	syncs   uint32  // number of __syncwarp executed so far
	barrier int     // index of the barrier instruction at which the warp waits; -1: none
	copies  [warpSize]copyGroups
	near    *memory // allocation of the last access to global memory, tried first for the next

	at    [warpSize]uint64        // see addresses
	words [banks][warpSize]uint64 // see countConflicts
}

// A group is the set of lanes of a warp that are at the same instruction.
type group struct {
	pc   int
	mask uint32
}

func newWarp(p *program, id int) *warp {
	w := &warp{id: id, w: make([][warpSize]uint32, p.size[words]), l: make([][warpSize]uint64, p.size[longs]), p: make([]uint32, p.size[predicates]), exact: make([][warpSize]float64, p.exact)}
	w.isSet = make([]uint32, len(p.preset))
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

// launch prepares the warp for the blocks of a launch.
func (w *warp) launch(b *block) {
	w.block = b
	grid, dim := b.launched.Grid, b.launched.Block
	for name, f := range map[string]func(thread int) int{
		"%tid.x": func(t int) int { return t % dim.X }, "%tid.y": func(t int) int { return t / dim.X % dim.Y }, "%tid.z": func(t int) int { return t / (dim.X * dim.Y) },
		"%ntid.x": func(int) int { return dim.X }, "%ntid.y": func(int) int { return dim.Y }, "%ntid.z": func(int) int { return dim.Z },
		"%nctaid.x": func(int) int { return grid.X }, "%nctaid.y": func(int) int { return grid.Y }, "%nctaid.z": func(int) int { return grid.Z },
		"%laneid": func(t int) int { return t % warpSize }, "%warpid": func(t int) int { return t / warpSize },
	} {
		w.fill(name, f)
	}
}

// fill sets a special register: each lane gets the result of f for its thread.
func (w *warp) fill(name string, f func(thread int) int) {
	r := &w.w[w.block.program.named[name].index]
	for l := range r {
		r[l] = uint32(f(w.id*warpSize + l))
	}
}

// start resets the warp for a new block with the given number of threads.
func (w *warp) start(threads int) {
	b := w.block
	copy(w.isSet, b.program.preset)
	w.fill("%ctaid.x", func(int) int { return b.at.X })
	w.fill("%ctaid.y", func(int) int { return b.at.Y })
	w.fill("%ctaid.z", func(int) int { return b.at.Z })
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

// done reports whether all lanes of the warp have returned.
func (w *warp) done() bool { return len(w.groups) == 0 }

// run executes about n instructions, or fewer if the warp reaches a barrier or
// ends.
func (w *warp) run(n int) {
	for !w.done() && w.barrier < 0 && n > 0 {
		n -= w.runGroup(n)
		w.merge()
	}
}

// runGroup executes about most instructions of the group with the smallest program counter,
// and returns the number executed. It stops earlier if the group reaches another group,
// splits at a branch, waits at a barrier or returns.
func (w *warp) runGroup(most int) int {
	code := w.block.program.code
	meet := math.MaxInt
	if len(w.groups) > 1 {
		meet = w.groups[1].pc
	}
	pc, mask := w.groups[0].pc, w.groups[0].mask
	n := 0
	for mask != 0 && pc < meet && n < most {
		if pc >= len(code) { // the end of the code acts as ret
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
			if have := w.isSet[in.guardSet]; mask&^have != 0 {
				w.fault(in, UnsetRegister, bits.TrailingZeros32(mask&^have), "the guard predicate was never set")
			}
			lanes &= v
		}
		pc++
		if in.control == straight {
			if lanes != 0 {
				w.checkSet(in, lanes)
				in.run(w, in, lanes)
				for _, d := range in.defsSet {
					w.isSet[d] |= lanes
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
				meet = min(meet, pc) // stop: another group may now have the smallest pc
			}
		case returns:
			w.live &^= lanes
			mask &^= lanes
		case waits:
			if lanes != w.live || mask != lanes {
				w.fault(in, Divergent, 0, "barrier reached by lanes %08x, but lanes %08x have not returned", lanes, w.live)
			}
			w.barrier = pc - 1
			meet = 0
		}
	}
	w.groups[0] = group{pc, mask}
	return n
}

// checkSet raises a fault if an instruction reads a register that was never set in
// one of the given lanes.
func (w *warp) checkSet(in *instr, lanes uint32) {
	for _, u := range in.usesSet {
		if have := w.isSet[u]; have&lanes != lanes {
			w.fault(in, UnsetRegister, bits.TrailingZeros32(lanes&^have), "a source register was never set")
		}
	}
}

// merge sorts the groups by pc, removes empty groups, and joins groups with equal
// pc.
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
