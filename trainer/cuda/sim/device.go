package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pretext/trainer/cuda/device"
)

// Options configures a simulated device.
type Options struct {
	Seed            uint64 // seed of the random order of blocks, warps, atomics and streams
	Memory          int64  // bytes of global memory; 0: 1 GiB
	MaxInstructions int    // a block that executes more is reported as a [Hang]; 0: 1<<26

	// EpilogueTanh is the relative error of tanh in the GELU epilogues of matrix products,
	// towards 0. The hardware's tanh.approx.f32 has up to 2^-11, and cuBLASLt may use it.
	EpilogueTanh float64

	// Contract chooses which pairs of a product and a sum are rounded once, as a driver's
	// compiler may do; 0: none. Errors gives approximate instructions (ex2, rcp, tanh, …)
	// errors of up to what the manual allows, and the sums of an mma and of a matrix product
	// another order and truncation; 0: they are correctly rounded. Both are seeds: any number
	// is right, and no test may depend on it.
	Contract, Errors uint64

	// Algorithms are those of matrix products, the first one that which the library expects
	// to be fastest; nil: one.
	Algorithms []Algorithm

	// Capability is the compute capability, times ten; 0: 89. What needs a later one is not
	// refused by the simulator.
	Capability int

	// Network connects the GPU with the GPUs of other ranks. If it is nil, there
	// are no collectives, as on a machine without NCCL.
	Network *Network
}

// A Device is a simulated GPU with its memory and streams. Only one goroutine may
// use it at a time.
type Device struct {
	options  Options
	order    *rand.Rand
	segments []*memory // allocations, by rising address
	used     int
	next     uint64
	interval uint32 // see cell

	streams   []*Stream
	known     clock   // work that is done, because the host has waited for it
	history   []*work // work that ran since all streams were synchronized, in order
	now       *work   // work that is running
	unordered uint32  // first interval of the oldest work that may run at the same time as the field now; 0: none
	failed    error   // the first fault of queued work; the device stays unusable
	looked    lookedUp
	elapsed   time.Duration // of the products that ran; other work takes no time

	others map[string]*Counts // of work that is no kernel, by its name
}

// New returns a simulated device with nothing allocated.
func New(o Options) *Device {
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	if o.MaxInstructions == 0 {
		o.MaxInstructions = 1 << 26
	}
	return &Device{options: o, order: rand.New(rand.NewPCG(o.Seed, 1)), next: 0x7f00_0000_0000, interval: byHost, others: map[string]*Counts{}}
}

// A Pointer is an address in the global memory of a device. 0 is the null pointer.
type Pointer = device.Pointer

// guardBytes is the minimum distance between two allocations. It ensures that an access just
// past the end of an allocation is not inside the next one.
const guardBytes = 1 << 12

// Alloc allocates n bytes of global memory. Reading them before they are written
// is a fault. Faults show the name.
func (d *Device) Alloc(name string, n int) (Pointer, error) {
	if n < 0 || int64(n) > d.options.Memory-int64(d.used) {
		return 0, fmt.Errorf("allocate %d bytes for %s: %d of %d bytes of memory are in use", n, name, d.used, d.options.Memory)
	}
	m := newMemory(name, d.next, n)
	d.next += uint64(n+511)&^511 + guardBytes
	d.used += n
	d.segments = append(d.segments, m)
	return Pointer(m.base), nil
}

// Free frees the allocation that begins at p. Using it afterwards is a fault.
func (d *Device) Free(p Pointer) error {
	for i, m := range d.segments {
		if m.base == uint64(p) {
			d.used -= len(m.data)
			d.segments = slices.Delete(d.segments, i, i+1)
			return nil
		}
	}
	return fmt.Errorf("free %#x: no allocation begins there", uint64(p))
}

// find returns the allocation that contains all bytes of [at, at+n), or nil.
func (d *Device) find(at uint64, n int) *memory {
	i, found := slices.BinarySearchFunc(d.segments, at, func(m *memory, at uint64) int { return cmp.Compare(m.base, at) })
	if !found {
		i--
	}
	if i < 0 || at-d.segments[i].base+uint64(n) > uint64(len(d.segments[i].data)) {
		return nil
	}
	return d.segments[i]
}

// nearest describes an address outside of every allocation by the last allocation
// before it: ": byte 160 of x, which has 160".
func (d *Device) nearest(at uint64) string {
	i, found := slices.BinarySearchFunc(d.segments, at, func(m *memory, at uint64) int { return cmp.Compare(m.base, at) })
	if !found {
		i--
	}
	if i < 0 {
		return ""
	}
	m := d.segments[i]
	return fmt.Sprintf(": byte %d of %s, which has %d", at-m.base, m.name, len(m.data))
}

// Write copies b from the host to the device memory at p.
func (d *Device) Write(p Pointer, b []byte) error {
	m := d.find(uint64(p), len(b))
	if m == nil {
		return fmt.Errorf("write %d bytes to %#x: outside of every allocation%s", len(b), uint64(p), d.nearest(uint64(p)))
	}
	at := int(uint64(p) - m.base)
	copy(m.data[at:], b)
	m.host(at, len(b))
	return nil
}

// Read copies len(b) bytes of device memory at p to the host. It returns a
// [*Fault] if some of them were never written.
func (d *Device) Read(b []byte, p Pointer) error {
	m := d.find(uint64(p), len(b))
	if m == nil {
		return fmt.Errorf("read %d bytes of %#x: outside of every allocation%s", len(b), uint64(p), d.nearest(uint64(p)))
	}
	at := int(uint64(p) - m.base)
	if !m.written(at, len(b)) {
		return &Fault{Kind: Unwritten, Kernel: "copy to the host", Detail: fmt.Sprintf("%s, %d bytes", m.place(at), len(b))}
	}
	copy(b, m.data[at:])
	return nil
}

// A Module holds the kernels of one PTX text.
type Module struct{ kernels map[string]*Kernel }

// A Kernel is a kernel (PTX .entry) of a module, with the counts of its launches.
type Kernel struct {
	program *program
	optIn   int  // bytes of shared memory allowed in addition to the default limit
	ready   bool // program is this kernel's own
}

// Load parses and compiles PTX text. It returns an error that names the
// instruction if the simulator does not support one.
func (d *Device) Load(text string) (*Module, error) {
	programs, err := compiled.load(text)
	if err != nil {
		return nil, err
	}
	m := &Module{kernels: map[string]*Kernel{}}
	for _, p := range programs {
		m.kernels[p.Name] = &Kernel{program: p}
	}
	return m, nil
}

// prepare gives k a program of its own before its first launch, with the errors that o asks for.
func (k *Kernel) prepare(o Options) {
	if k.ready {
		return
	}
	k.program, k.ready = k.program.clone(), true
	k.program.disturb(o)
}

// Kernel returns the kernel with the given name.
func (m *Module) Kernel(name string) (*Kernel, error) {
	k, ok := m.kernels[name]
	if !ok {
		return nil, fmt.Errorf("the module has no kernel named %q", name)
	}
	return k, nil
}

// AllowShared allows launches of k with more than 48 KiB of shared memory. It
// corresponds to the driver's CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
func (k *Kernel) AllowShared(bytes int) error {
	if bytes > dynamicLimit {
		return fmt.Errorf("%d bytes of shared memory, the maximum is %d", bytes, dynamicLimit)
	}
	k.optIn = bytes
	return nil
}

// Counts holds counts of a kernel's work, summed over all its launches.
type Counts struct {
	Instructions uint64 // instructions, counted once per warp
	Conflicts    uint64 // cycles lost to bank conflicts in shared memory
	Sectors      uint64 // 32-byte sectors moved from and to global memory
	IdealSectors uint64 // smallest number of sectors that could hold the accessed bytes

	// Read and Written are bytes of global memory. Each launch counts a byte once for each,
	// and does not count that it reads what it wrote itself: what memory moves if all else
	// comes from caches.
	Read, Written uint64
}

// moved adds an access to cells of so many bytes each, by work that began in the interval first.
func (c *Counts) moved(cells []cell, bytes int, first uint32, how access) {
	unwritten, untouched := 0, 0
	for i := range cells {
		if cells[i].wrote < first {
			unwritten++
			if cells[i].read < first {
				untouched++
			}
		}
	}
	if how != reads {
		c.Written += uint64(unwritten * bytes)
	}
	if how == reads || how == updates {
		c.Read += uint64(untouched * bytes)
	}
}

func (c *Counts) add(o Counts) {
	c.Instructions += o.Instructions
	c.Conflicts += o.Conflicts
	c.Sectors += o.Sectors
	c.IdealSectors += o.IdealSectors
	c.Read += o.Read
	c.Written += o.Written
}

// Counts returns the counts of all launches of the kernel so far.
func (k *Kernel) Counts() Counts {
	var c Counts
	for i := range k.program.code {
		c.add(k.program.code[i].counts)
	}
	return c
}

// CountsByLine returns the counts of all launches for each line of the CUDA
// source. The keys are "file:line".
func (k *Kernel) CountsByLine() map[string]Counts {
	all := map[string]Counts{}
	for i := range k.program.code {
		in := &k.program.code[i]
		c := all[in.source.String()]
		c.add(in.counts)
		all[in.source.String()] = c
	}
	return all
}

// Executed reports whether any launch so far has executed instruction i of the kernel's code.
func (k *Kernel) Executed(i int) bool { return k.program.code[i].counts.Instructions > 0 }

// IsFault reports whether err is a [*Fault] of the given kind.
func IsFault(err error, kind Kind) bool {
	var f *Fault
	return errors.As(err, &f) && f.Kind == kind
}

// lanes returns the indices of the lanes of a mask in random order: the order in
// which they execute an atomic instruction.
func (d *Device) lanes(mask uint32) []int {
	var list []int
	for l := range warpSize {
		if mask>>l&1 == 1 {
			list = append(list, l)
		}
	}
	d.order.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
