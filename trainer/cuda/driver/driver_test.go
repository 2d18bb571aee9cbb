//go:build cgo && linux

package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
	"pretext/trainer/cuda/driver/drivertest"
)

const ptx = ".version 8.1\n.visible .entry twice(\n"

// names replaces handles and addresses in calls, which differ from run to run.
type names []string

func (n *names) add(name string, handle uint64) {
	*n = append(*n, fmt.Sprintf("=%x ", handle), "="+name+" ", fmt.Sprintf("=%x,", handle), "="+name+",")
}

func (n names) in(calls []string) []string {
	replace := strings.NewReplacer(n...)
	out := make([]string, len(calls))
	for i, c := range calls {
		out[i] = strings.TrimSpace(replace.Replace(c + " "))
	}
	return out
}

func must[T any](t *testing.T, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) device.Device {
	t.Helper()
	return must(t, func() (device.Device, error) { return driver.Open(0) })
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func TestOpenAsksForTheDeviceAndCloseReleasesIt(t *testing.T) {
	f := drivertest.New(t)
	t.Setenv("FAKE_DEVICES", "3")
	d := must(t, func() (device.Device, error) { return driver.Open(2) })
	want := device.Properties{Name: "Fake GPU 72", Major: 9, Memory: 80 << 30, Multiprocessors: 1016, SharedMemory: 1097, Driver: "12.8", BLAS: "cublasLt 12.6.4"}
	if diff := cmp.Diff(want, d.Properties()); diff != "" {
		t.Error(diff)
	}
	check(t, d.Close())
	want2 := []string{
		"cuInit flags=0", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet ordinal=2", "cuDeviceGetName size=256 device=72", "cuDeviceTotalMem_v2 device=72",
		"cuDeviceGetAttribute attribute=75 device=72", "cuDeviceGetAttribute attribute=76 device=72", "cuDeviceGetAttribute attribute=16 device=72", "cuDeviceGetAttribute attribute=97 device=72",
		"cuDevicePrimaryCtxRetain device=72", "cuCtxSetCurrent alive=1", "cublasLtCreate", "cublasLtDestroy", "cuDevicePrimaryCtxRelease_v2 device=72",
	}
	if diff := cmp.Diff(want2, names{}.in(f.Calls())); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsArriveInTheirPlaces(t *testing.T) {
	f := drivertest.New(t)
	d := open(t)
	f.Calls()
	var n names

	p, q := must(t, func() (device.Pointer, error) { return d.Alloc(1001) }), must(t, func() (device.Pointer, error) { return d.Alloc(1002) })
	h := must(t, func() ([]byte, error) { return d.AllocHost(1003) })
	s := must(t, d.NewStream)
	e := must(t, func() (device.Event, error) { return d.NewEvent(true) })
	e2 := must(t, func() (device.Event, error) { return d.NewEvent(false) })
	m := must(t, func() (device.Module, error) { return d.Load(ptx) })
	k, limits, err := d.Function(m, "twice")
	check(t, err)
	if want := (device.Limits{Threads: 2000, SharedMemory: 2001, Registers: 2004, Local: 2003}); limits != want {
		t.Errorf("got %+v, want %+v", limits, want)
	}
	if !bytes.Equal(h, make([]byte, 1003)) {
		t.Error("page-locked memory is not zero")
	}
	n.add("p", uint64(p))
	n.add("q", uint64(q))
	n.add("p+5", uint64(p+5))
	n.add("q+6", uint64(q+6))
	n.add("h", address(h))
	n.add("h+7", address(h[7:]))
	n.add("s", uint64(s))
	n.add("e", uint64(e))
	n.add("e2", uint64(e2))
	n.add("m", uint64(m))
	n.add("k", uint64(k))

	check(t,
		d.ToDevice(s, p.Add(5), h[7:47]), d.ToHost(s, h[7:57], q.Add(6)), d.Copy(s, q, p.Add(5), 60), d.Clear(s, q.Add(6), 70),
		d.Record(s, e), d.Wait(s, e2), d.SyncStream(s), d.SyncEvent(e), d.Sync(), d.AllowShared(k, 90001),
		d.Launch(s, k, device.Config{Grid: device.Dim{X: 11, Y: 12, Z: 13}, Block: device.Dim{X: 14, Y: 15, Z: 16}, Shared: 17}, []byte{0xde, 0xad, 0, 0xbe, 0xef}),
		d.Launch(s, k, device.Config{Grid: device.Dim{X: 18}, Block: device.Dim{X: 19}}, []byte{1}),
	)
	if took := must(t, func() (time.Duration, error) { return d.Elapsed(e, e2) }); took != 1500*time.Microsecond {
		t.Errorf("got %v, want 1.5ms", took)
	}
	check(t, d.FreeEvent(e), d.FreeEvent(e2), d.FreeStream(s), d.Free(p), d.FreeHost(h), d.Close())
	want := []string{
		"cuMemAlloc_v2 bytes=1001", "cuMemAlloc_v2 bytes=1002", "cuMemHostAlloc bytes=1003 flags=0", "cuStreamCreate flags=1", "cuEventCreate flags=0", "cuEventCreate flags=2",
		"cuModuleLoadDataEx image=36 options=2 keys=5,6 size=8192", "cuModuleGetFunction module=m name=twice",
		"cuFuncGetAttribute attribute=0 function=k", "cuFuncGetAttribute attribute=1 function=k", "cuFuncGetAttribute attribute=4 function=k", "cuFuncGetAttribute attribute=3 function=k",
		"cuMemcpyHtoDAsync_v2 to=p+5 from=h+7 bytes=40 stream=s", "cuMemcpyDtoHAsync_v2 to=h+7 from=q+6 bytes=50 stream=s",
		"cuMemcpyDtoDAsync_v2 to=q from=p+5 bytes=60 stream=s", "cuMemsetD8Async p=q+6 value=0 bytes=70 stream=s",
		"cuEventRecord event=e stream=s", "cuStreamWaitEvent stream=s event=e2 flags=0", "cuStreamSynchronize stream=s", "cuEventSynchronize event=e", "cuStreamSynchronize stream=s",
		"cuFuncSetAttribute function=k attribute=8 value=90001",
		"cuLaunchKernel function=k grid=11,12,13 block=14,15,16 shared=17 stream=s params=0 args=dead00beef",
		"cuLaunchKernel function=k grid=18,1,1 block=19,1,1 shared=0 stream=s params=0 args=01",
		"cuEventElapsedTime from=e to=e2",
		"cuEventDestroy_v2 event=e", "cuEventDestroy_v2 event=e2", "cuStreamSynchronize stream=s", "cuStreamDestroy_v2 stream=s", "cuMemFree_v2 p=p", "cuMemFreeHost p=h",
		"cublasLtDestroy", "cuModuleUnload module=m", "cuMemFree_v2 p=q", "cuDevicePrimaryCtxRelease_v2 device=70",
	}
	if diff := cmp.Diff(want, n.in(f.Calls())); diff != "" {
		t.Error(diff)
	}
}

func TestCopiesMoveBytes(t *testing.T) {
	drivertest.New(t)
	d := open(t)
	s := must(t, d.NewStream)
	h := must(t, func() ([]byte, error) { return d.AllocHost(8) })
	p, q := must(t, func() (device.Pointer, error) { return d.Alloc(8) }), must(t, func() (device.Pointer, error) { return d.Alloc(8) })
	copy(h, "abcdefgh")
	check(t, d.ToDevice(s, p, h), d.Clear(s, p.Add(2), 3), d.Copy(s, q, p, 8), d.SyncStream(s))
	clear(h)
	check(t, d.ToHost(s, h, q), d.SyncStream(s))
	if got, want := string(h), "ab\x00\x00\x00fgh"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	check(t, d.Close())
}

// everything uses every call of the driver, and returns the first error.
func everything() (err error) {
	d, err := driver.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	p, err := d.Alloc(64)
	if err != nil {
		return err
	}
	h, err := d.AllocHost(64)
	if err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	e, err := d.NewEvent(true)
	if err != nil {
		return err
	}
	m, err := d.Load(ptx)
	if err != nil {
		return err
	}
	k, _, err := d.Function(m, "twice")
	if err != nil {
		return err
	}
	shape := device.Matmul{M: 4, N: 4, K: 4, LDA: 4, LDB: 4, LDD: 4, Epilogue: device.GELUAuxBias, AuxLD: 8}
	product, err := d.Plan(shape, 1<<10, "")
	if err != nil {
		return err
	}
	shape.Epilogue, shape.AuxLD = device.None, 0
	if _, err := d.Plan(shape, 1<<10, d.Algorithm(product)); err != nil {
		return err
	}
	if _, err := d.Algorithms(shape, 1<<10); err != nil {
		return err
	}
	c := d.(device.Collectives)
	id, err := c.UniqueID()
	if err != nil {
		return err
	}
	comm, err := c.Connect(context.Background(), id, 0, 1)
	if err != nil {
		return err
	}
	second, err := c.Connect(context.Background(), id, 0, 1)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return d.ToDevice(s, p, h) },
		func() error { return d.ToHost(s, h, p) },
		func() error { return d.Copy(s, p, p, 4) },
		func() error { return d.Clear(s, p, 4) },
		func() error { return d.Record(s, e) },
		func() error { return d.Wait(s, e) },
		func() error { return d.AllowShared(k, 1) },
		func() error { return d.Launch(s, k, device.Config{}, []byte{1}) },
		func() error { return d.Matmul(s, product, device.Operands{A: p, B: p, D: p, Bias: p, Aux: p}) },
		func() error {
			return c.Collect(s, comm, device.Collective{Send: p, Receive: p, N: 1}, device.Collective{Kind: device.ReduceScatter, Send: p, Receive: p, N: 1},
				device.Collective{Kind: device.AllGather, Send: p, Receive: p, N: 1}, device.Collective{Kind: device.Broadcast, Send: p, Receive: p, N: 1})
		},
		func() error { return d.SyncEvent(e) }, // asks, as communicators exist
		func() error { return d.SyncStream(s) },
		func() error { return c.AsyncError(comm) },
		func() error { return c.Disconnect(comm) },
		func() error { c.Abort(second, errors.New("aborted")); return c.Disconnect(second) },
		func() error { return d.SyncEvent(e) }, // waits
		func() error { _, err := d.Elapsed(e, e); return err },
		func() error { return d.Sync() },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Calls whose failure has no effect: a plan that cannot be reused is made anew, and
// what only frees a preference has nothing to report. Neither has an abort: its cause
// is the error.
var harmless = []string{"cublasLtMatmulAlgoCheck", "cublasLtMatmulPreferenceDestroy", "ncclCommAbort"}

func TestEveryFailureNamesItsCallAndFreesTheRest(t *testing.T) {
	f := drivertest.New(t)
	check(t, everything())
	calls := f.Calls()
	if last := calls[len(calls)-1]; !strings.HasPrefix(last, "cuDevicePrimaryCtxRelease") {
		t.Fatalf("the last call is %s", last)
	}
	if len(calls) < 95 {
		t.Fatalf("%d calls only", len(calls))
	}
	for i, call := range calls {
		name, _, _ := strings.Cut(call, " ")
		// Its own library: calls are counted from its loading.
		f := drivertest.New(t)
		f.FailAt(i+1, 719)
		err := everything()
		after := f.Calls()
		f.FailAt(0, 0)
		beforeAbort := i+1 < len(calls) && strings.HasPrefix(calls[i+1], "ncclCommAbort") // in a thread of its own, which gets the context first
		if slices.Contains(harmless, name) || beforeAbort {
			check(t, err)
			continue
		}
		var e *device.Error
		if !errors.As(err, &e) || e.Call != strings.TrimSuffix(name, "_v2") || e.Code != 719 || e.Name == "" || !strings.Contains(err.Error(), e.Call+": ") {
			t.Errorf("call %d, %s: got %v", i+1, name, err)
		}
		isRetain := func(call string) bool { return strings.HasPrefix(call, "cuDevicePrimaryCtxRetain") }
		isRelease := func(call string) bool { return strings.HasPrefix(call, "cuDevicePrimaryCtxRelease") }
		if slices.ContainsFunc(after, isRetain) && !isRetain(name) && !slices.ContainsFunc(after, isRelease) {
			t.Errorf("call %d, %s: the context is not released", i+1, name)
		}
		// All that there was is freed, but for what the failed call was to free.
		for _, call := range after {
			if freed := strings.Contains(name, "Free") || strings.Contains(name, "Destroy") || strings.Contains(name, "Unload") || strings.Contains(name, "Release"); strings.HasPrefix(call, "LEAK") && !freed {
				t.Errorf("call %d, %s: %s", i+1, name, call)
			}
		}
	}
}

func TestADeviceThatFailedIsClosedWithOneError(t *testing.T) {
	drivertest.New(t)
	d := open(t)
	for range 3 {
		must(t, func() (device.Pointer, error) { return d.Alloc(16) })
	}
	t.Setenv("FAKE_FAIL", "cuMemFree_v2")
	t.Setenv("FAKE_FAIL_CODE", "700")
	if err := d.Close(); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "cuMemFree: CUDA_ERROR_FAKE_700 (700)") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsSayWhatWasTried(t *testing.T) {
	drivertest.New(t)
	d := open(t)
	m := must(t, func() (device.Module, error) { return d.Load(ptx) })
	fail := func(function string, code string, do func() error) string {
		t.Helper()
		t.Setenv("FAKE_FAIL", function)
		t.Setenv("FAKE_FAIL_CODE", code)
		err := do()
		t.Setenv("FAKE_FAIL", "")
		if err == nil {
			t.Fatalf("%s did not fail", function)
		}
		return err.Error()
	}
	got := []string{
		fail("cuMemAlloc_v2", "2", func() error { _, err := d.Alloc(77); return err }),
		fail("cuModuleLoadDataEx", "998", func() error { _, err := d.Load(ptx); return err }),
		fail("", "0", func() error { _, _, err := d.Function(m, "thrice"); return err }),
		fail("cublasLtMatmulAlgoGetHeuristic", "15", func() error {
			_, err := d.Plan(device.Matmul{M: 3, N: 5, K: 7, LDA: 3, LDB: 7, LDD: 3}, 100, "")
			return err
		}),
		fail("cuLaunchKernel", "700", func() error {
			k, _, err := d.Function(m, "twice")
			check(t, err)
			return d.Launch(must(t, d.NewStream), k, device.Config{Grid: device.Dim{X: 7}, Block: device.Dim{X: 8, Y: 9}, Shared: 10}, []byte{1})
		}),
		fail("cuStreamSynchronize", "716", func() error { return d.SyncStream(must(t, d.NewStream)) }),
		fail("cublasLtMatmulAlgoGetHeuristic", "77", func() error { _, err := d.Plan(device.Matmul{}, 100, ""); return err }),
	}
	want := []string{
		"allocate 77 bytes of GPU memory (1234 of 5678 are free): cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): as the test asked for",
		"compile kernels for Fake GPU 70: cuModuleLoadDataEx: CUDA_ERROR_FAKE_998 (998)\nptxas: line 7: .version 8.1\n.visibl",
		"kernel thrice: cuModuleGetFunction: CUDA_ERROR_FAKE_500 (500): as the test asked for",
		"plan the product 3×7 · 7×5, type 0 to 0, epilogue 0, with 100 bytes of workspace: cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED (15)",
		"launch twice (grid 7×1×1, block 8×9×1, 10 bytes of shared memory): cuLaunchKernel: CUDA_ERROR_FAKE_700 (700): as the test asked for",
		"cuStreamSynchronize: CUDA_ERROR_FAKE_716 (716): as the test asked for; run with CUDA_LAUNCH_BLOCKING=1 to see which kernel did it",
		"plan the product 0×0 · 0×0, type 0 to 0, epilogue 0, with 100 bytes of workspace: cublasLtMatmulAlgoGetHeuristic: unknown cuBLAS error (77)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	check(t, d.Close())
}

func TestOpenSaysWhatIsMissing(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.so")
	for name, c := range map[string]struct {
		change func(f *drivertest.Fake)
		want   string // DIR stands for the directory
	}{
		"no driver":   {func(f *drivertest.Fake) { os.Remove(f.Dir + "/libcuda.so.1") }, "NVIDIA's driver (libcuda.so.1) was not found in the directories of PRETEXT_CUDA_LIBS (DIR): install NVIDIA's driver, 530 or newer, or name its directory in PRETEXT_CUDA_LIBS"},
		"no cuBLASLt": {func(f *drivertest.Fake) { os.Remove(f.Dir + "/libcublasLt.so.12") }, "cuBLASLt (libcublasLt.so.12, libcublasLt.so.11) was not found in the directories of PRETEXT_CUDA_LIBS (DIR): install the CUDA toolkit, or pip install nvidia-cublas-cu12, or name its directory in PRETEXT_CUDA_LIBS"},
		"newer cuBLASLt than the driver": {func(f *drivertest.Fake) { os.Rename(f.Dir+"/libcublasLt.so.12", f.Dir+"/libcublasLt.so.13") },
			"cuBLASLt (libcublasLt.so.12, libcublasLt.so.11) was not found in the directories of PRETEXT_CUDA_LIBS (DIR): install the CUDA toolkit, or pip install nvidia-cublas-cu12, or name its directory in PRETEXT_CUDA_LIBS"},
		"not a library": {func(f *drivertest.Fake) { os.WriteFile(f.Dir+"/libcuda.so.1", []byte("text"), 0o644) }, "NVIDIA's driver was found and cannot be loaded: DIR/libcuda.so.1: file too short"},
		"an older driver, by a function": {func(f *drivertest.Fake) {
			if err := drivertest.Compile(old, "-DFAKE_CUDA", "-DcuMemHostAlloc=cuMemAllocHost"); err != nil {
				t.Fatal(err)
			}
			os.Rename(old, f.Dir+"/libcuda.so.1")
		}, "NVIDIA's driver is too old: DIR/libcuda.so.1 has no function cuMemHostAlloc; CUDA 12.1 or newer is needed, which is driver 530"},
		"an older driver, by its version": {func(f *drivertest.Fake) { t.Setenv("FAKE_VERSION", "12000") }, "NVIDIA's driver is too old: it supports CUDA 12.0; CUDA 12.1 or newer is needed, which is driver 530"},
		"an older cuBLASLt": {func(f *drivertest.Fake) {
			if err := drivertest.Compile(old, "-DFAKE_BLAS", "-DcublasLtMatmulAlgoCheck=other"); err != nil {
				t.Fatal(err)
			}
			os.Rename(old, f.Dir+"/libcublasLt.so.12")
		}, "DIR/libcublasLt.so.12 has no function cublasLtMatmulAlgoCheck: install a newer cuBLAS"},
		"no GPU":            {func(f *drivertest.Fake) { t.Setenv("FAKE_DEVICES", "0") }, "NVIDIA's driver is installed and sees no GPU (cuInit: CUDA_ERROR_NO_DEVICE): check nvidia-smi, and CUDA_VISIBLE_DEVICES"},
		"too few GPUs":      {func(f *drivertest.Fake) { t.Setenv("FAKE_DEVICES", "-1") }, "this machine has -1 GPUs, from cuda:0 to cuda:-2"},
		"a GPU that is old": {func(f *drivertest.Fake) { t.Setenv("FAKE_MAJOR", "7") }, "Fake GPU 70 has compute capability 7.0; 8.0 or newer is needed (A100 and later)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := drivertest.New(t)
			c.change(f)
			t.Cleanup(func() { os.Unsetenv("FAKE_VERSION"); os.Unsetenv("FAKE_DEVICES"); os.Unsetenv("FAKE_MAJOR") })
			d, err := driver.Open(0)
			if d != nil || !errors.Is(err, trainer.ErrUnavailable) {
				t.Fatalf("got %v, %v", d, err)
			}
			if got, want := strings.ReplaceAll(err.Error(), f.Dir, "DIR"), "open cuda:0: device unavailable: "+c.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestEveryThreadGetsTheContext(t *testing.T) {
	drivertest.New(t)
	for range 3 { // a new context each time, perhaps at the same address
		d := open(t)
		var one sync.Mutex
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
				one.Lock()
				defer one.Unlock()
				p, err := d.Alloc(16)
				if err == nil {
					err = d.Free(p)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		check(t, d.Close())
	}
}

func TestMisuseIsRefused(t *testing.T) {
	f := drivertest.New(t)
	d := open(t)
	s := must(t, d.NewStream)
	p := must(t, func() (device.Pointer, error) { return d.Alloc(64) })
	h := must(t, func() ([]byte, error) { return d.AllocHost(64) })
	m := must(t, func() (device.Module, error) { return d.Load(ptx) })
	k, _, err := d.Function(m, "twice")
	check(t, err, d.Free(p))
	product := must(t, func() (device.Product, error) {
		return d.Plan(device.Matmul{M: 1, N: 1, K: 1, LDA: 1, LDB: 1, LDD: 1, Epilogue: device.Bias}, 1000, "")
	})
	f.Calls()
	for name, err := range map[string]error{
		"allocating nothing":       second(d.Alloc(0)),
		"freeing twice":            d.Free(p),
		"freeing a part":           d.FreeHost(h[1:]),
		"copying from Go's memory": d.ToDevice(s, p, make([]byte, 8)),
		"copying beyond the end":   d.ToHost(s, append(h[:64:64], 0), p),
		"a negative grid":          d.Launch(s, k, device.Config{Grid: device.Dim{X: -1}}, []byte{1}),
		"no arguments":             d.Launch(s, k, device.Config{}, nil),
		"no bias":                  d.Matmul(s, product, device.Operands{A: p, B: p, D: p}),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if calls := f.Calls(); len(calls) > 1 || calls[0] != "" {
		t.Errorf("the library was called: %q", calls)
	}
	check(t, d.Close())
}

func second[T any](_ T, err error) error { return err }

func TestLookReportsLibrariesAndDevices(t *testing.T) {
	f := drivertest.New(t)
	t.Setenv("FAKE_DEVICES", "2")
	s := driver.Look()
	check(t, s.Err)
	dir := must(t, func() (string, error) { return filepath.EvalSymlinks(f.Dir) })
	want := []driver.Library{{Name: "NVIDIA's driver", Path: dir + "/libcuda.so.1", Version: "CUDA 12.8"}, {Name: "cuBLASLt", Path: dir + "/libcublasLt.so.12", Version: "12.6.4"}, {Name: "NCCL", Path: dir + "/libnccl.so.2", Version: "2.21.5"}}
	if diff := cmp.Diff(want, s.Libraries); diff != "" {
		t.Error(diff)
	}
	if len(s.Devices) != 2 || s.Devices[0].Name != "Fake GPU 70" || s.Devices[1].Name != "Fake GPU 71" || s.CUDA != "12.8" {
		t.Errorf("got %+v", s)
	}
	os.Remove(f.Dir + "/libcublasLt.so.12")
	if s := driver.Look(); !errors.Is(s.Err, trainer.ErrUnavailable) || len(s.Libraries) != 1 {
		t.Errorf("without cuBLASLt: got %+v", s)
	}
}
