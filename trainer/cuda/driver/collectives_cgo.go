//go:build cgo && linux

package driver

// #include "gpu.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

var _ device.Collectives = (*gpu)(nil)

// oldestNCCL is the first version of NCCL whose calls need not wait for other ranks,
// so that a lost rank cannot block them.
const oldestNCCL = 21400

// farewell is how long Disconnect waits for the other ranks, and how long aborted
// work may take to end.
const farewell = 5 * time.Second

// A communicator is NCCL's communicator of this rank.
type communicator struct {
	mu      sync.Mutex // guards the fields below; locked during calls of NCCL, which do not wait
	handle  C.ncclComm_t
	failed  error         // why the communicator cannot be used; nil if it can
	aborted chan struct{} // closed once ncclCommAbort has returned; nil if it was not called
}

// Supported implements [device.Collectives].
func (g *gpu) Supported() error { return g.loadNCCL() }

// loadNCCL opens NCCL, unless it is open.
func (g *gpu) loadNCCL() error {
	if g.nccl.Name != "" {
		return nil
	}
	library, found, err := wantedNCCL().open()
	if err != nil {
		return err
	}
	if missing := C.pt_bind_nccl(g.c, library); missing != nil {
		return oldNCCL("%s has no function %s", found.Path, C.GoString(missing))
	}
	var version C.int
	if err := g.ncclError("ncclGetVersion", C.pt_ncclGetVersion(g.c, &version)); err != nil {
		return err
	}
	found.Version = blasVersion(int(version))
	if version < oldestNCCL {
		return oldNCCL("%s has version %s", found.Path, found.Version)
	}
	g.nccl = found
	return nil
}

func oldNCCL(format string, a ...any) error {
	return fmt.Errorf("%w: NCCL is too old: %s; version %s or newer is needed", trainer.ErrUnavailable, fmt.Sprintf(format, a...), blasVersion(oldestNCCL))
}

// ncclNames holds the names of NCCL's errors.
var ncclNames = map[C.ncclResult_t]string{
	C.ncclUnhandledCudaError: "ncclUnhandledCudaError",
	C.ncclSystemError:        "ncclSystemError",
	C.ncclInternalError:      "ncclInternalError",
	C.ncclInvalidArgument:    "ncclInvalidArgument",
	C.ncclInvalidUsage:       "ncclInvalidUsage",
	C.ncclRemoteError:        "ncclRemoteError",
}

// ncclError converts r, the result of the NCCL function named call, to an error. It returns
// nil for success and for work in progress.
func (g *gpu) ncclError(call string, r C.ncclResult_t) error {
	if r == C.ncclSuccess || r == C.ncclInProgress {
		return nil
	}
	if r < 0 {
		return g.cuda(call, C.CUresult(r))
	}
	name, ok := ncclNames[r]
	if !ok {
		name = "unknown NCCL error"
	}
	return &device.Error{Call: call, Code: int(r), Name: name, Detail: C.GoString(C.pt_last_error(g.c))}
}

// UniqueID implements [device.Collectives].
func (g *gpu) UniqueID() ([]byte, error) {
	if err := g.loadNCCL(); err != nil {
		return nil, err
	}
	var id C.ncclUniqueId
	if err := g.ncclError("ncclGetUniqueId", C.pt_ncclGetUniqueId(g.c, &id)); err != nil {
		return nil, err
	}
	return C.GoBytes(unsafe.Pointer(&id), device.UniqueIDBytes), nil
}

// Connect implements [device.Collectives].
func (g *gpu) Connect(ctx context.Context, id []byte, rank, ranks int) (device.Communicator, error) {
	if err := g.loadNCCL(); err != nil {
		return 0, err
	}
	if len(id) != device.UniqueIDBytes || ranks < 1 || rank < 0 || rank >= ranks {
		return 0, fmt.Errorf("connect rank %d of %d with an ID of %d bytes: want a rank below %d and %d bytes", rank, ranks, len(id), ranks, device.UniqueIDBytes)
	}
	c := &communicator{}
	err := g.ncclError("ncclCommInitRankConfig", C.pt_connect(g.c, &c.handle, C.int(ranks), unsafe.Pointer(&id[0]), C.int(rank)))
	if err == nil {
		err = g.settle(ctx, c, "ncclCommInitRankConfig")
	}
	if err != nil {
		c.abort(g, err)
		if !c.gone() {
			g.c.stuck = 1
		}
		return 0, fmt.Errorf("connect rank %d of %d by NCCL: %w", rank, ranks, err)
	}
	g.connected++
	g.communicatorsMu.Lock()
	defer g.communicatorsMu.Unlock()
	g.communicators[g.connected] = c
	return g.connected, nil
}

// communicator returns the communicator with handle c.
func (g *gpu) communicator(c device.Communicator) *communicator {
	g.communicatorsMu.Lock()
	defer g.communicatorsMu.Unlock()
	known, ok := g.communicators[c]
	if !ok {
		panic(fmt.Sprintf("BUG: communicator %d was not connected here, or is disconnected", c))
	}
	return known
}

// settle waits until NCCL has finished its call in progress on c. It returns an error if
// ctx is done or c is aborted before.
func (g *gpu) settle(ctx context.Context, c *communicator, call string) error {
	for i := 0; ; i++ {
		state, err := c.state(g)
		if err != nil {
			return err
		}
		if state != C.ncclInProgress {
			return g.ncclError(call, state)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pause(i)
	}
}

// pause waits before the poll number i: not at all for the first polls, then for 50
// microseconds.
func pause(i int) {
	if i < 20 {
		runtime.Gosched()
		return
	}
	time.Sleep(50 * time.Microsecond)
}

// state asks NCCL for the state of c and returns it: success, in progress, or an error code.
// The error is set if NCCL could not answer, or if c was aborted.
func (c *communicator) state(g *gpu) (C.ncclResult_t, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return 0, c.failed
	}
	var state C.ncclResult_t
	err := g.ncclError("ncclCommGetAsyncError", C.pt_ncclCommGetAsyncError(g.c, c.handle, &state))
	return state, err
}

// abort starts to abort c because of cause. NCCL may wait for other ranks meanwhile, so it
// runs on a goroutine of its own.
func (c *communicator) abort(g *gpu, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = cause
	}
	if c.aborted != nil {
		return
	}
	c.aborted = make(chan struct{})
	if c.handle == nil {
		close(c.aborted)
		return
	}
	go func() {
		defer close(c.aborted)
		C.pt_abort(g.c, c.handle)
	}()
}

// gone waits a limited time until c is freed, and reports whether it is.
func (c *communicator) gone() bool {
	select {
	case <-c.aborted:
		return true
	case <-time.After(farewell):
		return false
	}
}

var collectiveKinds = [...]C.int{device.AllReduce: C.PT_ALL_REDUCE, device.ReduceScatter: C.PT_REDUCE_SCATTER, device.AllGather: C.PT_ALL_GATHER, device.Broadcast: C.PT_BROADCAST}

var ncclTypes = map[device.DataType]C.ncclDataType_t{device.Float32: C.ncclFloat32, device.BFloat16: C.ncclBfloat16, device.Float16: C.ncclFloat16}

// Collect implements [device.Collectives].
func (g *gpu) Collect(s device.Stream, c device.Communicator, group ...device.Collective) error {
	if len(group) == 0 {
		return nil
	}
	known, stream := g.communicator(c), g.stream(s)
	g.collectives = g.collectives[:0]
	for _, x := range group {
		g.collectives = append(g.collectives, C.pt_collective{
			send: C.CUdeviceptr(x.Send), receive: C.CUdeviceptr(x.Receive), count: C.size_t(x.N),
			kind: collectiveKinds[x.Kind], root: C.int(x.Root), _type: ncclTypes[x.Type],
		})
	}
	err := known.collect(g, stream)
	if err == nil {
		err = g.settle(context.Background(), known, "ncclGroupEnd")
	}
	if err != nil {
		return fmt.Errorf("%s of %d elements: %w", group[0].Kind, group[0].N, err)
	}
	return nil
}

// collect queues g.collectives on c.
func (c *communicator) collect(g *gpu, stream C.CUstream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	var call *C.char
	r := C.pt_collect(g.c, c.handle, C.uintptr_t(uintptr(unsafe.Pointer(stream))), &g.collectives[0], C.int(len(g.collectives)), &call)
	return g.ncclError(C.GoString(call), r)
}

// AsyncError implements [device.Collectives].
func (g *gpu) AsyncError(c device.Communicator) error {
	state, err := g.communicator(c).state(g)
	if err != nil {
		return err
	}
	return g.ncclError("ncclCommGetAsyncError", state)
}

// Abort implements [device.Collectives].
func (g *gpu) Abort(c device.Communicator, cause error) { g.communicator(c).abort(g, cause) }

// Disconnect implements [device.Collectives].
func (g *gpu) Disconnect(c device.Communicator) error {
	known := g.communicator(c)
	err := known.leave(g)
	if known.aborted != nil && !known.gone() {
		g.c.stuck = 1
		err = errors.Join(err, fmt.Errorf("NCCL did not end within %v of its abort", farewell))
	}
	g.communicatorsMu.Lock()
	defer g.communicatorsMu.Unlock()
	delete(g.communicators, c)
	return err
}

// leave finalizes and destroys c. If this fails or takes too long, it aborts c. If c was
// already aborted, leave returns nil.
func (c *communicator) leave(g *gpu) error {
	c.mu.Lock()
	if c.failed != nil {
		c.mu.Unlock()
		return nil
	}
	err := g.ncclError("ncclCommFinalize", C.pt_ncclCommFinalize(g.c, c.handle))
	c.mu.Unlock()
	if err == nil {
		ctx, cancel := context.WithTimeoutCause(context.Background(), farewell, errors.New("other ranks have not disconnected"))
		defer cancel()
		err = g.settle(ctx, c, "ncclCommFinalize")
	}
	if err != nil {
		c.abort(g, err)
		return fmt.Errorf("disconnect: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = errors.New("the communicator is disconnected")
	return g.ncclError("ncclCommDestroy", C.pt_ncclCommDestroy(g.c, c.handle))
}

// errStuck is returned if work on the GPU does not end. The process must then exit.
var errStuck = fmt.Errorf("the GPU did not stop within %v after its collectives were aborted", farewell)

// await polls query, which calls the driver function named call, until the work is done. It
// polls because the driver's waiting functions could wait forever for a collective. If the
// work of an aborted communicator does not end, await returns an error.
func (g *gpu) await(call string, query func() C.CUresult) error {
	var since time.Time
	for i := 0; ; i++ {
		if r := query(); r != C.CUDA_ERROR_NOT_READY {
			return errors.Join(g.cuda(call, r), g.abortCause())
		}
		switch {
		case since.IsZero() && g.abortCause() != nil:
			since = time.Now()
		case !since.IsZero() && time.Since(since) > farewell:
			g.c.stuck = 1
			return errors.Join(g.abortCause(), errStuck)
		}
		pause(i)
	}
}

// abortCause returns why a communicator was aborted; nil if none was.
func (g *gpu) abortCause() error {
	g.communicatorsMu.Lock()
	defer g.communicatorsMu.Unlock()
	for _, c := range g.communicators {
		c.mu.Lock()
		failed := c.failed
		c.mu.Unlock()
		if failed != nil {
			return failed
		}
	}
	return nil
}
