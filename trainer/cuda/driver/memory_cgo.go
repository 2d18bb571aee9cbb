//go:build cgo && linux

package driver

// #include "gpu.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"pretext/trainer/cuda/device"
)

// Alloc allocates n bytes of device memory.
func (g *gpu) Alloc(n int) (device.Pointer, error) {
	if n <= 0 {
		return 0, fmt.Errorf("allocate %d bytes of GPU memory: must be positive", n)
	}
	var p C.CUdeviceptr
	if err := g.cuda("cuMemAlloc", C.pt_cuMemAlloc_v2(g.c, &p, C.size_t(n))); err != nil {
		free := ""
		var e *device.Error
		var available, total C.size_t
		if errors.As(err, &e) && e.Code == C.CUDA_ERROR_OUT_OF_MEMORY && C.pt_cuMemGetInfo_v2(g.c, &available, &total) == C.CUDA_SUCCESS {
			free = fmt.Sprintf(" (%d of %d are free)", available, total)
		}
		return 0, fmt.Errorf("allocate %d bytes of GPU memory%s: %w", n, free, err)
	}
	g.memory[device.Pointer(p)] = n
	return device.Pointer(p), nil
}

// Free frees device memory.
func (g *gpu) Free(p device.Pointer) error {
	n, ok := g.memory[p]
	if !ok {
		return fmt.Errorf("free GPU memory at %#x: it was not allocated here, or is freed already", uint64(p))
	}
	delete(g.memory, p)
	if err := g.cuda("cuMemFree", C.pt_cuMemFree_v2(g.c, C.CUdeviceptr(p))); err != nil {
		return fmt.Errorf("free %d bytes of GPU memory at %#x: %w", n, uint64(p), err)
	}
	return nil
}

// hostMemory is an allocation of page-locked host memory.
type hostMemory struct {
	start unsafe.Pointer
	bytes int
}

// AllocHost allocates n bytes of page-locked host memory, set to zero.
func (g *gpu) AllocHost(n int) ([]byte, error) {
	if n <= 0 {
		return nil, fmt.Errorf("allocate %d bytes of page-locked memory: must be positive", n)
	}
	var p unsafe.Pointer
	if err := g.cuda("cuMemHostAlloc", C.pt_cuMemHostAlloc(g.c, &p, C.size_t(n), 0)); err != nil {
		return nil, fmt.Errorf("allocate %d bytes of page-locked memory: %w", n, err)
	}
	g.host[uintptr(p)] = hostMemory{p, n}
	b := unsafe.Slice((*byte)(p), n)
	clear(b)
	return b, nil
}

// FreeHost frees page-locked host memory. b must be the whole allocation.
func (g *gpu) FreeHost(b []byte) error {
	if m, ok := g.host[uintptr(unsafe.Pointer(unsafe.SliceData(b)))]; !ok || m.bytes != len(b) {
		return fmt.Errorf("free %d bytes of page-locked memory: want the whole slice that AllocHost returned", len(b))
	}
	return g.freeHost(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func (g *gpu) freeHost(at uintptr) error {
	m := g.host[at]
	delete(g.host, at)
	if err := g.cuda("cuMemFreeHost", C.pt_cuMemFreeHost(g.c, m.start)); err != nil {
		return fmt.Errorf("free %d bytes of page-locked memory: %w", m.bytes, err)
	}
	return nil
}

// locked returns the address of b, and an error if b is not inside of page-locked
// memory. Copies access b after the call returns, when Go may have moved or reused
// memory of its own.
func (g *gpu) locked(b []byte) (unsafe.Pointer, error) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	for at, m := range g.host {
		if uintptr(p) >= at && uintptr(p)+uintptr(len(b)) <= at+uintptr(m.bytes) {
			return p, nil
		}
	}
	return nil, errors.New("host memory is not from AllocHost")
}

// ToDevice queues a copy of b, which is page-locked host memory, to the device.
func (g *gpu) ToDevice(s device.Stream, to device.Pointer, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	from, err := g.locked(b)
	if err == nil {
		err = g.cuda("cuMemcpyHtoDAsync", C.pt_cuMemcpyHtoDAsync_v2(g.c, C.CUdeviceptr(to), from, C.size_t(len(b)), g.stream(s)))
	}
	if err != nil {
		return fmt.Errorf("copy %d bytes to the GPU: %w", len(b), err)
	}
	return nil
}

// ToHost queues a copy of len(b) bytes of device memory to b, which is page-locked
// host memory.
func (g *gpu) ToHost(s device.Stream, b []byte, from device.Pointer) error {
	if len(b) == 0 {
		return nil
	}
	to, err := g.locked(b)
	if err == nil {
		err = g.cuda("cuMemcpyDtoHAsync", C.pt_cuMemcpyDtoHAsync_v2(g.c, to, C.CUdeviceptr(from), C.size_t(len(b)), g.stream(s)))
	}
	if err != nil {
		return fmt.Errorf("copy %d bytes from the GPU: %w", len(b), err)
	}
	return nil
}

// Copy queues a copy of n bytes of device memory to other device memory.
func (g *gpu) Copy(s device.Stream, to, from device.Pointer, n int) error {
	if n <= 0 {
		return nil
	}
	if err := g.cuda("cuMemcpyDtoDAsync", C.pt_cuMemcpyDtoDAsync_v2(g.c, C.CUdeviceptr(to), C.CUdeviceptr(from), C.size_t(n), g.stream(s))); err != nil {
		return fmt.Errorf("copy %d bytes inside the GPU: %w", n, err)
	}
	return nil
}

// Clear queues setting n bytes of device memory to zero.
func (g *gpu) Clear(s device.Stream, p device.Pointer, n int) error {
	if n <= 0 {
		return nil
	}
	if err := g.cuda("cuMemsetD8Async", C.pt_cuMemsetD8Async(g.c, C.CUdeviceptr(p), 0, C.size_t(n), g.stream(s))); err != nil {
		return fmt.Errorf("clear %d bytes of GPU memory: %w", n, err)
	}
	return nil
}
