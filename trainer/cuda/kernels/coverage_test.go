package kernels_test

import (
	"slices"
	"strings"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/ptx"
)

// checks are all checks, in a type that has the module.
var checks = []struct {
	module string
	typ    kernels.Type
	check  func(f *fixture)
}{
	{"flash", kernels.F16, checkFlash}, {"attention", kernels.F32, checkAttention},
	{"flash", kernels.BF16, checkHardFlash}, {"flash", kernels.F16, checkEndsOfFlash}, {"attention", kernels.F32, checkHardAttention}, {"attention", kernels.F32, checkEndsOfAttention},
	{"flash", kernels.BF16, checkLocalFlash}, {"attention", kernels.F32, checkLocal}, {"flash", kernels.F16, checkHardLocalFlash}, {"attention", kernels.F32, checkHardLocal},
	{"norm", kernels.BF16, checkHardNorm}, {"loss", kernels.F32, checkHardEntropy},
	{"norm", kernels.BF16, checkNorm}, {"norm", kernels.F16, checkEmbed}, {"norm", kernels.F32, checkDropout},
	{"elementwise", kernels.BF16, checkActivations}, {"elementwise", kernels.F16, checkElements}, {"elementwise", kernels.F32, checkColumnSums},
	{"elementwise", kernels.F16, checkRowsMoved},
	{"loss", kernels.F32, checkCrossEntropy}, {"loss", kernels.F32, checkSumsOfLosses}, {"loss", kernels.F32, checkSpans}, {"loss", kernels.F32, checkRegression},
	{"fp8", kernels.BF16, checkEightBits}, {"fp8", kernels.BF16, checkAmax}, {"fp8", kernels.BF16, checkSmallSizesRoll}, {"fp8", kernels.BF16, checkSizesRoll},
	{"optim", kernels.BF16, checkManyParts}, {"optim", kernels.BF16, checkUpdates},
	{"modern", kernels.F32, checkRotate}, {"modern", kernels.BF16, checkGated}, {"modern", kernels.F16, checkStream}, {"modern", kernels.BF16, checkWords}, {"modern", kernels.BF16, checkMeans},
}

// TestEveryKernelIsChecked leaves out what a kernel stores last, in all kernels, one
// after the other: a check of its module fails. A plain go test leaves the modules of
// attention, the dearest, to make check.
func TestEveryKernelIsChecked(t *testing.T) {
	caught := map[string]bool{} // by module and kernel
	for _, c := range checks {
		if !all() && (c.module == "flash" || c.module == "attention") {
			continue
		}
		text, err := kernels.PTX(c.module, c.typ)
		if err != nil {
			t.Fatal(err)
		}
		module, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		whole := newFixture(c.typ, 0)
		if err := whole.run(c.check); err != nil {
			t.Fatal(err)
		}
		for _, k := range module.Kernels {
			name := c.module + ": " + k.Name
			if caught[name] {
				continue
			}
			caught[name] = false
			if whole.kernel(c.module, k.Name).Counts().Instructions == 0 {
				continue // another check's
			}
			without := *k
			without.Code = slices.Clone(k.Code)
			without.Code[lastStore(k.Code)] = ptx.Instruction{Op: "membar.cta"}
			f := newFixture(c.typ, 0)
			f.replace = map[string]string{c.module + "." + k.Name: only(module, without)}
			err := f.run(c.check)
			caught[name] = err != nil
			t.Logf("%s: %v", name, err)
		}
	}
	for name, yes := range caught {
		if !yes {
			t.Errorf("%s: without its last store nothing fails", name)
		}
	}
}

// lastStore returns the index of the last store to global memory, or of an atomic operation
// in a kernel without stores.
func lastStore(code []ptx.Instruction) int {
	for i := len(code) - 1; i >= 0; i-- {
		if strings.HasPrefix(code[i].Op, "st.global") {
			return i
		}
	}
	return slices.IndexFunc(code, func(in ptx.Instruction) bool { return strings.HasPrefix(in.Op, "atom.global") })
}
