package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/ptx"
)

// Options configure a device.
type Options struct {
	Seed            uint64 // of all that hardware leaves open: orders of blocks, warps, atomics, streams
	Memory          int    // bytes; 0: 1 GiB
	MaxInstructions int    // of a block, after which it is taken to hang; 0: 1<<26
}

// A Device is a simulated GPU: memory, kernels, counts. It is used by one
// goroutine.
type Device struct {
	options  Options
	order    *rand.Rand
	segments []*memory // by rising address
	used     int
	next     uint64
	interval uint32 // see cell

	streams   []*Stream
	known     clock   // what the host knows to be done
	history   []*work // what ran since all streams were synchronized, in order
	now       *work   // what runs
	unordered uint32  // first interval of the oldest work that is not known to be done before it; 0: there is none
	failed    error   // the first fault of a stream
	looked    lookedUp
}

// New makes a device.
func New(o Options) *Device {
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	if o.MaxInstructions == 0 {
		o.MaxInstructions = 1 << 26
	}
	return &Device{options: o, order: rand.New(rand.NewPCG(o.Seed, 1)), next: 0x7f00_0000_0000, interval: byHost}
}

// A Pointer is an address in a device's memory. Zero is none.
type Pointer = device.Pointer

// guard is the least distance between allocations: what runs over the end of one
// does not land in the next.
const guardBytes = 1 << 12

// Alloc returns n bytes that were never written. The name is for faults.
func (d *Device) Alloc(name string, n int) (Pointer, error) {
	if n < 0 || n > d.options.Memory-d.used {
		return 0, fmt.Errorf("allocate %d bytes for %s: %d of %d are in use", n, name, d.used, d.options.Memory)
	}
	m := newMemory(name, d.next, n)
	d.next += uint64(n+511)&^511 + guardBytes
	d.used += n
	d.segments = append(d.segments, m)
	return Pointer(m.base), nil
}

// Free gives an allocation back; using it afterwards is a fault.
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

// find returns the allocation that holds [at, at+n), nil when there is none.
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

// nearest describes how an address that no allocation holds lies to the one
// before it.
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

// Write copies bytes of the host into the device's memory.
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

// Read copies the device's memory to the host. Bytes that were never written are
// a fault.
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

// A Module is loaded PTX.
type Module struct{ kernels map[string]*Kernel }

// A Kernel is an entry point of a module.
type Kernel struct {
	program *program
	optIn   int // bytes of shared memory allowed beyond what every launch may have
}

// Load reads PTX. An instruction that the simulator does not know is an error.
func (d *Device) Load(text string) (*Module, error) {
	parsed, err := ptx.Parse(text)
	if err != nil {
		return nil, err
	}
	m := &Module{kernels: map[string]*Kernel{}}
	for _, k := range parsed.Kernels {
		p, err := compile(k)
		if err != nil {
			return nil, err
		}
		m.kernels[k.Name] = &Kernel{program: p}
	}
	return m, nil
}

// Kernel returns a kernel by its name.
func (m *Module) Kernel(name string) (*Kernel, error) {
	k, ok := m.kernels[name]
	if !ok {
		return nil, fmt.Errorf("the module has no kernel %s", name)
	}
	return k, nil
}

// AllowShared raises the limit of a kernel's shared memory above 48 KiB, as
// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES does.
func (k *Kernel) AllowShared(bytes int) error {
	if bytes > dynamicLimit {
		return fmt.Errorf("%d bytes of shared memory: at most %d", bytes, dynamicLimit)
	}
	k.optIn = bytes
	return nil
}

// Launch runs a kernel to its end. args are the flat bytes of its parameters,
// each aligned to its size. The error is a [*Fault].
func (d *Device) Launch(k *Kernel, c Config, args []byte) error { return d.run(k, c, args) }

// Counts are what a kernel did, over all its launches.
type Counts struct {
	Instructions uint64 // executed by a warp
	Conflicts    uint64 // cycles lost to bank conflicts in shared memory
	Sectors      uint64 // of 32 bytes moved from and to global memory
	IdealSectors uint64 // the fewest that hold the bytes that lanes asked for
}

func (c *Counts) add(o Counts) {
	c.Instructions += o.Instructions
	c.Conflicts += o.Conflicts
	c.Sectors += o.Sectors
	c.IdealSectors += o.IdealSectors
}

// Counts returns what all launches of the kernel did.
func (k *Kernel) Counts() Counts {
	var c Counts
	for i := range k.program.code {
		c.add(k.program.code[i].counts)
	}
	return c
}

// CountsByLine returns the same for every line of the source, as "file:line".
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

// IsFault reports whether err is a fault of a kind.
func IsFault(err error, kind Kind) bool {
	var f *Fault
	return errors.As(err, &f) && f.Kind == kind
}

// lanes returns the lanes of a mask in a random order: that of atomics.
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
