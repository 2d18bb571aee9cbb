package sim

import (
	"fmt"
	"slices"

	"pretext/trainer/cuda/device"
)

// Types for the shape of a launch, from the package device.
type (
	Dim    = device.Dim
	Config = device.Config
)

// count returns the number of blocks or threads in d.
func count(d Dim) int { return d.X * d.Y * d.Z }

// whole returns d with each dimension that is 0 replaced by 1.
func whole(d Dim) Dim { return Dim{X: max(d.X, 1), Y: max(d.Y, 1), Z: max(d.Z, 1)} }

// A block holds the state of the block of threads that is running. The blocks of a launch
// run one after the other and use the same block value.
type block struct {
	program  *program
	device   *Device
	launched Config
	args     []byte
	shared   *memory
	warps    []*warp
	list     []*warp // see ready

	index     int // position in the grid, counted along x first
	at        Dim
	launch    uint32   // first interval of the launch
	unordered uint32   // first interval of the launch, or of the oldest work in another stream that may run at the same time
	first     uint32   // first interval of this block
	interval  uint32   // current interval; see cell
	calm      lookedUp // cached range of intervals that belong to work done before this launch
	begun     []begun
}

// past reports whether the accesses of interval i are certain to be complete: they belong to
// work that is ordered before this launch, or to this block before its last barrier.
func (b *block) past(i uint32) bool {
	return i < b.unordered || i-b.first < b.interval-b.first || i-b.calm.first < b.calm.end-b.calm.first
}

// begun records the interval at which a block of the launch began.
type begun struct {
	interval uint32
	index    int // index of the block in the grid
}

// blockOf returns the index of the block of this launch that ran in the given
// interval.
func (b *block) blockOf(interval uint32) int {
	i, found := slices.BinarySearchFunc(b.begun, interval, func(g begun, at uint32) int { return int(int64(g.interval) - int64(at)) })
	if !found {
		i--
	}
	return b.begun[i].index
}

// Limits of GPUs of compute capability 8.0 (sm_80) and newer.
const (
	staticLimit  = 48 << 10  // bytes of shared memory of a block without AllowShared
	dynamicLimit = 163 << 10 // bytes of shared memory of a block with AllowShared
	maxThreads   = 1024
	maxGridX     = 1<<31 - 1
	maxGridYZ    = 1<<16 - 1
)

// check returns a [*Fault] if a driver would refuse this launch, and otherwise nil.
func (k *Kernel) check(c Config, args []byte) error {
	bad := func(format string, a ...any) error {
		return &Fault{Kind: BadLaunch, Kernel: k.program.Name, Detail: fmt.Sprintf(format, a...)}
	}
	threads, most := count(c.Block), maxThreads
	if k.program.MaxThreads > 0 {
		most = k.program.MaxThreads
	}
	if threads > most || min(c.Block.X, c.Block.Y, c.Block.Z) < 1 {
		return bad("%d threads a block, at most %d", threads, most)
	}
	if c.Grid.X > maxGridX || c.Grid.Y > maxGridYZ || c.Grid.Z > maxGridYZ || min(c.Grid.X, c.Grid.Y, c.Grid.Z) < 1 {
		return bad("grid of %v", c.Grid)
	}
	if len(args) != k.program.ParamBytes {
		return bad("%d bytes of arguments, want %d", len(args), k.program.ParamBytes)
	}
	if c.Shared > 0 && k.program.Dynamic == "" {
		return bad("%d bytes of dynamic shared memory, and the kernel has none", c.Shared)
	}
	total := k.program.SharedBytes + c.Shared
	if k.program.SharedBytes > staticLimit || total > max(staticLimit, k.optIn) {
		return bad("%d bytes of shared memory, %d of them static: more than %d need dynamic memory and an opt-in of at most %d", total, k.program.SharedBytes, staticLimit, dynamicLimit)
	}
	return nil
}

// Launch runs k until all its threads have returned. The blocks run one after the other in
// random order; the warps of a block take turns, also in random order. args holds the bytes
// of the kernel's parameters, each aligned to its size. The error is the first [*Fault].
func (d *Device) Launch(k *Kernel, c Config, args []byte) (err error) {
	c.Grid, c.Block = whole(c.Grid), whole(c.Block)
	if err := k.check(c, args); err != nil {
		return err
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(*Fault)
			if !ok {
				panic(r)
			}
			err = f
		}
	}()
	k.prepare(d.options)
	d.interval++
	size := k.program.SharedBytes
	if k.program.Dynamic != "" {
		size = (size+15)&^15 + c.Shared
	}
	b := &block{unordered: d.interval, program: k.program, device: d, launched: c, args: args, launch: d.interval, shared: newMemory("shared", sharedBase, size)}
	if d.now != nil && d.unordered > 0 {
		b.unordered = d.unordered
	}
	n := (count(c.Block) + warpSize - 1) / warpSize
	for i := len(k.program.warps); i < n; i++ {
		k.program.warps = append(k.program.warps, newWarp(k.program, i))
	}
	b.warps = k.program.warps[:n]
	for _, w := range b.warps {
		w.launch(b)
	}
	for _, i := range d.order.Perm(count(c.Grid)) {
		b.run(i)
	}
	return nil
}

// run executes the block with the given index in the grid until all its threads
// have returned.
func (b *block) run(index int) {
	g, d := b.launched.Grid, b.device
	b.index, b.at = index, Dim{X: index % g.X, Y: index / g.X % g.Y, Z: index / (g.X * g.Y)}
	d.interval++
	b.first, b.interval = d.interval, d.interval
	b.begun = append(b.begun, begun{d.interval, index})
	for _, w := range b.warps {
		w.start(count(b.launched.Block))
	}
	left := d.options.MaxInstructions
	for {
		ready := b.ready()
		if len(ready) == 0 {
			if !b.pass() {
				return
			}
			continue
		}
		w := ready[d.order.IntN(len(ready))]
		n := 1 + d.order.IntN(2*turnLength)
		w.run(n)
		if left -= n; left < 0 {
			panic(&Fault{Kind: Hang, Kernel: b.program.Name, Detail: fmt.Sprintf("block %d: its warps executed more than %d instructions", index, d.options.MaxInstructions)})
		}
	}
}

// turnLength is the mean number of instructions that a warp executes before
// another warp of the block may run. With short turns, warps overtake each other
// at all places in the code; with long turns, choosing a warp costs less time.
const turnLength = 100

// ready returns the warps that have not ended and do not wait at a barrier. The result is valid
// until the next call.
func (b *block) ready() []*warp {
	ready := b.list[:0]
	for _, w := range b.warps {
		if !w.done() && w.barrier < 0 {
			ready = append(ready, w)
		}
	}
	b.list = ready
	return ready
}

// pass releases all warps from the barrier at which they wait. It returns false if all warps
// have ended. If warps wait at different barriers, it raises a fault.
func (b *block) pass() bool {
	at := -1
	for _, w := range b.warps {
		if w.barrier < 0 {
			continue
		}
		if at >= 0 && w.barrier != at {
			in := &b.program.code[w.barrier]
			w.fault(in, BarrierMismatch, 0, "other warps wait at %s", b.program.code[at].source)
		}
		at = w.barrier
	}
	for _, w := range b.warps {
		w.barrier = -1
	}
	b.device.interval++
	b.interval = b.device.interval
	return at >= 0
}
