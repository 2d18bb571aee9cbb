package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"pretext/trainer/cuda/ptx"
)

// decoders holds the decoding functions of all instructions that are not in
// forms, by the first part of the opcode ("ld" for "ld.global.f32").
var decoders = map[string]func(p *program, in *instr, from *ptx.Instruction) error{
	"ld": decodeLoad, "st": decodeStore, "atom": decodeAtomic, "red": decodeAtomic, "cp": decodeCopy,
	"bra": decodeFlow, "ret": decodeFlow, "exit": decodeFlow, "bar": decodeBarrier, "barrier": decodeBarrier, "membar": decodeFence, "fence": decodeFence,
	"shfl": decodeShuffle, "ldmatrix": decodeMatrixLoad, "mma": decodeMMA,
	"mov": decodePack,
}

// elementType is the operand type that an opcode ends in, such as .f32.
type elementType struct {
	bank   bank
	size   int // bytes
	signed bool
}

// typeOf returns the operand type of an opcode: for "ld.global.s16", 2 signed
// bytes in a 32-bit register.
func typeOf(op string) (elementType, error) {
	t := op[strings.LastIndexByte(op, '.')+1:]
	n, err := strconv.Atoi(strings.TrimLeft(t, "busf"))
	if err != nil || n < 8 || n > 64 || n&(n-1) != 0 {
		return elementType{}, fmt.Errorf("operand type %q is not supported", t)
	}
	e := elementType{size: n / 8, signed: t[0] == 's'}
	if n == 64 {
		e.bank = longs
	}
	return e, nil
}

// Flags in instr.extra of loads and stores. The first two apply to values that are smaller
// than the register.
const (
	toLong   = 1 << 17 // the destination registers have 64 bits
	withSign = 1 << 18 // extend the sign to the width of the register; otherwise extend with zeros
	inShared = 1 << 19 // a load or a store of shared memory; otherwise of global memory
)

// space returns the state space in an opcode: "global" for "ld.global.f32"; "" if there is
// none.
func space(op string) string {
	for _, part := range strings.Split(op, ".") {
		switch part {
		case "global", "shared", "param", "local", "const":
			return part
		}
	}
	return ""
}

// memoryAccess decodes the common properties of loads, stores and atomics: the type of an
// element, and the state space, which must be one of spaces. It returns both.
func memoryAccess(in *instr, from *ptx.Instruction, operands int, spaces ...string) (e elementType, where string, err error) {
	e, err = typeOf(from.Op)
	where = space(from.Op)
	switch {
	case err != nil:
	case len(from.Args) != operands:
		err = fmt.Errorf("%d operands, want %d", len(from.Args), operands)
	case !slices.Contains(spaces, where):
		err = fmt.Errorf("state space %q is not supported; want %s", where, strings.Join(spaces, " or "))
	}
	in.size = e.size
	if where == "shared" {
		in.extra |= inShared
	}
	return e, where, err
}

func decodeLoad(p *program, in *instr, from *ptx.Instruction) error {
	e, where, err := memoryAccess(in, from, 2, "param", "global", "shared")
	if err != nil {
		return err
	}
	for _, o := range elements(from.Args[0]) {
		b := e.bank
		if r, ok := p.named[o.Name]; ok && r.bank == longs && e.bank == words { // a register may be wider than the loaded value
			b, in.extra = longs, in.extra|toLong
		}
		if err := p.sets(in, o, b); err != nil {
			return err
		}
	}
	if e.signed {
		in.extra |= withSign
	}
	if where != "param" {
		in.run = loadLanes
		return p.address(in, from.Args[1])
	}
	v, ok := p.params[from.Args[1].Name]
	if !ok {
		return fmt.Errorf("the kernel has no parameter named %q", from.Args[1].Name)
	}
	in.offset = int64(v.Offset) + from.Args[1].Offset
	if in.offset < int64(v.Offset) || int(in.offset)+e.size*len(in.d) > v.Offset+v.Size {
		return fmt.Errorf("load of %d bytes at offset %d is outside of parameter %s, which has %d bytes", e.size*len(in.d), from.Args[1].Offset, v.Name, v.Size)
	}
	in.run = func(w *warp, in *instr, lanes uint32) {
		w.loadAll(in, lanes, w.block.args[in.offset:])
	}
	return nil
}

func decodeStore(p *program, in *instr, from *ptx.Instruction) error {
	e, _, err := memoryAccess(in, from, 2, "global", "shared")
	if err != nil {
		return err
	}
	in.run = storeLanes
	return errors.Join(p.address(in, from.Args[0]), each(p.reads, in, elements(from.Args[1]), e.bank))
}

// global returns the n bytes of global memory at the address at. how is the kind of access.
// It raises a fault if the lane may not access these bytes: because they are out of bounds
// or misaligned, or because of a race.
func (w *warp) global(in *instr, lane int, at uint64, n int, how access) []byte {
	m := w.near
	if m == nil || !m.holds(at, n) {
		if m = w.block.device.find(at, n); m == nil {
			w.fault(in, OutOfBounds, lane, "address %#x, %d bytes%s", at, n, w.block.device.nearest(at))
		}
		w.near = m
	}
	if at%uint64(n) != 0 {
		w.fault(in, Misaligned, lane, "%s, %d bytes", m.place(int(at-m.base)), n)
	}
	i := int(at - m.base)
	m.touch(w, in, lane, i, n, how)
	return m.data[i : i+n]
}

// shared returns the n bytes of the block's shared memory at the address at. It
// raises a fault if the lane may not access them; how says whether it reads or
// writes.
func (w *warp) shared(in *instr, lane int, at uint64, n int, how access) []byte {
	m := w.block.shared
	i := int64(at) - sharedBase
	if i < 0 || i > int64(len(m.data)-n) {
		w.fault(in, OutOfBounds, lane, "access of %d bytes at byte %d of shared memory, which has %d bytes", n, i, len(m.data))
	}
	if at%uint64(n) != 0 {
		w.fault(in, Misaligned, lane, "%s, %d bytes", m.place(int(i)), n)
	}
	m.touch(w, in, lane, int(i), n, how)
	return m.data[i : int(i)+n]
}

// load decodes values of in.size bytes from b and stores them in the destination
// registers of one lane.
func (w *warp) load(in *instr, lane int, b []byte) {
	for i, d := range in.d {
		if in.size == 4 && in.extra&toLong == 0 {
			w.w[d][lane] = binary.LittleEndian.Uint32(b[4*i:])
			continue
		}
		v := uint64(0)
		switch in.size {
		case 8:
			v = binary.LittleEndian.Uint64(b[8*i:])
		case 4:
			v = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		case 2:
			v = uint64(binary.LittleEndian.Uint16(b[2*i:]))
		case 1:
			v = uint64(b[i])
		}
		if unused := 64 - 8*in.size; in.extra&withSign != 0 {
			v = uint64(int64(v<<unused) >> unused)
		}
		if in.size == 8 || in.extra&toLong != 0 {
			w.l[d][lane] = v
		} else {
			w.w[d][lane] = uint32(v)
		}
	}
}

// store encodes the source registers of one lane into b, in.size bytes each. It skips the
// first source register, which holds the address.
func (w *warp) store(in *instr, lane int, b []byte) {
	for i, s := range in.s[1:] {
		switch in.size {
		case 8:
			binary.LittleEndian.PutUint64(b[8*i:], w.l[s][lane])
		case 4:
			binary.LittleEndian.PutUint32(b[4*i:], w.w[s][lane])
		case 2:
			binary.LittleEndian.PutUint16(b[2*i:], uint16(w.w[s][lane]))
		case 1:
			b[i] = byte(w.w[s][lane])
		}
	}
}

// atomics holds the operations of the instructions atom and red. Each returns the
// value to store for the old value in memory and the operand v.
var atomics = map[string]func(old, v uint64) uint64{
	"add.f32":  func(old, v uint64) uint64 { return uint64(b32(f32(uint32(old)) + f32(uint32(v)))) },
	"add.f64":  func(old, v uint64) uint64 { return b64(f64(old) + f64(v)) },
	"add.u32":  func(old, v uint64) uint64 { return uint64(uint32(old + v)) },
	"add.s32":  func(old, v uint64) uint64 { return uint64(uint32(old + v)) },
	"add.u64":  func(old, v uint64) uint64 { return old + v },
	"max.u32":  func(old, v uint64) uint64 { return max(old, v) },
	"min.u32":  func(old, v uint64) uint64 { return min(old, v) },
	"max.s32":  func(old, v uint64) uint64 { return uint64(uint32(max(int32(old), int32(v)))) },
	"min.s32":  func(old, v uint64) uint64 { return uint64(uint32(min(int32(old), int32(v)))) },
	"or.b32":   func(old, v uint64) uint64 { return old | v },
	"and.b32":  func(old, v uint64) uint64 { return old & v },
	"exch.b32": func(_, v uint64) uint64 { return v },
}

func decodeAtomic(p *program, in *instr, from *ptx.Instruction) error {
	parts := strings.Split(from.Op, ".")
	args, n := from.Args, 3
	if parts[0] == "red" { // red has no destination
		args, n = append([]ptx.Operand{{Kind: ptx.Sink}}, args...), 2
	}
	e, _, err := memoryAccess(in, from, n, "global", "shared")
	if err != nil {
		return err
	}
	f, ok := atomics[strings.Join(parts[len(parts)-2:], ".")]
	if !ok {
		return fmt.Errorf("the simulator does not support %s", from.Op)
	}
	in.run = func(w *warp, in *instr, lanes uint32) { w.atomic(in, lanes, f) }
	return errors.Join(p.sets(in, args[0], e.bank), p.address(in, args[1]), p.reads(in, args[2], e.bank))
}

func (w *warp) atomic(in *instr, lanes uint32, f func(old, v uint64) uint64) {
	at := w.addresses(in)
	for _, l := range w.block.device.lanes(lanes) {
		b := w.bytes(in, l, in.size, updates)
		if in.size == 8 {
			old := binary.LittleEndian.Uint64(b)
			binary.LittleEndian.PutUint64(b, f(old, w.l[in.s[1]][l]))
			w.l[in.d[0]][l] = old
			continue
		}
		old := binary.LittleEndian.Uint32(b)
		binary.LittleEndian.PutUint32(b, uint32(f(uint64(old), uint64(w.w[in.s[1]][l]))))
		w.w[in.d[0]][l] = old
	}
	if in.extra&inShared == 0 {
		countSectors(in, at, lanes, in.size)
	}
}

// An asyncCopy is a cp.async that was issued and has not been waited for.
type asyncCopy struct {
	to, from uint64
	n, valid int // n bytes are written: the first valid ones are copied, the rest are zero
	group    int
}

// copyGroups holds the asynchronous copies of one lane and the number of groups
// that the lane has committed.
type copyGroups struct {
	pending   []asyncCopy
	committed int // groups committed so far
}

func decodeCopy(p *program, in *instr, from *ptx.Instruction) error {
	switch {
	case strings.HasPrefix(from.Op, "cp.async.ca.shared.global"), strings.HasPrefix(from.Op, "cp.async.cg.shared.global"):
		return decodeAsyncCopy(p, in, from)
	case from.Op == "cp.async.commit_group" && len(from.Args) == 0:
		in.run = commitGroup
		return nil
	case from.Op == "cp.async.wait_all" && len(from.Args) == 0:
		in.run = func(w *warp, in *instr, lanes uint32) {
			commitGroup(w, in, lanes)
			waitGroup(w, in, lanes)
		}
		return nil
	case from.Op == "cp.async.wait_group" && len(from.Args) == 1 && from.Args[0].Kind == ptx.Immediate && from.Args[0].Value < 64:
		in.extra = int(from.Args[0].Value)
		in.run = waitGroup
		return nil
	}
	return fmt.Errorf("the simulator does not support %s", from.Op)
}

func decodeAsyncCopy(p *program, in *instr, from *ptx.Instruction) error {
	if len(from.Args) < 3 || len(from.Args) > 4 || from.Args[2].Kind != ptx.Immediate {
		return fmt.Errorf("cp.async has %d operands, want 3 or 4, the third a constant", len(from.Args))
	}
	in.size = int(from.Args[2].Value)
	small := strings.HasPrefix(from.Op, "cp.async.ca")
	if in.size != 16 && !(small && (in.size == 4 || in.size == 8)) {
		return fmt.Errorf("%s of %d bytes, want 16 (cp.async.ca: 4, 8 or 16)", from.Op, in.size)
	}
	if err := p.address(in, from.Args[0]); err != nil {
		return err
	}
	if from.Args[0].Offset != 0 || from.Args[1].Kind != ptx.Address {
		return fmt.Errorf("cp.async: the source must be an address, and the destination one without an offset")
	}
	in.offset = from.Args[1].Offset
	if err := p.reads(in, ptx.Operand{Kind: ptx.Register, Name: from.Args[1].Name}, longs); err != nil {
		return err
	}
	in.run = copyAsync
	if len(from.Args) == 4 {
		return p.reads(in, from.Args[3], words)
	}
	return nil
}

func copyAsync(w *warp, in *instr, lanes uint32) {
	for l := range warpSize {
		if lanes>>l&1 == 0 {
			continue
		}
		c := asyncCopy{to: uint64(w.w[in.s[0]][l]), from: w.l[in.s[1]][l] + uint64(in.offset), n: in.size, valid: in.size, group: w.copies[l].committed}
		if in.extra&wordAddress == 0 {
			c.to = w.l[in.s[0]][l]
		}
		if len(in.s) == 3 {
			c.valid = min(c.n, int(w.w[in.s[2]][l]))
		}
		if c.valid > 0 {
			w.global(in, l, c.from, c.n, reads)
		}
		w.shared(in, l, c.to, c.n, copies)
		w.copies[l].pending = append(w.copies[l].pending, c)
	}
	in.counts.Sectors += uint64((bits.OnesCount32(lanes)*in.size + 31) / 32)
	in.counts.IdealSectors += uint64((bits.OnesCount32(lanes)*in.size + 31) / 32)
}

func commitGroup(w *warp, _ *instr, lanes uint32) {
	for l := range warpSize {
		if lanes>>l&1 == 1 {
			w.copies[l].committed++
		}
	}
}

// waitGroup completes all asynchronous copies, except those of the in.extra
// newest groups. Only now do their bytes appear in shared memory.
func waitGroup(w *warp, in *instr, lanes uint32) {
	for l := range warpSize {
		if lanes>>l&1 == 0 {
			continue
		}
		g := &w.copies[l]
		keep := g.pending[:0]
		for _, c := range g.pending {
			if c.group >= g.committed-in.extra {
				keep = append(keep, c)
				continue
			}
			to := int(int64(c.to) - sharedBase)
			dst := w.block.shared.data[to : to+c.n]
			clear(dst)
			if c.valid > 0 {
				m := w.block.device.find(c.from, c.n)
				copy(dst[:c.valid], m.data[c.from-m.base:])
			}
			w.block.shared.landed(w, l, to, c.n)
		}
		g.pending = keep
	}
}
