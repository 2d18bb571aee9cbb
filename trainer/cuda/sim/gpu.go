package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"pretext/trainer/cuda/device"
)

// A GPU is a simulated GPU that implements [device.Device]. Queued work runs
// during Sync, SyncStream and SyncEvent; SyncStream and SyncEvent may also run
// work of other streams. Elapsed counts what
// Options.Algorithms say that products take; the simulator has no clock.
type GPU struct {
	*Device // embedded for its counts; to queue work, call the methods of GPU
	host    [][]byte
	streams []*Stream // in this slice and those below, handle h is at index h - 1; nil: freed
	events  []*Event
	modules []*Module
	kernels []*Kernel
	plans   []*plan
	closed  bool

	communicators []*communicator // guarded by the mutex of options.Network
}

var _ device.Device = (*GPU)(nil)

// NewGPU returns a simulated GPU with nothing allocated.
func NewGPU(o Options) *GPU { return &GPU{Device: New(o)} }

// ErrClosed is returned by methods of a closed device.
var ErrClosed = errors.New("sim: device is closed")

// usable returns ErrClosed or the first fault of queued work, and nil if the
// device can be used.
func (g *GPU) usable() error {
	if g.closed {
		return ErrClosed
	}
	return g.failed
}

// handle returns the object in list that has the handle h. It returns an error if h is not a
// valid handle, or if the object was freed.
func handle[T any, H ~uintptr](list []*T, h H) (*T, error) {
	if h == 0 || int(h) > len(list) || list[h-1] == nil {
		return nil, fmt.Errorf("sim: %T %d does not exist", h, h)
	}
	return list[h-1], nil
}

// release removes the object with the handle h from list.
func release[T any, H ~uintptr](list []*T, h H) error {
	_, err := handle(list, h)
	if err == nil {
		list[h-1] = nil
	}
	return err
}

// Properties implements [device.Device].
func (g *GPU) Properties() device.Properties {
	major, minor := 8, 9
	if c := g.options.Capability; c != 0 {
		major, minor = c/10, c%10
	}
	return device.Properties{
		Name: "simulator", Major: major, Minor: minor, Memory: g.options.Memory, Multiprocessors: 2, SharedMemory: dynamicLimit, Driver: "simulator", BLAS: "simulator",
	}
}

// Alloc implements [device.Device].
func (g *GPU) Alloc(n int) (Pointer, error) {
	if err := g.usable(); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, errors.New("sim: allocation of 0 bytes")
	}
	return g.Device.Alloc(fmt.Sprintf("allocation of %d bytes", n), n)
}

// AllocNamed allocates n bytes of device memory under a name that faults show.
func (g *GPU) AllocNamed(name string, n int) (Pointer, error) { return g.Device.Alloc(name, n) }

// Free implements [device.Device]. It returns an error while any stream has work
// queued.
func (g *GPU) Free(p Pointer) error {
	if err := g.usable(); err != nil {
		return err
	}
	if g.queued() {
		return errors.New("sim: device memory is freed while work is queued; synchronize first")
	}
	return g.Device.Free(p)
}

// queued reports whether a stream has work.
func (g *GPU) queued() bool {
	return slices.ContainsFunc(g.Device.streams, func(s *Stream) bool { return len(s.queue) > 0 })
}

// AllocHost implements [device.Device].
func (g *GPU) AllocHost(n int) ([]byte, error) {
	if err := g.usable(); err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, fmt.Errorf("sim: allocation of %d bytes of host memory, want at least 1", n)
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&make([]uint64, (n+7)/8)[0])), n) // aligned to 8
	g.host = append(g.host, b)
	return b, nil
}

// FreeHost implements [device.Device].
func (g *GPU) FreeHost(b []byte) error {
	for i, h := range g.host {
		if len(b) == len(h) && unsafe.SliceData(b) == unsafe.SliceData(h) {
			g.host = slices.Delete(g.host, i, i+1)
			return g.usable()
		}
	}
	return errors.New("sim: FreeHost of memory that AllocHost did not return")
}

// pinned returns an error unless b lies inside of memory that AllocHost returned.
func (g *GPU) pinned(b []byte) error {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, h := range g.host {
		first := uintptr(unsafe.Pointer(unsafe.SliceData(h)))
		if at >= first && at+uintptr(len(b)) <= first+uintptr(len(h)) {
			return nil
		}
	}
	return errors.New("sim: copy from or to host memory that AllocHost did not return")
}

// NewStream implements [device.Device].
func (g *GPU) NewStream() (device.Stream, error) {
	g.streams = append(g.streams, g.Device.NewStream())
	return device.Stream(len(g.streams)), g.usable()
}

// FreeStream implements [device.Device].
func (g *GPU) FreeStream(s device.Stream) error {
	if err := g.SyncStream(s); err != nil {
		return err
	}
	g.streams[s-1] = nil
	return nil
}

// NewEvent implements [device.Device].
func (g *GPU) NewEvent(bool) (device.Event, error) {
	g.events = append(g.events, &Event{})
	return device.Event(len(g.events)), g.usable()
}

// FreeEvent implements [device.Device].
func (g *GPU) FreeEvent(e device.Event) error {
	return errors.Join(release(g.events, e), g.usable())
}

// queue calls f with the simulated stream that has the handle s, and returns its error. If
// the device or the stream cannot be used, it returns an error without calling f.
func (g *GPU) queue(s device.Stream, f func(*Stream) error) error {
	if err := g.usable(); err != nil {
		return err
	}
	stream, err := handle(g.streams, s)
	if err != nil {
		return err
	}
	return f(stream)
}

// Record implements [device.Device].
func (g *GPU) Record(s device.Stream, e device.Event) error {
	return g.queue(s, func(s *Stream) error {
		event, err := handle(g.events, e)
		if err == nil {
			s.Record(event)
		}
		return err
	})
}

// Wait implements [device.Device].
func (g *GPU) Wait(s device.Stream, e device.Event) error {
	return g.queue(s, func(s *Stream) error {
		event, err := handle(g.events, e)
		if err == nil {
			s.Wait(event)
		}
		return err
	})
}

// Elapsed implements [device.Device].
func (g *GPU) Elapsed(from, to device.Event) (time.Duration, error) {
	for _, e := range []device.Event{from, to} {
		if event, err := handle(g.events, e); err != nil {
			return 0, err
		} else if event.recorded == nil || !event.recorded.done {
			return 0, errors.New("sim: Elapsed needs events that are recorded and done; synchronize first")
		}
	}
	return g.events[to-1].recorded.at - g.events[from-1].recorded.at, g.usable()
}

// SyncStream implements [device.Device].
func (g *GPU) SyncStream(s device.Stream) error { return g.queue(s, (*Stream).Synchronize) }

// SyncEvent implements [device.Device].
func (g *GPU) SyncEvent(e device.Event) error {
	if err := g.usable(); err != nil {
		return err
	}
	event, err := handle(g.events, e)
	if err != nil || event.recorded == nil {
		return err
	}
	for !event.recorded.done && g.failed == nil {
		g.step()
	}
	g.known = g.known.join(event.recorded.clock)
	return g.failed
}

// Sync implements [device.Device].
func (g *GPU) Sync() error {
	if err := g.usable(); err != nil {
		return err
	}
	return g.Synchronize()
}

// ToDevice implements [device.Device].
func (g *GPU) ToDevice(s device.Stream, to Pointer, b []byte) error {
	return g.queue(s, func(s *Stream) error {
		err := g.pinned(b)
		if err == nil {
			s.writeUnchanged(to, b)
		}
		return err
	})
}

// ToHost implements [device.Device].
func (g *GPU) ToHost(s device.Stream, b []byte, from Pointer) error {
	return g.queue(s, func(s *Stream) error {
		err := g.pinned(b)
		if err == nil {
			s.Read(b, from)
		}
		return err
	})
}

// Copy implements [device.Device].
func (g *GPU) Copy(s device.Stream, to, from Pointer, n int) error {
	return g.queue(s, func(s *Stream) error {
		if to < from.Add(n) && from < to.Add(n) {
			return errors.New("sim: copy between overlapping ranges")
		}
		s.Copy(to, from, n)
		return nil
	})
}

// Clear implements [device.Device].
func (g *GPU) Clear(s device.Stream, p Pointer, n int) error {
	return g.queue(s, func(s *Stream) error {
		s.Clear(p, n)
		return nil
	})
}

// Load implements [device.Device].
func (g *GPU) Load(ptx string) (device.Module, error) {
	m, err := g.Device.Load(ptx)
	if err != nil {
		return 0, err
	}
	g.modules = append(g.modules, m)
	return device.Module(len(g.modules)), g.usable()
}

// Function implements [device.Device]. In the limits, the number of registers and the stack
// size are 0, because they are unknown.
func (g *GPU) Function(m device.Module, name string) (device.Function, device.Limits, error) {
	module, err := handle(g.modules, m)
	if err != nil {
		return 0, device.Limits{}, err
	}
	k, err := module.Kernel(name)
	if err != nil {
		return 0, device.Limits{}, err
	}
	g.kernels = append(g.kernels, k)
	limits := device.Limits{Threads: k.program.MaxThreads, SharedMemory: k.program.SharedBytes}
	if limits.Threads == 0 {
		limits.Threads = maxThreads
	}
	return device.Function(len(g.kernels)), limits, g.usable()
}

// AllowShared implements [device.Device].
func (g *GPU) AllowShared(f device.Function, bytes int) error {
	k, err := handle(g.kernels, f)
	if err != nil {
		return err
	}
	return k.AllowShared(bytes)
}

// Launch implements [device.Device].
func (g *GPU) Launch(s device.Stream, f device.Function, c Config, args []byte) error {
	return g.queue(s, func(s *Stream) error {
		k, err := handle(g.kernels, f)
		if err != nil {
			return err
		}
		if err := k.check(Config{Grid: whole(c.Grid), Block: whole(c.Block), Shared: c.Shared}, args); err != nil {
			return err
		}
		s.Launch(k, c, args)
		return nil
	})
}

// Close implements [device.Device].
func (g *GPU) Close() error {
	if g.closed {
		return ErrClosed
	}
	for c := range g.communicators {
		g.Abort(device.Communicator(c+1), ErrClosed)
	}
	err := g.Synchronize()
	*g = GPU{closed: true, Device: g.Device}
	return err
}

// Counts returns the counts of all work so far, by the names of kernels and of other work:
// "matmul", "clear", "copy" and those of copies from and to the host. Only Read and Written
// are counted of what is no kernel.
func (g *GPU) Counts() map[string]Counts {
	all := map[string]Counts{}
	for _, m := range g.modules {
		for name, k := range m.kernels {
			c := all[name]
			c.add(k.Counts())
			all[name] = c
		}
	}
	for name, c := range g.Device.others {
		all[name] = *c
	}
	return all
}
