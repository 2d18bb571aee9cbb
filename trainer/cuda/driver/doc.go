// Package driver opens an NVIDIA GPU: it implements [device.Device] with the CUDA
// driver and cuBLASLt.
//
//	gpu, err := driver.Open(0)
//	if errors.Is(err, trainer.ErrUnavailable) {
//		// no GPU, no driver, a library is missing, or this build lacks cgo; err says which
//	}
//	defer gpu.Close()
//
// The libraries are opened at run time (dlopen), so a build needs a C compiler
// and nothing of NVIDIA's, and the program starts on machines without a GPU. It
// needs Linux and cgo; in other builds Open returns an error that says so.
//
// # Libraries
//
//	libcuda.so.1                  NVIDIA's driver for CUDA 12.1 or newer; it compiles the kernels' PTX
//	libcublasLt.so.13, .12, .11   matrix products; the newest that the driver supports
//
// The environment variable PRETEXT_CUDA_LIBS, a list of directories separated by
// colons, replaces the search. Without it a library is searched where the loader
// looks, in the usual directories of the driver and of CUDA, and for cuBLASLt in
// the Python packages nvidia-cublas and nvidia-cublas-cu12 of the Python in PATH.
//
// # Threads
//
// CUDA keeps a current context for each thread, and goroutines move between
// threads, so every call first makes sure that its thread has the device's
// context. Any goroutine may call, one at a time.
//
// # Declarations
//
// nvidia.h and api.h declare the types, constants and functions that are used.
// headers/check.c compares them with NVIDIA's headers (make cuda-constants).
package driver
