package sim

import (
	"fmt"
	"slices"

	"pretext/trainer/cuda/device"
)

// The shape of a launch.
type (
	Dim    = device.Dim
	Config = device.Config
)

func count(d Dim) int { return d.X * d.Y * d.Z }

// whole returns d with 1 for every 0.
func whole(d Dim) Dim { return Dim{X: max(d.X, 1), Y: max(d.Y, 1), Z: max(d.Z, 1)} }

// A block is the threads that share memory and barriers. One after the other,
// all blocks of a launch use the same value.
type block struct {
	program  *program
	device   *Device
	launched Config
	args     []byte
	shared   *memory
	warps    []*warp

	index     int // in the grid
	at        Dim
	launch    uint32 // first interval of the launch
	unordered uint32 // the same, or that of the oldest work that may run beside it
	first     uint32 // first interval of this block
	interval  uint32 // now
	begun     []begun
}

// begun says which block began at an interval.
type begun struct {
	interval uint32
	index    int
}

// blockOf returns the block of this launch that an interval belongs to.
func (b *block) blockOf(interval uint32) int {
	i, found := slices.BinarySearchFunc(b.begun, interval, func(g begun, at uint32) int { return int(int64(g.interval) - int64(at)) })
	if !found {
		i--
	}
	return b.begun[i].index
}

// Limits of an sm_80 and newer.
const (
	staticLimit  = 48 << 10  // shared memory without opt-in, static or not
	dynamicLimit = 163 << 10 // with it, on the smallest of them
	maxThreads   = 1024
	maxGridX     = 1<<31 - 1
	maxGridYZ    = 1<<16 - 1
)

// check returns the fault of a launch that a driver would refuse.
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

// run executes a kernel: blocks in a random order, one after the other, their
// warps in random order and turns. It returns the first fault.
func (d *Device) run(k *Kernel, c Config, args []byte) (err error) {
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
	d.interval++
	size := k.program.SharedBytes
	if k.program.Dynamic != "" {
		size = (size+15)&^15 + c.Shared
	}
	b := &block{unordered: d.interval, program: k.program, device: d, launched: c, args: args, launch: d.interval, shared: newMemory("shared", sharedBase, size)}
	if d.now != nil && d.unordered > 0 {
		b.unordered = d.unordered
	}
	for i := range (count(c.Block) + warpSize - 1) / warpSize {
		b.warps = append(b.warps, newWarp(b, i))
	}
	for _, i := range d.order.Perm(count(c.Grid)) {
		b.run(i)
	}
	return nil
}

// run executes one block.
func (b *block) run(index int) {
	g, d := b.launched.Grid, b.device
	b.index, b.at = index, Dim{X: index % g.X, Y: index / g.X % g.Y, Z: index / (g.X * g.Y)}
	b.shared.poison()
	clear(b.shared.cells)
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
			panic(&Fault{Kind: Hang, Kernel: b.program.Name, Detail: fmt.Sprintf("block %d: more than %d instructions of its warps", index, d.options.MaxInstructions)})
		}
	}
}

// turnLength is the mean number of instructions that a warp runs before another
// may: short enough that warps overtake each other everywhere, long enough that
// the choice costs little.
const turnLength = 100

// ready returns the warps that can run.
func (b *block) ready() []*warp {
	var ready []*warp
	for _, w := range b.warps {
		if !w.done() && w.barrier < 0 {
			ready = append(ready, w)
		}
	}
	return ready
}

// pass lets all warps pass the barrier that they wait at; it returns false when
// none waits because all have ended.
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
