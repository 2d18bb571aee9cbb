package kernels_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/ptx"
)

// A numericFault is a change of a kernel that small random numbers do not show. Its edit
// returns the number of instructions that it changed.
type numericFault struct {
	name, module, kernel string
	typ                  kernels.Type
	edit                 func(k *ptx.Kernel) int
	check                func(f *fixture)
}

var numericFaults = []numericFault{
	{"no maximum is subtracted from scores", "flash", "flash_forward", kernels.BF16, func(k *ptx.Kernel) int {
		return maximumStarts(k, 0) + eachOp(k, "max.f32", func(in *ptx.Instruction) bool {
			in.Op, in.Args = "mov.f32", []ptx.Operand{in.Args[0], float(0)}
			return true
		})
	}, checkHardFlash},
	{"the maximum is that of the present tile", "flash", "flash_forward", kernels.F16, func(k *ptx.Kernel) int {
		return eachOp(k, "max.f32", func(in *ptx.Instruction) bool {
			if !carried(k, in.Args[1].Name) {
				return false
			}
			in.Op, in.Args = "mov.f32", []ptx.Operand{in.Args[0], in.Args[2]}
			return true
		})
	}, checkHardFlash},
	{"the maximum starts at 0", "flash", "flash_forward", kernels.BF16, func(k *ptx.Kernel) int { return maximumStarts(k, 0) }, checkHardFlash},
	{"a tile is masked if the sequence ends in it", "flash", "flash_forward", kernels.BF16, func(k *ptx.Kernel) int {
		keys, masks := maskLimit(k)
		return endsAtLength(k, func(in *ptx.Instruction) bool {
			return in.Op == "setp.le.s32" && in.Args[2].Name == keys && !masks[in.Args[0].Name]
		})
	}, checkEndsOfFlash},
	{"keys are masked from the sequence's end", "flash", "flash_forward", kernels.F16, func(k *ptx.Kernel) int {
		_, masks := maskLimit(k)
		return endsAtLength(k, func(in *ptx.Instruction) bool { return masks[in.Args[0].Name] })
	}, checkEndsOfFlash},
	{"no maximum is subtracted from logits", "loss", "cross_entropy", kernels.F32, func(k *ptx.Kernel) int {
		return eachOp(k, "sub.f32", func(in *ptx.Instruction) bool {
			for i, o := range in.Args {
				if comesFrom(k, o.Name, "ld.shared") { // the largest logits of the warps
					in.Args[i] = float(0)
					return true
				}
			}
			return false
		})
	}, checkHardEntropy},
	{"the halves of the gated product are swapped", "modern", "geglu_forward", kernels.F32, swappedLoads, checkGated},
	{"the halves are swapped in the gradient", "modern", "geglu_backward", kernels.F32, swappedLoads, checkGated},
	{"1/σ has 8 bits in the forward pass", "norm", "norm_forward", kernels.BF16, func(k *ptx.Kernel) int { return eightBits(k, "rcp.rn.f32") }, checkHardNorm},
	{"1/σ has 8 bits in the backward pass", "norm", "norm_backward", kernels.BF16, func(k *ptx.Kernel) int { return eightBits(k, "ld.global.f32") }, checkNorm},
}

func float(v float32) ptx.Operand {
	return ptx.Operand{Kind: ptx.Immediate, Value: uint64(math.Float32bits(v)), Float: 32}
}

// eachOp calls edit for all instructions of an opcode and counts those that it changed.
func eachOp(k *ptx.Kernel, op string, edit func(in *ptx.Instruction) bool) int {
	n := 0
	for i := range k.Code {
		if in := &k.Code[i]; in.Op == op && edit(in) {
			n++
		}
	}
	return n
}

// maximumStarts replaces what the largest score is initialized with, before it is scaled.
func maximumStarts(k *ptx.Kernel, v float32) int {
	return eachOp(k, "mul.f32", func(in *ptx.Instruction) bool {
		if in.Args[2].Kind != ptx.Immediate || uint32(in.Args[2].Value) != math.Float32bits(-1e29) {
			return false
		}
		in.Args = []ptx.Operand{in.Args[0], in.Args[1], float(v)}
		return true
	})
}

// swappedLoads exchanges the addresses of a kernel's first two loads of four elements.
func swappedLoads(k *ptx.Kernel) int {
	var loads []*ptx.Instruction
	eachOp(k, "ld.global.v4.f32", func(in *ptx.Instruction) bool { loads = append(loads, in); return false })
	if len(loads) < 2 {
		return 0
	}
	loads[0].Args[0], loads[1].Args[0] = loads[1].Args[0], loads[0].Args[0]
	return 2
}

// sets returns the instructions that set a register.
func sets(k *ptx.Kernel, register string) []ptx.Instruction {
	return slices.DeleteFunc(slices.Clone(k.Code), func(in ptx.Instruction) bool {
		return len(in.Args) == 0 || in.Args[0].Name != register || strings.HasPrefix(in.Op, "st.")
	})
}

// carried reports whether a register has a value from the round of a loop before.
func carried(k *ptx.Kernel, register string) bool {
	list := sets(k, register)
	return len(list) > 0 && !slices.ContainsFunc(list, func(in ptx.Instruction) bool { return in.Op != "mov.f32" })
}

// comesFrom reports whether a register is a value that an instruction loaded, perhaps one of
// several.
func comesFrom(k *ptx.Kernel, register, op string) bool {
	for _, in := range sets(k, register) {
		if strings.HasPrefix(in.Op, op) || in.Op == "selp.f32" && (comesFrom(k, in.Args[1].Name, op) || comesFrom(k, in.Args[2].Name, op)) {
			return true
		}
	}
	return false
}

// maskLimit returns the register with which keys are compared, and the predicates of the
// comparisons.
func maskLimit(k *ptx.Kernel) (keys string, masks map[string]bool) {
	masks = map[string]bool{}
	eachOp(k, "selp.f32", func(in *ptx.Instruction) bool {
		if in.Args[2].Kind == ptx.Immediate && uint32(in.Args[2].Value) == math.Float32bits(-1e30) {
			p := in.Args[3].Name
			masks[p], keys = true, sets(k, p)[0].Args[2].Name
		}
		return false
	})
	return keys, masks
}

// endsAtLength compares with the length of the sequence in the instructions that are chosen.
// The first comparison of a kernel's numbers is with it.
func endsAtLength(k *ptx.Kernel, choose func(in *ptx.Instruction) bool) int {
	length := k.Code[slices.IndexFunc(k.Code, func(in ptx.Instruction) bool { return in.Op == "setp.ge.s32" })].Args[2]
	n := 0
	for i := range k.Code {
		if in := &k.Code[i]; strings.HasPrefix(in.Op, "setp.") && choose(in) {
			in.Args = slices.Clone(in.Args)
			in.Args[2] = length
			n++
		}
	}
	return n
}

// eightBits cuts the results of an opcode to the bits of a bfloat16.
func eightBits(k *ptx.Kernel, op string) int {
	n := 0
	for i := 0; i < len(k.Code); i++ {
		if k.Code[i].Op != op {
			continue
		}
		cut := k.Code[i]
		cut.Op, cut.Args = "and.b32", []ptx.Operand{cut.Args[0], cut.Args[0], {Kind: ptx.Immediate, Value: 0xffff0000}}
		k.Code = slices.Insert(k.Code, i+1, cut)
		for name, at := range k.Labels {
			if at > i {
				k.Labels[name] = at + 1
			}
		}
		i++
		n++
	}
	return n
}

// TestNumericFaultsAreCaught plants faults that only hard numbers show.
func TestNumericFaultsAreCaught(t *testing.T) {
	for _, fault := range numericFaults {
		t.Run(fault.name, func(t *testing.T) {
			text, err := kernels.PTX(fault.module, fault.typ)
			if err != nil {
				t.Fatal(err)
			}
			module, err := ptx.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if n := fault.edit(module.Kernel(fault.kernel)); n == 0 {
				t.Fatal("nothing was changed")
			}
			f := newFixture(fault.typ, 0)
			if f.modules[fault.module], err = f.device.Load(module.String()); err != nil {
				t.Fatal(err)
			}
			err = f.run(fault.check)
			t.Log(err)
			if err == nil {
				t.Error("not caught")
			}
		})
	}
}
