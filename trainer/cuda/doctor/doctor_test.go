//go:build cgo && linux

package doctor_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer/cuda/doctor"
	"pretext/trainer/cuda/driver/drivertest"
	"pretext/trainer/cuda/kernels"
)

func TestEveryGPUIsExamined(t *testing.T) {
	f := drivertest.New(t)
	t.Setenv("FAKE_DEVICES", "2")
	t.Setenv("FAKE_MEMORY_MB", "1024")
	r := doctor.Examine()
	if r.Problem != "" || r.CUDA != "12.8" || len(r.Libraries) != 3 || r.Libraries[2].Name != "NCCL" || r.Libraries[2].Version != "2.21.5" || r.NCCL != "" || len(r.GPUs) != 2 {
		t.Fatalf("got %+v", r)
	}
	all, want := 0, map[string]bool{}
	for _, typ := range kernels.Types() {
		for _, m := range kernels.Modules(typ) {
			text, err := kernels.PTX(m, typ)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range kernels.Names(text) {
				all++
				want[name] = true
			}
		}
	}
	for _, call := range f.Calls() {
		if _, name, ok := strings.Cut(call, " name="); ok {
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Errorf("kernels were not looked at: %v", want)
	}
	g := r.GPUs[1]
	// The fake has 1.5 ms for ten copies or products, and a stack for every kernel.
	if g.Name != "Fake GPU 71" || g.Capability != "9.0" || g.Problem != "" || g.Kernels != all || len(g.Spilling) != all {
		t.Errorf("got %+v, want %d kernels", g, all)
	}
	if copied, product := g.Copy*1.5e-4, g.FLOPS*1.5e-4; copied != 2*2<<20 || product != 2<<30 {
		t.Errorf("%g bytes were copied, %g operations done", copied, product)
	}
}

func TestProblemsOfOneGPULeaveTheOthers(t *testing.T) {
	drivertest.New(t)
	t.Setenv("FAKE_DEVICES", "2")
	t.Setenv("FAKE_MEMORY_MB", "1024")
	t.Setenv("FAKE_FAIL", "cuModuleLoadDataEx")
	t.Setenv("FAKE_FAIL_CODE", "222")
	r := doctor.Examine()
	if r.Problem != "no GPU can be used" || len(r.GPUs) != 2 || !strings.HasPrefix(r.GPUs[1].Problem, "module attention for f32: compile kernels for Fake GPU 71: cuModuleLoadDataEx: CUDA_ERROR_FAKE_222") {
		t.Errorf("got %+v", r)
	}
}

func TestFaultyMemoryIsFound(t *testing.T) {
	drivertest.New(t)
	t.Setenv("FAKE_MEMORY_MB", "1024")
	t.Setenv("FAKE_FAULTY", "1")
	r := doctor.Examine()
	if len(r.GPUs) != 1 || !strings.HasPrefix(r.GPUs[0].Problem, "data copied to the GPU and back is not the same") {
		t.Errorf("got %+v", r)
	}
}

func TestAMissingNCCLIsNoProblemOfOneGPU(t *testing.T) {
	f := drivertest.New(t)
	t.Setenv("FAKE_MEMORY_MB", "1024")
	if err := os.Remove(f.Dir + "/libnccl.so.2"); err != nil {
		t.Fatal(err)
	}
	r := doctor.Examine()
	if r.Problem != "" || len(r.Libraries) != 2 || !strings.HasPrefix(r.NCCL, "device unavailable: NCCL (libnccl.so.2) was not found") {
		t.Errorf("got %+v", r)
	}
}

func TestWhatIsMissingIsTheProblem(t *testing.T) {
	f := drivertest.New(t)
	if err := os.Remove(f.Dir + "/libcublasLt.so.12"); err != nil {
		t.Fatal(err)
	}
	r := doctor.Examine()
	if !strings.HasPrefix(r.Problem, "device unavailable: cuBLASLt (libcublasLt.so.12, libcublasLt.so.11) was not found") || len(r.GPUs) > 0 {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff([]string{"NVIDIA's driver"}, []string{r.Libraries[0].Name}); diff != "" {
		t.Error(diff)
	}
}
