package kernels_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

// TestPTXIsThatOfTheSources sees sources that were changed and not compiled; that
// the PTX is what NVRTC writes is held by make generated.
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
	if err != nil || len(all) != len(sources)*len(kernels.Types())-1 { // flash has no f32
		t.Errorf("%d files of PTX of %d sources in %d types: %v", len(all), len(sources), len(kernels.Types()), err)
	}
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("// %s and dev.cuh: SHA-256 %x\n", name, sha256.Sum256(append(source, header...)))
		for _, typ := range kernels.Types() {
			if name == "flash.cu" && typ == kernels.F32 {
				continue
			}
			text, err := kernels.PTX(strings.TrimSuffix(name, ".cu"), typ)
			if err != nil {
				t.Error(err)
				continue
			}
			if !strings.HasPrefix(text, want) {
				t.Errorf("%s was changed: run make ptx", name)
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
	module, kernel string
	check          func(f *fixture)
	conflicts      float64
	sectors        float64
}{
	{"flash", "flash_forward", checkFlash, 0, 1.15},
	{"flash", "flash_backward", checkFlash, 0, 1.35},
	{"flash", "flash_backward_keys", checkFlash, 0, 1.25},
	{"flash", "flash_backward_queries", checkFlash, 0, 1.25},
	{"flash", "flash_queries_done", checkFlash, 0, 1},
	{"norm", "norm_forward", checkNorm, 0, 2.01},
	{"norm", "norm_backward", checkNorm, 0, 2.01},
	{"norm", "embed_forward", checkEmbed, 0, 2.01},
	{"elementwise", "gelu_forward", checkActivations, 0, 1.01},
	{"elementwise", "gelu_backward", checkActivations, 0, 1.01},
	{"elementwise", "column_sums", checkColumnSums, 0, 1.2},
	{"elementwise", "norm_sums", checkNormSums, 0, 1.2},
	{"elementwise", "gather_rows", checkRowsMoved, 0, 1.1},
	{"loss", "cross_entropy", checkCrossEntropy, 0, 1.1},
	{"optim", "sum_squares", checkUpdates, 0, 1.01},
	{"optim", "adamw", checkUpdates, 0, 1.01},
	{"optim", "lamb_direction", checkUpdates, 0, 1.01},
	{"optim", "lamb_move", checkUpdates, 0, 1.01},
}

func TestMemoryStaysWithinBudgets(t *testing.T) {
	for _, b := range budgets {
		f := newFixture(kernels.BF16, 1)
		if err := f.run(b.check); err != nil {
			t.Fatal(err)
		}
		k := f.kernel(b.module, b.kernel)
		c := k.Counts()
		conflicts, sectors := 1000*float64(c.Conflicts)/float64(c.Instructions), float64(c.Sectors)/float64(c.IdealSectors)
		t.Logf("%s: %.3f conflicts a thousand instructions, %.3f times the sectors", b.kernel, conflicts, sectors)
		if conflicts > b.conflicts || sectors > b.sectors {
			t.Errorf("%s: %.3f conflicts a thousand instructions, at most %v; %.3f times the sectors, at most %v: %+v", b.kernel, conflicts, b.conflicts, sectors, b.sectors, k.CountsByLine())
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
