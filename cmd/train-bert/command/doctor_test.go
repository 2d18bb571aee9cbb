package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	gpu "pretext/trainer/cuda/doctor"
	"pretext/trainer/session/speed"
)

func TestDoctorPrintsTheProcessorAndWhyThereIsNoGPU(t *testing.T) {
	d := &diagnosis{Version: "v9", Processors: 2, Detected: "avx2", CUDA: gpu.Report{Problem: "device unavailable: none"},
		CPU: []speed.Capacity{{ISA: "avx512"}, {ISA: "avx2", Available: true, Tokens: 1234, FLOPS: 56.7e9}}}
	const want = `train-bert v9
processors: 2
detected: avx2
cpu, avx512: not on this machine
cpu, avx2: 1234 tokens/s training the tiny model, 8 examples of 128 tokens; matrix product 56.7 GFLOP/s
cuda: device unavailable: none
`
	var b strings.Builder
	if err := d.print(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestDoctorPrintsGPUs(t *testing.T) {
	report := gpu.Report{
		CUDA:      "13.0",
		Libraries: []gpu.Library{{Name: "NVIDIA's driver", Path: "/lib/libcuda.so.580", Version: "CUDA 13.0"}, {Name: "cuBLASLt", Path: "/lib/libcublasLt.so.13", Version: "13.1.0"}},
		GPUs: []gpu.GPU{
			{Name: "NVIDIA H200", Memory: 150 << 30, Capability: "9.0", Multiprocessors: 132, Kernels: 106, CompileSeconds: 2.5, Copy: 4.3e12, FLOPS: 788e12, Spilling: []string{"flash_backward.bf16"}},
			{Name: "Tesla V100", Memory: 16 << 30, Capability: "7.0", Multiprocessors: 80, Problem: "too old"},
		},
	}
	const want = `cuda, NVIDIA's driver: CUDA 13.0, /lib/libcuda.so.580
cuda, cuBLASLt: 13.1.0, /lib/libcublasLt.so.13
cuda:0: NVIDIA H200, 161.1 GB, compute capability 9.0, 132 multiprocessors
cuda:0: 106 kernels compiled in 2.5 s; copies 4.30 TB/s (read and written), matrix product in bf16 788 TFLOP/s
cuda:0: slower than they should be, since the driver gave them a stack: flash_backward.bf16
cuda:1: Tesla V100, 17.2 GB, compute capability 7.0, 80 multiprocessors
cuda:1: cannot be used: too old
`
	var b strings.Builder
	if err := printCUDA(&b, report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
