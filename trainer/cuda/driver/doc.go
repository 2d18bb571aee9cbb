// Package driver opens an NVIDIA GPU: it implements [device.Device] with the CUDA
// driver and cuBLASLt, and [device.Collectives] with NCCL.
//
//	gpu, err := driver.Open(0)
//	if errors.Is(err, trainer.ErrUnavailable) {
//		// no GPU, no driver, a library is missing, or this build lacks cgo; err says which
//	}
//	defer gpu.Close()
//
// NVIDIA's libraries are opened at run time (dlopen). Thus a build needs only a C
// compiler, and the program starts on machines without a GPU. The package needs
// Linux and cgo; in other builds Open returns an error that says so.
//
// # Libraries
//
//	libcuda.so.1                  NVIDIA's driver for CUDA 12.1 or newer; it compiles the kernels' PTX
//	libcublasLt.so.13, .12, .11   matrix products; the newest that the driver supports
//	libnccl.so.2                  sums over several GPUs, version 2.14 or newer; opened only for several ranks
//
// The environment variable PRETEXT_CUDA_LIBS, a list of directories separated by
// colons, replaces the search. Without it, the package searches the path of the
// dynamic loader and the usual directories of the driver and of CUDA. It finds
// cuBLASLt and NCCL also in NVIDIA's Python packages, such as nvidia-nccl-cu12, of
// the active virtual environment and of the python3 in PATH.
//
// # Threads
//
// CUDA keeps a current context for each thread, and goroutines move between
// threads. So every call first makes the device's context current in its thread.
// Any goroutine may use a device, but only one at a time; [device.Collectives] lists
// the methods that are an exception.
//
// # Lost ranks
//
// A collective waits for all ranks, and so does the GPU that runs it. A lost rank must
// not block the process, so no call here waits inside NCCL (its communicators are
// non-blocking). While there is a communicator, the package polls the driver for the end
// of work, instead of waiting inside the driver. So [device.Collectives.Abort] from
// another goroutine ends every wait. If the GPU does not stop even after that, Close
// returns an error and frees nothing, so that the process can exit.
//
// # Declarations
//
// nvidia.h and api.h declare the types, constants and functions of NVIDIA's
// libraries that the package uses. headers/check.c compares them with NVIDIA's
// headers (make cuda-constants).
package driver
