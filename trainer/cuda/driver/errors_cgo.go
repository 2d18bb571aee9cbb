//go:build cgo && linux

package driver

// #include "gpu.h"
import "C"

import (
	"slices"

	"pretext/trainer/cuda/device"
)

// faults lists the errors that a running kernel can cause. The driver returns them
// from a later call.
var faults = []int{C.CUDA_ERROR_ILLEGAL_ADDRESS, C.CUDA_ERROR_ILLEGAL_INSTRUCTION, C.CUDA_ERROR_MISALIGNED_ADDRESS, C.CUDA_ERROR_INVALID_ADDRESS_SPACE, C.CUDA_ERROR_INVALID_PC, C.CUDA_ERROR_LAUNCH_FAILED}

// cuda converts r, the result of the driver function named call, to an error, and
// success to nil.
func (g *gpu) cuda(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	if r < 0 && g.c.stuck != 0 {
		return errStuck
	}
	if r < 0 { // see pt_gpu's functions
		call, r = "cuCtxSetCurrent", -r
	}
	e := &device.Error{Call: call, Code: int(r), Name: "unknown CUDA error"}
	var text *C.char
	if C.pt_cuGetErrorName(g.c, r, &text) == C.CUDA_SUCCESS && text != nil {
		e.Name = C.GoString(text)
	}
	if C.pt_cuGetErrorString(g.c, r, &text) == C.CUDA_SUCCESS && text != nil {
		e.Detail = C.GoString(text)
	}
	if slices.Contains(faults, int(r)) && call != "cuLaunchKernel" {
		e.Detail += "; run with CUDA_LAUNCH_BLOCKING=1 to see which kernel did it"
	}
	return e
}

// statuses holds the names of cuBLASLt's errors, because older versions have no
// function that returns them.
var statuses = map[C.cublasStatus_t]string{
	C.CUBLAS_STATUS_NOT_INITIALIZED:  "CUBLAS_STATUS_NOT_INITIALIZED",
	C.CUBLAS_STATUS_ALLOC_FAILED:     "CUBLAS_STATUS_ALLOC_FAILED",
	C.CUBLAS_STATUS_INVALID_VALUE:    "CUBLAS_STATUS_INVALID_VALUE",
	C.CUBLAS_STATUS_ARCH_MISMATCH:    "CUBLAS_STATUS_ARCH_MISMATCH",
	C.CUBLAS_STATUS_MAPPING_ERROR:    "CUBLAS_STATUS_MAPPING_ERROR",
	C.CUBLAS_STATUS_EXECUTION_FAILED: "CUBLAS_STATUS_EXECUTION_FAILED",
	C.CUBLAS_STATUS_INTERNAL_ERROR:   "CUBLAS_STATUS_INTERNAL_ERROR",
	C.CUBLAS_STATUS_NOT_SUPPORTED:    "CUBLAS_STATUS_NOT_SUPPORTED",
	C.CUBLAS_STATUS_LICENSE_ERROR:    "CUBLAS_STATUS_LICENSE_ERROR",
}

// lt converts r, the result of the cuBLASLt function named call, to an error, and
// success to nil.
func (g *gpu) lt(call string, r C.cublasStatus_t) error {
	if r == C.CUBLAS_STATUS_SUCCESS {
		return nil
	}
	if r < 0 {
		return g.cuda(call, C.CUresult(r))
	}
	name, ok := statuses[r]
	if !ok {
		name = "unknown cuBLAS error"
	}
	return &device.Error{Call: call, Code: int(r), Name: name}
}
