package cuda

import (
	"fmt"

	"pretext/trainer/cuda/device"
)

// An arena places all buffers of a model in one allocation, which is made once:
// a step allocates nothing.
type arena struct {
	buffers []buffer
	held    []device.Pointer // allocations
}

type buffer struct {
	name string
	at   *device.Pointer
	size int // bytes
}

// alignment of buffers, in bytes; what Alloc returns has it too.
const alignment = 256

// want asks for a buffer. place sets at; a buffer of size 0 stays zero.
func (a *arena) want(name string, at *device.Pointer, size int) {
	a.buffers = append(a.buffers, buffer{name, at, size})
}

// size returns the bytes of all buffers.
func (a *arena) size() int {
	total := 0
	for _, b := range a.buffers {
		total += roundUp(b.size, alignment)
	}
	return total
}

// place allocates the buffers: together, or apart, each by itself.
func (a *arena) place(d device.Device, apart bool) error {
	if apart {
		return a.placeApart(d)
	}
	p, err := d.Alloc(a.size())
	if err != nil {
		return fmt.Errorf("allocate %.1f GiB on %s, which has %.1f: %w; a smaller micro_batch_tokens needs less",
			gibibytes(a.size()), d.Properties().Name, gibibytes(d.Properties().Memory), err)
	}
	a.held = append(a.held, p)
	for _, b := range a.buffers {
		if b.size > 0 {
			*b.at = p
			p = p.Add(roundUp(b.size, alignment))
		}
	}
	return nil
}

// placeApart allocates each buffer by itself, with its name where the device
// keeps names.
func (a *arena) placeApart(d device.Device) error {
	named, _ := d.(interface {
		AllocNamed(name string, n int) (device.Pointer, error)
	})
	for _, b := range a.buffers {
		if b.size == 0 {
			continue
		}
		p, err := named.AllocNamed(b.name, b.size)
		if err != nil {
			return err
		}
		*b.at = p
		a.held = append(a.held, p)
	}
	return nil
}

// free frees what place allocated. The device must be idle.
func (a *arena) free(d device.Device) error {
	for _, p := range a.held {
		if err := d.Free(p); err != nil {
			return err
		}
	}
	a.held = nil
	return nil
}

func gibibytes(n int) float64 { return float64(n) / (1 << 30) }
