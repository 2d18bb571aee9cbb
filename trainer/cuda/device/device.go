package device

import "time"

// A Device is one GPU. Methods may be called from any goroutine, but only from
// one at a time.
//
// Methods with a [Stream] argument queue work and return; all other methods have
// taken effect when they return. If queued work fails, the next SyncStream,
// SyncEvent or Sync, or any later call, returns the error. After such an error the
// device is unusable: every call except Close returns the same error.
type Device interface {
	// Properties describes the device.
	Properties() Properties

	// Alloc allocates n > 0 bytes of device memory, aligned to 256 bytes, with
	// undefined contents. The memory lives until Free or Close.
	Alloc(n int) (Pointer, error)

	// Free frees memory that Alloc returned. Queued work must not use it: call
	// Sync first.
	Free(p Pointer) error

	// AllocHost allocates n > 0 bytes of page-locked host memory, which copies
	// need. It is zeroed, lives outside the Go heap, and must not be used after
	// FreeHost or Close.
	AllocHost(n int) ([]byte, error)

	// FreeHost frees b, which must be the whole slice that AllocHost returned.
	FreeHost(b []byte) error

	// NewStream creates a stream. Work in one stream runs in order; work in
	// different streams runs in any order, or concurrently, unless an [Event]
	// orders it. The stream lives until FreeStream or Close.
	NewStream() (Stream, error)

	// FreeStream waits for the stream's work and frees it.
	FreeStream(s Stream) error

	// NewEvent creates an event, which lives until FreeEvent or Close. If timing
	// is set, the event can be an argument of Elapsed.
	NewEvent(timing bool) (Event, error)

	// FreeEvent frees an event that no queued work waits for.
	FreeEvent(e Event) error

	// Record makes e represent all work queued in s so far. A second Record
	// replaces the first; work that already waits for the first is not affected.
	Record(s Stream, e Event) error

	// Wait makes all later work in s wait for the work that e represents at the
	// time of the call. An event that was never recorded delays nothing.
	Wait(s Stream, e Event) error

	// Elapsed returns the time between two recorded events, as measured by the
	// device. Both must be created with timing, and their work must be done.
	Elapsed(from, to Event) (time.Duration, error)

	// SyncStream waits for all work in s, SyncEvent for the work that e
	// represents, Sync for all work in all streams.
	SyncStream(s Stream) error
	SyncEvent(e Event) error
	Sync() error

	// ToDevice copies b to device memory. b is host memory from AllocHost, or a
	// part of it, and must stay unchanged until the copy is done.
	ToDevice(s Stream, to Pointer, b []byte) error

	// ToHost copies device memory to b, which is host memory from AllocHost, or
	// a part of it. b holds the data once the copy is done.
	ToHost(s Stream, b []byte, from Pointer) error

	// Copy copies n bytes inside the device. The ranges must not overlap.
	Copy(s Stream, to, from Pointer, n int) error

	// Clear sets n bytes to zero.
	Clear(s Stream, p Pointer, n int) error

	// Load compiles PTX for this device. The module lives until Close.
	Load(ptx string) (Module, error)

	// Function returns an entry point of a module and its limits.
	Function(m Module, name string) (Function, Limits, error)

	// AllowShared allows launches of f to use the given number of bytes of dynamic
	// shared memory; at most Properties.SharedMemory minus the kernel's static
	// shared memory. Without this call the limit is 48 KiB.
	AllowShared(f Function, bytes int) error

	// Launch queues a kernel. args holds the parameters as C lays out a struct
	// of them: each at a multiple of its alignment (see kernels.Pack). args may
	// be reused when Launch returns.
	Launch(s Stream, f Function, c Config, args []byte) error

	// Plan prepares products of a shape and chooses an algorithm that needs at
	// most workspace bytes. algorithm is "" or a string from Algorithm. It is
	// ignored if this device or library version cannot run it. The product lives
	// until FreeProduct or Close.
	Plan(m Matmul, workspace int, algorithm string) (Product, error)

	// Algorithms returns algorithms for products of a shape that need at most
	// workspace bytes, as strings for Plan: those that the library expects to be
	// fastest, up to eight, the first one first. Plan chooses that one by itself.
	Algorithms(m Matmul, workspace int) ([]string, error)

	// Algorithm returns the algorithm that Plan chose, as an opaque printable
	// string. Another run can pass it to Plan on a device with equal Properties.
	Algorithm(p Product) string

	// FreeProduct frees a plan. Products that are already queued still run.
	FreeProduct(p Product) error

	// Matmul queues a product.
	Matmul(s Stream, p Product, x Operands) error

	// Close waits for queued work and frees everything that the device created.
	// No method may be called after it.
	Close() error
}

// Handles of objects that a device created. Zero means no object.
type (
	Stream   uintptr
	Event    uintptr
	Module   uintptr
	Function uintptr
	Product  uintptr
)

// A Pointer is an address in device memory. Zero is the null pointer.
type Pointer uint64

// Add returns the pointer n bytes after p.
func (p Pointer) Add(n int) Pointer { return p + Pointer(n) }

// Properties describe a device.
type Properties struct {
	Name            string // e.g. "NVIDIA H200"
	Major, Minor    int    // compute capability, e.g. 9 and 0
	Memory          int64  // bytes in total
	Multiprocessors int
	SharedMemory    int    // maximum bytes of shared memory in a block, with opt-in
	Driver          string // CUDA version of the driver, e.g. "12.8"
	BLAS            string // version of the library that computes products, e.g. "cublasLt 12.6.4"
}

// Limits are the maximum block size of a kernel and the resources that the compiler
// assigned to it.
type Limits struct {
	Threads      int // maximum threads in a block
	SharedMemory int // bytes of static shared memory of a block
	Registers    int // registers of a thread
	Local        int // bytes of stack and spilled registers of a thread
}

// Dim is the extent of a grid or block; 0 counts as 1.
type Dim struct{ X, Y, Z int }

// A Config is the shape of a launch.
type Config struct {
	Grid, Block Dim
	Shared      int // bytes of dynamic shared memory
}
