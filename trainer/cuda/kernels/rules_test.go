package kernels_test

import (
	"slices"
	"strings"

	"pretext/trainer/cuda/ptx"
)

// A rule makes mutants of all kernels: an edit of the instructions of a source line whose
// mnemonic begins with op.
type rule struct {
	name string
	op   string
	edit edit
}

// rules are the edits that mutants are generated with. Each mutant applies one rule to all
// instructions of one mnemonic that one source line became in one kernel.
var rules = []rule{
	{"limit moved", "setp.", limitMoved},
	{"comparison turned", "setp.", turned},
	{"barrier left out", "bar.", without("bar.")},
	{"wait left out", "cp.async.wait_group", without("cp.async.wait_group")},
	{"copies not committed", "cp.async.commit_group", without("cp.async.commit_group")},
	{"not atomic", "atom.", notAtomic},
	{"store left out", "st.", without("st.")},
	{"addition left out", "atom.", without("atom.")},
	{"branch left out", "bra", guarded(without("bra"))},
	{"branch always taken", "bra", guarded(unguarded)},
	{"subtracted", "add.f", exchanged("add.", "sub.")},
	{"added", "sub.f", exchanged("sub.", "add.")},
	{"factor left out", "mul.f", first("mul.f")},
	{"addend left out", "fma.", addendLeftOut("fma.rn.", "mul.")},
	{"product left out", "fma.", productLeftOut},
	{"divisor left out", "div.", first("div.")},
	{"greater for less", "max.", exchanged("max.", "min.")},
	{"less for greater", "min.", exchanged("min.", "max.")},
	{"or for and", "and.", exchanged("and.", "or.")},
	{"and for or", "or.", exchanged("or.", "and.")},
	{"choice turned", "selp.", choiceTurned},
	{"summand left out", "add.s", first("add.s")},
	{"mask left out", "and.b", first("and.b")},
	{"subtrahend left out", "sub.s", first("sub.s")},
	{"addend of an index left out", "mad.lo.", addendLeftOut("mad.lo.", "mul.lo.")},
	{"next element", "ld.", nextElement},
	{"next element", "st.", nextElement},
	{"constant one larger", "", oneMore},
	{"constant doubled", "", doubled},
}

// turned replaces a comparison by its opposite.
func turned(in ptx.Instruction) ([]ptx.Instruction, bool) {
	for old, now := range map[string]string{"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "ltu": "ge", "geu": "lt", "gtu": "le", "leu": "gt", "neu": "eq"} {
		if list, ok := exchanged("setp."+old+".", "setp."+now+".")(in); ok {
			return list, true
		}
	}
	return nil, false
}

// guarded applies an edit to instructions that some threads skip.
func guarded(e edit) edit {
	return func(in ptx.Instruction) ([]ptx.Instruction, bool) {
		if in.Guard == "" {
			return nil, false
		}
		return e(in)
	}
}

func unguarded(in ptx.Instruction) ([]ptx.Instruction, bool) {
	in.Guard, in.Negate = "", false
	return []ptx.Instruction{in}, true
}

// addendLeftOut replaces a·b + c by a·b.
func addendLeftOut(sum, product string) edit {
	return func(in ptx.Instruction) ([]ptx.Instruction, bool) {
		list, ok := exchanged(sum, product)(in)
		if ok {
			list[0].Args = in.Args[:3]
		}
		return list, ok
	}
}

// productLeftOut replaces a·b + c by a + c.
func productLeftOut(in ptx.Instruction) ([]ptx.Instruction, bool) {
	list, ok := exchanged("fma.rn.", "add.")(in)
	if ok {
		list[0].Args = []ptx.Operand{in.Args[0], in.Args[1], in.Args[3]}
	}
	return list, ok
}

func choiceTurned(in ptx.Instruction) ([]ptx.Instruction, bool) {
	in.Args = []ptx.Operand{in.Args[0], in.Args[2], in.Args[1], in.Args[3]}
	return []ptx.Instruction{in}, true
}

// nextElement moves an access by the size of what it reads or writes.
func nextElement(in ptx.Instruction) ([]ptx.Instruction, bool) {
	i := slices.IndexFunc(in.Args, func(o ptx.Operand) bool { return o.Kind == ptx.Address })
	if i < 0 || strings.HasPrefix(in.Op, "ld.param") {
		return nil, false
	}
	size := int64(in.Op[len(in.Op)-2]-'0')*10 + int64(in.Op[len(in.Op)-1]-'0')
	if strings.HasSuffix(in.Op, "8") {
		size = 8
	}
	in.Args = slices.Clone(in.Args)
	in.Args[i].Offset += max(size/8, 1)
	return []ptx.Instruction{in}, true
}

// changedConstants applies f to the constants among the operands, all of them.
func changedConstants(in ptx.Instruction, f func(*ptx.Operand) bool) ([]ptx.Instruction, bool) {
	changed := false
	in.Args = slices.Clone(in.Args)
	for i := range in.Args {
		if o := &in.Args[i]; o.Kind == ptx.Immediate && f(o) {
			changed = true
		}
	}
	return []ptx.Instruction{in}, changed
}

// oneMore adds one to the integers that are counted or computed with: not to masks, null
// pointers and byte offsets of vectors.
func oneMore(in ptx.Instruction) ([]ptx.Instruction, bool) {
	if op, _, _ := strings.Cut(in.Op, "."); !slices.Contains([]string{"add", "mul", "mad", "shl", "shr", "setp", "mov"}, op) || strings.HasPrefix(in.Op, "setp.eq.s64") || strings.HasPrefix(in.Op, "setp.ne.s64") {
		return nil, false
	}
	return changedConstants(in, func(o *ptx.Operand) bool {
		if o.Float != 0 {
			return false
		}
		o.Value++
		return true
	})
}

// doubled doubles floating-point numbers; 0 becomes 1.
func doubled(in ptx.Instruction) ([]ptx.Instruction, bool) {
	return changedConstants(in, func(o *ptx.Operand) bool {
		switch {
		case o.Float == 32 && o.Value<<33 == 0:
			o.Value = 0x3f800000
		case o.Float == 32:
			o.Value += 1 << 23
		case o.Float == 64 && o.Value<<1 == 0:
			o.Value = 0x3ff0000000000000
		case o.Float == 64:
			o.Value += 1 << 52
		default:
			return false
		}
		return true
	})
}
