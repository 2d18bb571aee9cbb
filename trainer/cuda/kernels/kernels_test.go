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
	if err != nil || len(all) != len(sources)*len(kernels.Types()) {
		t.Errorf("%d files of PTX of %d sources in %d types: %v", len(all), len(sources), len(kernels.Types()), err)
	}
	for _, name := range sources {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("// %s and dev.cuh: SHA-256 %x\n", name, sha256.Sum256(append(source, header...)))
		for _, typ := range kernels.Types() {
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
