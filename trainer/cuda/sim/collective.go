package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"pretext/trainer/cuda/ptx"
)

// together checks a collective instruction: all lanes of its mask (named) must execute it
// together, except lanes that have returned. Otherwise it raises a fault.
func (w *warp) together(in *instr, lanes, named uint32) {
	if lanes != named&w.live {
		w.fault(in, Divergent, bits.TrailingZeros32(lanes), "executed by lanes %08x, but its mask is %08x and lanes %08x have not returned", lanes, named, w.live)
	}
}

// member returns the lane mask of a collective instruction, which is its source
// operand with the given index. It raises a fault if the mask differs between lanes.
func (w *warp) member(in *instr, lanes uint32, source int) uint32 {
	mask := &w.w[in.s[source]]
	first := mask[bits.TrailingZeros32(lanes)]
	for l := range warpSize {
		if lanes>>l&1 == 1 && mask[l] != first {
			w.fault(in, Divergent, l, "the lane mask is %08x, but %08x in other lanes", mask[l], first)
		}
	}
	return first
}

func decodeFlow(p *program, in *instr, from *ptx.Instruction) error {
	if in.op == "ret" || in.op == "exit" {
		in.control = returns
		return nil
	}
	if (in.op != "bra" && in.op != "bra.uni") || len(from.Args) != 1 || from.Args[0].Kind != ptx.Symbol {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	to, ok := p.Labels[from.Args[0].Name]
	if !ok {
		return fmt.Errorf("the kernel has no label named %q", from.Args[0].Name)
	}
	in.control, in.target = branches, int32(to)
	return nil
}

func decodeBarrier(p *program, in *instr, from *ptx.Instruction) error {
	switch from.Op {
	case "bar.warp.sync":
		if len(from.Args) != 1 {
			return fmt.Errorf("operands of a barrier")
		}
		in.run = func(w *warp, in *instr, lanes uint32) {
			w.together(in, lanes, w.member(in, lanes, 0))
			w.syncs++
		}
		return p.reads(in, from.Args[0], words)
	case "bar.sync", "barrier.sync", "barrier.sync.aligned":
		if len(from.Args) != 1 || from.Args[0].Kind != ptx.Immediate || from.Args[0].Value != 0 {
			return fmt.Errorf("the simulator supports only barrier 0, for all threads of the block")
		}
		in.control = waits
		return nil
	}
	return fmt.Errorf("the simulator does not support %s", from.Op)
}

// decodeFence decodes fences. They have no effect here: a fence orders memory
// accesses but does not wait, so the race detector does not count it as a barrier.
func decodeFence(_ *program, in *instr, _ *ptx.Instruction) error {
	in.run = func(*warp, *instr, uint32) {}
	return nil
}

func decodeShuffle(p *program, in *instr, from *ptx.Instruction) error {
	parts := strings.Split(from.Op, ".")
	if len(parts) != 4 || parts[1] != "sync" || parts[3] != "b32" || len(from.Args) != 5 {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	source, ok := map[string]func(lane, b, c int) (int, bool){
		"bfly": func(lane, b, c int) (int, bool) { return lane ^ b, lane^b <= segment(lane, c)|c&31&^(c>>8&31) },
		"up":   func(lane, b, c int) (int, bool) { return lane - b, lane-b >= segment(lane, c) },
		"down": func(lane, b, c int) (int, bool) { return lane + b, lane+b <= segment(lane, c)|c&31&^(c>>8&31) },
		"idx": func(lane, b, c int) (int, bool) {
			j := segment(lane, c) | b&^(c>>8&31)
			return j, j <= segment(lane, c)|c&31&^(c>>8&31)
		},
	}[parts[2]]
	if !ok {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	in.run = func(w *warp, in *instr, lanes uint32) { w.shuffle(in, lanes, source) }
	dst := []ptx.Operand{from.Args[0]}
	if from.Args[0].Kind == ptx.Pair {
		dst = from.Args[0].Elements
	}
	for i, o := range dst {
		if err := p.sets(in, o, []bank{words, predicates}[i]); err != nil {
			return err
		}
	}
	return each(p.reads, in, from.Args[1:], words)
}

// segment returns the first lane of the segment that lane belongs to. c is the
// operand of shfl that holds the segment mask (bits 8 to 12) and the clamp value
// (bits 0 to 4).
func segment(lane, c int) int { return lane & (c >> 8 & 31) }

func (w *warp) shuffle(in *instr, lanes uint32, source func(lane, b, c int) (int, bool)) {
	w.together(in, lanes, w.member(in, lanes, 3))
	from, found := w.w[in.s[0]], uint32(0)
	for l := range warpSize {
		if lanes>>l&1 == 0 {
			continue
		}
		j, ok := source(l, int(w.w[in.s[1]][l]&31), int(w.w[in.s[2]][l]))
		if !ok {
			j = l
		} else {
			found |= 1 << l
		}
		if lanes>>j&1 == 0 {
			w.fault(in, Divergent, l, "reads a value from lane %d, which does not execute the shuffle", j)
		}
		w.w[in.d[0]][l] = from[j]
	}
	if len(in.d) == 2 {
		w.set(in.d[1], found, lanes)
	}
}

// acrossLanes holds the instructions that combine values of all lanes and whose operands are
// only registers and constants.
var acrossLanes = map[string]form{
	"activemask.b32":       {"w", func(w *warp, in *instr, lanes uint32) { w.spread(in, lanes, lanes) }},
	"vote.sync.ballot.b32": vote("wpw", func(w *warp, in *instr, v, lanes uint32) { w.spread(in, lanes, v) }),
	"vote.sync.any.pred": vote("ppw", func(w *warp, in *instr, v, lanes uint32) {
		w.set(in.d[0], -uint32(min(v, 1)), lanes)
	}),
	"vote.sync.all.pred": vote("ppw", func(w *warp, in *instr, v, lanes uint32) {
		w.set(in.d[0], -uint32(1-min(v^lanes, 1)), lanes)
	}),
	"redux.sync.add.s32": redux(func(a, b uint32) uint32 { return a + b }), "redux.sync.add.u32": redux(func(a, b uint32) uint32 { return a + b }),
	"redux.sync.max.u32": redux(func(a, b uint32) uint32 { return max(a, b) }), "redux.sync.min.u32": redux(func(a, b uint32) uint32 { return min(a, b) }),
}

// spread sets the destination of in to v in all given lanes.
func (w *warp) spread(in *instr, lanes, v uint32) {
	spread(&w.w[in.d[0]], lanes, v)
}

// vote returns the form of an instruction that calls f. lanes are the lanes that execute the
// instruction; v are the lanes among them whose predicate is true.
func vote(registers string, f func(w *warp, in *instr, v, lanes uint32)) form {
	return form{registers, func(w *warp, in *instr, lanes uint32) {
		w.together(in, lanes, w.member(in, lanes, 1))
		f(w, in, w.p[in.s[0]]&lanes, lanes)
	}}
}

// redux returns the form of an instruction that combines the values of all lanes by f.
func redux(f func(a, b uint32) uint32) form {
	return form{"www", func(w *warp, in *instr, lanes uint32) {
		w.together(in, lanes, w.member(in, lanes, 1))
		first := bits.TrailingZeros32(lanes)
		v := w.w[in.s[0]][first]
		for l := first + 1; l < warpSize; l++ {
			if lanes>>l&1 == 1 {
				v = f(v, w.w[in.s[0]][l])
			}
		}
		w.spread(in, lanes, v)
	}}
}

// decodePack decodes mov.b32 and mov.b64 that split a register into parts, or
// join parts into a register, such as mov.b32 {%rs1, %rs2}, %r1.
func decodePack(p *program, in *instr, from *ptx.Instruction) error {
	if len(from.Args) != 2 || (from.Op != "mov.b32" && from.Op != "mov.b64") {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	whole, width := words, uint32(16)
	if from.Op == "mov.b64" {
		whole, width = longs, 32
	}
	mask := uint64(1)<<width - 1
	switch a, b := from.Args[0], from.Args[1]; {
	case a.Kind == ptx.Vector && len(a.Elements) == 2:
		in.run = func(w *warp, in *instr, lanes uint32) {
			for l := range warpSize {
				if lanes>>l&1 == 1 {
					v := w.value(whole, in.s[0], l)
					w.w[in.d[0]][l], w.w[in.d[1]][l] = uint32(v&mask), uint32(v>>width&mask)
				}
			}
		}
		return errors.Join(each(p.sets, in, a.Elements, words), p.reads(in, b, whole))
	case b.Kind == ptx.Vector && len(b.Elements) == 2:
		in.run = func(w *warp, in *instr, lanes uint32) {
			for l := range warpSize {
				if lanes>>l&1 == 0 {
					continue
				}
				v := uint64(w.w[in.s[0]][l])&mask | uint64(w.w[in.s[1]][l])<<width
				if whole == longs {
					w.l[in.d[0]][l] = v
				} else {
					w.w[in.d[0]][l] = uint32(v)
				}
			}
		}
		return errors.Join(p.sets(in, a, whole), each(p.reads, in, b.Elements, words))
	}
	return fmt.Errorf("operands of a mov")
}

// value returns the value of register r in one lane, extended with zeros to 64 bits.
func (w *warp) value(b bank, r int32, lane int) uint64 {
	if b == longs {
		return w.l[r][lane]
	}
	return uint64(w.w[r][lane])
}

// decodeMatrixLoad decodes ldmatrix, which loads 1, 2 or 4 matrices of 8 rows of
// 16 bytes. Eight lanes hold the addresses of the rows of each matrix.
func decodeMatrixLoad(p *program, in *instr, from *ptx.Instruction) error {
	const head, tail = "ldmatrix.sync.aligned.m8n8.x", ".shared.b16"
	kind, ok := strings.CutPrefix(from.Op, head)
	if ok {
		kind, ok = strings.CutSuffix(kind, tail)
	}
	trans := strings.HasSuffix(kind, ".trans")
	n, known := map[string]int{"1": 1, "2": 2, "4": 4}[strings.TrimSuffix(kind, ".trans")]
	if !ok || !known || len(from.Args) != 2 || len(elements(from.Args[0])) != n {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	in.run = func(w *warp, in *instr, lanes uint32) { w.loadMatrices(in, lanes, trans) }
	return errors.Join(each(p.sets, in, elements(from.Args[0]), words), p.address(in, from.Args[1]))
}

func (w *warp) loadMatrices(in *instr, lanes uint32, trans bool) {
	w.together(in, lanes, full)
	addresses := w.addresses(in)
	var out [4][warpSize]uint32
	for j := range in.d {
		var rows [8][]byte
		var conflicts [8]uint64
		for r := range rows {
			at := addresses[8*j+r]
			rows[r] = w.shared(in, 8*j+r, at, 16, reads)
			conflicts[at/16%8]++
		}
		most := uint64(0)
		for _, n := range conflicts {
			most = max(most, n)
		}
		in.counts.Conflicts += most - 1
		for l := range warpSize {
			if trans {
				lo, hi := rows[l%4*2], rows[l%4*2+1]
				out[j][l] = uint32(binary.LittleEndian.Uint16(lo[l/4*2:])) | uint32(binary.LittleEndian.Uint16(hi[l/4*2:]))<<16
			} else {
				out[j][l] = binary.LittleEndian.Uint32(rows[l/4][l%4*4:])
			}
		}
	}
	for j, d := range in.d {
		w.w[d] = out[j]
	}
}

func decodeMMA(p *program, in *instr, from *ptx.Instruction) error {
	unpack, ok := map[string]func(v uint32) (lo, hi float32){
		"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": func(v uint32) (float32, float32) { return f32(v << 16), f32(v & 0xffff0000) },
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":   func(v uint32) (float32, float32) { return fromF16(v & 0xffff), fromF16(v >> 16) },
	}[from.Op]
	if !ok || len(from.Args) != 4 {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	for i, n := range []int{4, 4, 2, 4} {
		list := elements(from.Args[i])
		if len(list) != n {
			return fmt.Errorf("operand %d of mma has the wrong number of registers", i+1)
		}
		add := p.reads
		if i == 0 {
			add = p.sets
		}
		if err := each(add, in, list, words); err != nil {
			return err
		}
	}
	in.run = func(w *warp, in *instr, lanes uint32) {
		w.together(in, lanes, full)
		w.multiply(in, unpack)
	}
	return nil
}

// multiply executes mma.m16n8k16: D (16×8) = A (16×16) · B (16×8) + C. unpack converts a
// register to its two 16-bit floats. The PTX manual defines which lane holds which elements.
// Sums are in single precision; the hardware adds in another order (see truncatedSum).
func (w *warp) multiply(in *instr, unpack func(v uint32) (lo, hi float32)) {
	var a [16][16]float32
	var b [8][16]float32 // transposed
	for i := range 4 {
		x := &w.w[in.s[i]]
		for l := range warpSize {
			r, c := l/4+i%2*8, l%4*2+i/2*8
			a[r][c], a[r][c+1] = unpack(x[l])
		}
	}
	for i := range 2 {
		x := &w.w[in.s[4+i]]
		for l := range warpSize {
			k := l%4*2 + i*8
			b[l/4][k], b[l/4][k+1] = unpack(x[l])
		}
	}
	seed := w.block.device.options.Errors
	for i := range 2 { // rows 0 to 7, 8 to 15
		c0, c1, d0, d1 := &w.w[in.s[6+2*i]], &w.w[in.s[7+2*i]], &w.w[in.d[2*i]], &w.w[in.d[2*i+1]]
		for l := range warpSize {
			x, y, z := &a[l/4+8*i], &b[l%4*2], &b[l%4*2+1]
			if seed != 0 {
				d0[l], d1[l] = b32(truncatedSum(seed, f32(c0[l]), x, y)), b32(truncatedSum(seed, f32(c1[l]), x, z))
				continue
			}
			var s0, s1, t0, t1 float32
			for k := 0; k < 16; k += 2 {
				s0 += x[k] * y[k]
				s1 += x[k+1] * y[k+1]
				t0 += x[k] * z[k]
				t1 += x[k+1] * z[k+1]
			}
			d0[l], d1[l] = b32(f32(c0[l])+(s0+s1)), b32(f32(c1[l])+(t0+t1))
		}
	}
}
