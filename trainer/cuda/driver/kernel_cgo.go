//go:build cgo && linux

package driver

// #include <stdlib.h>
// #include "gpu.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"pretext/trainer/cuda/device"
)

// logBytes is the size of the buffer for the messages of the driver's compiler.
const logBytes = 8 << 10

// Load compiles PTX for this device. The driver caches the result on disk, so it is
// quick when the same text is loaded again.
func (g *gpu) Load(ptx string) (device.Module, error) {
	text, log := C.CString(ptx), (*C.char)(C.calloc(1, logBytes))
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(log))
	var m C.CUmodule
	if err := g.cuda("cuModuleLoadDataEx", C.pt_load(g.c, &m, text, log, logBytes)); err != nil {
		if said := strings.TrimSpace(C.GoString(log)); said != "" {
			err = fmt.Errorf("%w\n%s", err, said)
		}
		return 0, fmt.Errorf("compile kernels for %s: %w", g.properties.Name, err)
	}
	g.modules[device.Module(m)] = m
	return device.Module(m), nil
}

// Function returns the kernel with the given name, and its limits.
func (g *gpu) Function(m device.Module, name string) (device.Function, device.Limits, error) {
	c, ok := g.modules[m]
	if !ok {
		panic(fmt.Sprintf("BUG: module %#x was not loaded here", uintptr(m)))
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var f C.CUfunction
	err := g.cuda("cuModuleGetFunction", C.pt_cuModuleGetFunction(g.c, &f, c, text))
	var l device.Limits
	for _, a := range []struct {
		to        *int
		attribute C.CUfunction_attribute
	}{
		{&l.Threads, C.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
		{&l.SharedMemory, C.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
		{&l.Registers, C.CU_FUNC_ATTRIBUTE_NUM_REGS},
		{&l.Local, C.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
	} {
		if err != nil {
			return 0, device.Limits{}, fmt.Errorf("kernel %s: %w", name, err)
		}
		var value C.int
		err = g.cuda("cuFuncGetAttribute", C.pt_cuFuncGetAttribute(g.c, &value, a.attribute, f))
		*a.to = int(value)
	}
	if err != nil {
		return 0, device.Limits{}, fmt.Errorf("kernel %s: %w", name, err)
	}
	g.functions[device.Function(f)] = function{f, name}
	return device.Function(f), l, nil
}

// A function is the driver's handle of a kernel, with the name for errors.
type function struct {
	handle C.CUfunction
	name   string
}

func (g *gpu) function(f device.Function) function {
	c, ok := g.functions[f]
	if !ok {
		panic(fmt.Sprintf("BUG: function %#x is of no module loaded here", uintptr(f)))
	}
	return c
}

// AllowShared sets the maximum dynamic shared memory of launches of f, in bytes.
func (g *gpu) AllowShared(f device.Function, bytes int) error {
	k := g.function(f)
	if err := g.cuda("cuFuncSetAttribute", C.pt_cuFuncSetAttribute(g.c, k.handle, C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes))); err != nil {
		return fmt.Errorf("kernel %s: allow %d bytes of shared memory: %w", k.name, bytes, err)
	}
	return nil
}

// Launch queues a launch of kernel f in stream s.
func (g *gpu) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	k := g.function(f)
	if len(args) == 0 {
		return fmt.Errorf("launch %s: no arguments, want those of the kernel", k.name)
	}
	if err := check(c); err != nil {
		return fmt.Errorf("launch %s: %w", k.name, err)
	}
	g.config = C.pt_launch_config{
		stream: C.uintptr_t(uintptr(g.stream(s))), function: C.uintptr_t(f),
		grid: extent(c.Grid), block: extent(c.Block), shared: C.uint(c.Shared),
	}
	if err := g.cuda("cuLaunchKernel", C.pt_launch(g.c, &g.config, unsafe.Pointer(&args[0]), C.size_t(len(args)))); err != nil {
		grid, block := g.config.grid, g.config.block
		return fmt.Errorf("launch %s (grid %d×%d×%d, block %d×%d×%d, %d bytes of shared memory): %w", k.name, grid[0], grid[1], grid[2], block[0], block[1], block[2], c.Shared, err)
	}
	return nil
}

// check returns an error if a number of c does not fit into a C unsigned int. The
// driver checks everything else.
func check(c device.Config) error {
	for _, n := range []int{c.Grid.X, c.Grid.Y, c.Grid.Z, c.Block.X, c.Block.Y, c.Block.Z, c.Shared} {
		if n < 0 || n > 1<<31-1 {
			return errors.New("a dimension or the shared memory is out of range")
		}
	}
	return nil
}

func extent(d device.Dim) [3]C.uint {
	return [3]C.uint{C.uint(max(d.X, 1)), C.uint(max(d.Y, 1)), C.uint(max(d.Z, 1))}
}
