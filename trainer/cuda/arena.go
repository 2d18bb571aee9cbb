package cuda

import (
	"fmt"

	"pretext/trainer"
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

// alignment is the alignment of every buffer in bytes. It equals the alignment of
// device.Device.Alloc.
const alignment = 256

// want requests a buffer of size bytes. A later call of place allocates the buffer and
// stores its address in *at; if size is 0, *at stays zero.
func (a *arena) want(name string, at *device.Pointer, size int) {
	a.buffers = append(a.buffers, buffer{name, at, size})
}

// size returns the total size of all buffers in bytes.
func (a *arena) size() int {
	total := 0
	for _, b := range a.buffers {
		total += roundUp(b.size, alignment)
	}
	return total
}

// place allocates all requested buffers in one allocation. If apart is set, each buffer gets
// a named allocation of its own; only the simulator supports this.
func (a *arena) place(d device.Device, apart bool) error {
	if apart {
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
	p, err := d.Alloc(a.size())
	if err != nil {
		return fmt.Errorf("allocate %.1f GiB on %s, which has %.1f: %w; a smaller micro_batch_tokens needs less",
			gibibytes(int64(a.size())), d.Properties().Name, gibibytes(d.Properties().Memory), err)
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

// requests collects the buffers that a model needs, so that one allocation can hold them all.
type requests struct {
	arena
	c       trainer.Config
	s       shape
	train   bool
	element int // bytes
}

// elements requests a buffer of n elements, floats one of n float32 values.
func (r *requests) elements(name string, at *device.Pointer, n int) { r.want(name, at, n*r.element) }
func (r *requests) floats(name string, at *device.Pointer, n int)   { r.want(name, at, n*4) }

// normed requests the buffers of a LayerNorm over a number of rows.
func (r *requests) normed(name string, n *normed, rows int) {
	r.elements(name+".y", &n.y, rows*r.c.HiddenSize)
	if r.train {
		r.elements(name+".xhat", &n.xhat, rows*r.c.HiddenSize)
	}
	r.floats(name+".inverse", &n.inverse, rows)
}

func gibibytes(n int64) float64 { return float64(n) / (1 << 30) }
