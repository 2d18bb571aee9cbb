//go:build cgo && linux

package driver

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "gpu.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

// gpu implements [device.Device] and [device.Collectives]. One type implements both, because
// all handles below are valid in the same context of the driver only.
type gpu struct {
	c          *C.pt_gpu // allocated by C
	ordinal    C.CUdevice
	properties device.Properties
	blas       C.cublasLtHandle_t

	memory    map[device.Pointer]int // size of each allocation of device memory, in bytes
	host      map[uintptr]hostMemory // page-locked host memory, by address
	streams   map[device.Stream]C.CUstream
	events    map[device.Event]C.CUevent
	modules   map[device.Module]C.CUmodule
	functions map[device.Function]function
	products  map[device.Product]*product
	planned   device.Product // handle of the latest planned product

	nccl            Library    // empty: not loaded
	communicatorsMu sync.Mutex // for communicators, which Abort uses from other goroutines
	communicators   map[device.Communicator]*communicator
	connected       device.Communicator // handle of the latest communicator

	// Arguments of the current call. They are fields so that a call does not allocate memory.
	config      C.pt_launch_config
	operands    C.pt_operands
	collectives []C.pt_collective
}

// The oldest CUDA version whose driver compiles the kernels' PTX (version 8.1), and
// the oldest compute capability with all instructions that the kernels use.
const (
	oldestCUDA  = 12010
	oldestMajor = 8
)

// Open opens the GPU with the given ordinal, which counts from 0. If the GPU does
// not exist, or if the driver or a library is missing or too old, the error wraps
// [trainer.ErrUnavailable] and says what to do.
func Open(ordinal int) (device.Device, error) {
	g, _, err := load()
	if err == nil {
		if err = g.attach(ordinal); err != nil {
			err = errors.Join(append([]error{err}, g.release()...)...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open cuda:%d: %w", ordinal, err)
	}
	return g, nil
}

// attach connects g to the GPU with the given ordinal. It returns an error if the GPU does
// not exist or is too old.
func (g *gpu) attach(ordinal int) error {
	n, err := g.count()
	if err != nil {
		return err
	}
	if ordinal < 0 || ordinal >= n {
		return fmt.Errorf("%w: this machine has %d GPUs, from cuda:0 to cuda:%d", trainer.ErrUnavailable, n, n-1)
	}
	if err := g.describe(ordinal); err != nil {
		return err
	}
	if p := g.properties; p.Major < oldestMajor {
		return fmt.Errorf("%w: %s has compute capability %d.%d; %d.0 or newer is needed (A100 and later)", trainer.ErrUnavailable, p.Name, p.Major, p.Minor, oldestMajor)
	}
	var context C.CUcontext
	if err := g.cuda("cuDevicePrimaryCtxRetain", C.pt_cuDevicePrimaryCtxRetain(g.c, &context, g.ordinal)); err != nil {
		return err
	}
	C.pt_set_context(g.c, context)
	if err := g.lt("cublasLtCreate", C.pt_cublasLtCreate(g.c, &g.blas)); err != nil {
		return fmt.Errorf("%w (%s)", err, g.properties.BLAS)
	}
	return nil
}

// load opens the driver, asks it for its version, and opens a cuBLASLt that the driver
// supports. It returns the libraries that were opened even if it fails.
func load() (g *gpu, found []Library, err error) {
	g = &gpu{
		c:      (*C.pt_gpu)(C.calloc(1, C.sizeof_pt_gpu)),
		memory: map[device.Pointer]int{}, host: map[uintptr]hostMemory{},
		streams: map[device.Stream]C.CUstream{}, events: map[device.Event]C.CUevent{},
		modules: map[device.Module]C.CUmodule{}, functions: map[device.Function]function{}, products: map[device.Product]*product{},
		communicators: map[device.Communicator]*communicator{},
	}
	defer func(c *C.pt_gpu) {
		if err != nil {
			C.free(unsafe.Pointer(c))
		}
	}(g.c)
	library, driver, err := wantedDriver().open()
	if err != nil {
		return nil, nil, err
	}
	found = []Library{driver}
	if missing := C.pt_bind_cuda(g.c, library); missing != nil {
		return nil, found, tooOld("%s has no function %s", driver.Path, C.GoString(missing))
	}
	if r := C.pt_cuInit(g.c, 0); r == C.CUDA_ERROR_NO_DEVICE {
		return nil, found, fmt.Errorf("%w: NVIDIA's driver is installed and sees no GPU (cuInit: CUDA_ERROR_NO_DEVICE): check nvidia-smi, and CUDA_VISIBLE_DEVICES", trainer.ErrUnavailable)
	} else if err := g.cuda("cuInit", r); err != nil {
		return nil, found, fmt.Errorf("%w: %w: check that nvidia-smi works", trainer.ErrUnavailable, err)
	}
	var version C.int
	if err := g.cuda("cuDriverGetVersion", C.pt_cuDriverGetVersion(g.c, &version)); err != nil {
		return nil, found, err
	}
	g.properties.Driver = cudaVersion(int(version))
	found[0].Version = "CUDA " + g.properties.Driver
	if version < oldestCUDA {
		return nil, found, tooOld("it supports CUDA %s", g.properties.Driver)
	}
	library, blas, err := wantedBLAS(int(version) / 1000).open()
	if err != nil {
		return nil, found, err
	}
	found = append(found, blas)
	if missing := C.pt_bind_blas(g.c, library); missing != nil {
		return nil, found, fmt.Errorf("%w: %s has no function %s: install a newer cuBLAS", trainer.ErrUnavailable, blas.Path, C.GoString(missing))
	}
	found[1].Version = blasVersion(int(C.pt_cublasLtGetVersion(g.c)))
	g.properties.BLAS = "cublasLt " + found[1].Version
	return g, found, nil
}

func tooOld(format string, a ...any) error {
	return fmt.Errorf("%w: NVIDIA's driver is too old: %s; CUDA %s or newer is needed, which is driver 530", trainer.ErrUnavailable, fmt.Sprintf(format, a...), cudaVersion(oldestCUDA))
}

// cudaVersion formats CUDA's version number: 12010 is "12.1".
func cudaVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// blasVersion formats the number that cublasLtGetVersion returns: 120604 is
// "12.6.4".
func blasVersion(v int) string { return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100) }

// open opens the first candidate that dlopen accepts. The error says what to do.
func (w wanted) open() (unsafe.Pointer, Library, error) {
	var refused []string
	for _, path := range w.candidates() {
		p := C.CString(path)
		found := (*C.char)(C.calloc(1, pathMax))
		var problem *C.char
		library := C.pt_open(p, found, pathMax, &problem)
		l := Library{Name: w.name, Path: C.GoString(found)}
		if library == nil && strings.Contains(path, "/") {
			refused = append(refused, C.GoString(problem))
		}
		C.free(unsafe.Pointer(p))
		C.free(unsafe.Pointer(found))
		if library != nil {
			return library, l, nil
		}
	}
	if len(refused) > 0 {
		return nil, Library{}, fmt.Errorf("%w: %s was found and cannot be loaded: %s", trainer.ErrUnavailable, w.name, refused[0])
	}
	return nil, Library{}, fmt.Errorf("%w: %s (%s) was not found %s: %s, or name its directory in %s",
		trainer.ErrUnavailable, w.name, strings.Join(w.files, ", "), w.place(), w.cure, override)
}

const pathMax = 4096

func (g *gpu) count() (int, error) {
	var n C.int
	err := g.cuda("cuDeviceGetCount", C.pt_cuDeviceGetCount(g.c, &n))
	return int(n), err
}

// describe sets g.ordinal and g.properties to those of the GPU with this ordinal.
func (g *gpu) describe(ordinal int) error {
	p := &g.properties
	if err := g.cuda("cuDeviceGet", C.pt_cuDeviceGet(g.c, &g.ordinal, C.int(ordinal))); err != nil {
		return err
	}
	name := make([]C.char, 256)
	if err := g.cuda("cuDeviceGetName", C.pt_cuDeviceGetName(g.c, &name[0], C.int(len(name)), g.ordinal)); err != nil {
		return err
	}
	p.Name = C.GoString(&name[0])
	var total C.size_t
	if err := g.cuda("cuDeviceTotalMem", C.pt_cuDeviceTotalMem_v2(g.c, &total, g.ordinal)); err != nil {
		return err
	}
	p.Memory = int64(total)
	for _, a := range []struct {
		to        *int
		attribute C.CUdevice_attribute
	}{
		{&p.Major, C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
		{&p.Minor, C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
		{&p.Multiprocessors, C.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
		{&p.SharedMemory, C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
	} {
		var value C.int
		if err := g.cuda("cuDeviceGetAttribute", C.pt_cuDeviceGetAttribute(g.c, &value, a.attribute, g.ordinal)); err != nil {
			return err
		}
		*a.to = int(value)
	}
	return nil
}

// Look reports the libraries and GPUs of this machine. It opens no device.
func Look() Survey {
	g, libraries, err := load()
	s := Survey{Libraries: libraries, Err: err}
	if err != nil {
		return s
	}
	defer C.free(unsafe.Pointer(g.c))
	if s.NCCL = g.loadNCCL(); s.NCCL == nil {
		s.Libraries = append(s.Libraries, g.nccl)
	}
	s.CUDA = g.properties.Driver
	n, err := g.count()
	for i := 0; err == nil && i < n; i++ {
		if err = g.describe(i); err == nil {
			s.Devices = append(s.Devices, g.properties)
		}
	}
	s.Err = err
	return s
}

// Properties returns the name, memory and other properties of the GPU.
func (g *gpu) Properties() device.Properties { return g.properties }

// Close waits for queued work and frees all memory, streams and other resources of
// the device. If freeing one resource fails, Close still frees the others.
// Communicators that are not disconnected are aborted.
func (g *gpu) Close() error {
	g.communicatorsMu.Lock()
	for id, c := range g.communicators {
		c.abort(g, errors.New("the device is closed"))
		if !c.gone() {
			g.c.stuck = 1
		}
		delete(g.communicators, id)
	}
	g.communicatorsMu.Unlock()
	if g.c.stuck != 0 {
		return errStuck // every further call would wait for the GPU
	}
	errs := append([]error{g.Sync()}, g.release()...)
	// After a failure the device returns the same code from every call: report each code once.
	seen := map[int]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		var e *device.Error
		if !errors.As(err, &e) {
			return false
		}
		again := seen[e.Code]
		seen[e.Code] = true
		return again
	})...)
}

// release frees all resources of the device and returns one error, or nil, for each.
func (g *gpu) release() []error {
	var errs []error
	for _, p := range slices.Sorted(maps.Keys(g.products)) {
		errs = append(errs, g.FreeProduct(p))
	}
	if g.blas != nil {
		errs = append(errs, g.lt("cublasLtDestroy", C.pt_cublasLtDestroy(g.c, g.blas)))
	}
	for _, e := range slices.Sorted(maps.Keys(g.events)) {
		errs = append(errs, g.FreeEvent(e))
	}
	for _, s := range slices.Sorted(maps.Keys(g.streams)) {
		errs = append(errs, g.FreeStream(s))
	}
	for _, m := range slices.Sorted(maps.Keys(g.modules)) {
		errs = append(errs, g.cuda("cuModuleUnload", C.pt_cuModuleUnload(g.c, g.modules[m])))
	}
	for _, p := range slices.Sorted(maps.Keys(g.memory)) {
		errs = append(errs, g.Free(p))
	}
	for _, p := range slices.Sorted(maps.Keys(g.host)) {
		errs = append(errs, g.freeHost(p))
	}
	if g.c.context != nil {
		C.pt_set_context(g.c, nil)
		errs = append(errs, g.cuda("cuDevicePrimaryCtxRelease", C.pt_cuDevicePrimaryCtxRelease_v2(g.c, g.ordinal)))
	}
	C.free(unsafe.Pointer(g.c))
	g.c = nil
	return errs
}
