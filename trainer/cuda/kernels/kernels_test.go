package kernels_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/ptx"
	"pretext/trainer/cuda/sim"
)

// TestPTXIsThatOfTheSources sees sources that were changed and not compiled; that
// the PTX is what NVRTC writes is held by make ptx.
func TestPTXIsThatOfTheSources(t *testing.T) {
	sources, err := filepath.Glob("*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatal("no sources", err)
	}
	header, err := os.ReadFile("dev.cuh")
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob("*.ptx")
	if err != nil || len(all) != len(sources)*len(kernels.Types())-3 { // flash has no f32, fp8 only bf16
		t.Errorf("%d files of PTX of %d sources in %d types: %v", len(all), len(sources), len(kernels.Types()), err)
	}
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("// %s and dev.cuh: SHA-256 %x\n", name, sha256.Sum256(append(source, header...)))
		for _, typ := range kernels.Types() {
			if name == "flash.cu" && typ == kernels.F32 || name == "fp8.cu" && typ != kernels.BF16 {
				continue
			}
			text, err := kernels.PTX(strings.TrimSuffix(name, ".cu"), typ)
			if err != nil {
				t.Error(err)
				continue
			}
			if !strings.HasPrefix(text, want) {
				t.Errorf("%s was changed: run make ptx-write", name)
			}
			if _, err := sim.New(sim.Options{}).Load(text); err != nil {
				t.Error(err)
			}
		}
	}
}

// budgets are the most that kernels may lose in memory: bank conflicts in shared
// memory a thousand instructions, and sectors of global memory over the fewest.
// The runs of LayerNorm are read in pieces, of which several share a sector; the
// rows that a lane of plain attention reads lie apart: it is the oracle.
var budgets = []struct {
	module string
	check  func(f *fixture)
	limits map[string]budget // by kernel
}{
	{"flash", checkFlash, map[string]budget{
		"flash_forward": {0, 1.15}, "flash_backward": {0, 1.35}, "flash_backward_keys": {0, 1.25}, "flash_backward_queries": {0, 1.25}, "flash_queries_done": {0, 1},
	}},
	{"flash", checkLocalFlash, map[string]budget{
		"flash_local_forward": {0, 1.35}, "flash_local_backward": {0, 1.5}, "flash_local_backward_keys": {0, 1.4}, "flash_local_backward_queries": {0, 1.4},
	}},
	{"norm", checkNorm, map[string]budget{"norm_forward": {0, 2.01}, "norm_backward": {0, 2.01}}},
	{"norm", checkEmbed, map[string]budget{"embed_forward": {0, 2.01}}},
	{"elementwise", checkActivations, map[string]budget{"gelu_forward": {0, 1.01}, "gelu_backward": {0, 1.01}}},
	{"elementwise", checkColumnSums, map[string]budget{"column_sums": {0, 1.2}}},
	{"elementwise", checkRowsMoved, map[string]budget{"gather_rows": {0, 1.1}}},
	{"loss", checkCrossEntropy, map[string]budget{"cross_entropy": {0, 1.1}}},
	{"optim", checkUpdates, map[string]budget{"sum_squares": {0, 1.01}, "adamw": {0, 1.01}, "lamb_direction": {0, 1.01}, "lamb_move": {0, 1.01}}},
}

type budget struct{ conflicts, sectors float64 }

// TestMemoryStaysWithinBudgets also holds the checks in bfloat16, in another order.
func TestMemoryStaysWithinBudgets(t *testing.T) {
	for _, b := range budgets {
		f := newFixture(kernels.BF16, 1)
		if err := f.run(b.check); err != nil {
			t.Fatal(err)
		}
		for name, limit := range b.limits {
			k := f.kernel(b.module, name)
			c := k.Counts()
			conflicts, sectors := 1000*float64(c.Conflicts)/float64(c.Instructions), float64(c.Sectors)/float64(c.IdealSectors)
			t.Logf("%s: %.3f conflicts a thousand instructions, %.3f times the sectors", name, conflicts, sectors)
			if conflicts > limit.conflicts || sectors > limit.sectors {
				t.Errorf("%s: %.3f conflicts a thousand instructions, at most %v; %.3f times the sectors, at most %v: %+v", name, conflicts, limit.conflicts, sectors, limit.sectors, k.CountsByLine())
			}
		}
	}
}

func TestArgumentsAreLaidOutAsCDoes(t *testing.T) {
	got := kernels.Pack(uint8(1), kernels.Dropout{Seed: 2, Site: 3, Keep: 4, Scale: 1}, int32(-1), uint64(5), 0.5)
	want := []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 0,
		255, 255, 255, 255, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 224, 63}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if _, err := kernels.PTX("no such", kernels.F32); err == nil {
		t.Error("a module that is not there is found")
	}
}

// TestThePTXCheckCountsSharedMemoryOfLaunches holds nvrtc.py to FlashShared: without what a
// launch adds, a multiprocessor seems to have room for more blocks.
func TestThePTXCheckCountsSharedMemoryOfLaunches(t *testing.T) {
	source, err := os.ReadFile("nvrtc.py")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("\nFLASH_SHARED = %d\n", kernels.FlashShared); !strings.Contains(string(source), want) {
		t.Errorf("nvrtc.py lacks %q", want)
	}
	dynamic := regexp.MustCompile(`(?m)^DYNAMIC = .*$`).FindString(string(source))
	text, err := kernels.PTX("flash", kernels.BF16)
	if err != nil {
		t.Fatal(err)
	}
	module, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range module.Kernels {
		if uses := k.Dynamic != "" && slices.ContainsFunc(k.Code, func(in ptx.Instruction) bool { return usesSymbol(in, k.Dynamic) }); uses != strings.Contains(dynamic, `"`+k.Name+`"`) {
			t.Errorf("%s uses dynamic shared memory: %v, and nvrtc.py has another opinion", k.Name, uses)
		}
	}
}

func usesSymbol(in ptx.Instruction, name string) bool {
	return slices.ContainsFunc(in.Args, func(o ptx.Operand) bool { return o.Name == name })
}
