package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"pretext/trainer/cuda/device"
)

// A timed is a device that measures the time of every kernel, matrix product, copy
// and clear with two events, while on is set.
type timed struct {
	device.Device
	device.Collectives // of the same device
	on                 bool
	names              map[device.Function]string
	products           map[device.Product]string
	spans              device.Spans[string]
	total              map[string]*kernelResult
}

// A kernelResult is the result that --kernels prints for one kernel.
type kernelResult struct {
	Kind  string  `json:"kind"` // "kernel"
	Name  string  `json:"name"`
	Calls float64 `json:"calls_per_step"`
	Time  float64 `json:"ms_per_step"`
	Share float64 `json:"share"` // fraction of the total time of all kernels
}

func newTimed(d device.Device) *timed {
	collectives, _ := d.(device.Collectives)
	return &timed{Device: d, Collectives: collectives, names: map[device.Function]string{}, products: map[device.Product]string{},
		spans: device.NewSpans[string](d), total: map[string]*kernelResult{}}
}

// Function calls Function of the device and records the name of the kernel.
func (t *timed) Function(m device.Module, name string) (device.Function, device.Limits, error) {
	f, l, err := t.Device.Function(m, name)
	t.names[f] = name
	return f, l, err
}

// Plan calls Plan of the device and records the shape of the product.
func (t *timed) Plan(m device.Matmul, workspace int, algorithm string) (device.Product, error) {
	p, err := t.Device.Plan(m, workspace, algorithm)
	t.products[p] = fmt.Sprintf("product %d×%d×%d%s", m.M, m.N, m.K, [...]string{"", " bias", " gelu", " dgelu", " dgelu bgrad", " bgrada", " bgradb"}[m.Epilogue])
	return p, err
}

// Launch queues a launch and measures its time. Matmul, Copy, Clear, ToDevice,
// ToHost and Collect below do this for their work.
func (t *timed) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	return t.time(s, t.names[f], func() error { return t.Device.Launch(s, f, c, args) })
}

func (t *timed) Matmul(s device.Stream, p device.Product, x device.Operands) error {
	return t.time(s, t.products[p], func() error { return t.Device.Matmul(s, p, x) })
}

func (t *timed) Copy(s device.Stream, to, from device.Pointer, n int) error {
	return t.time(s, "copy", func() error { return t.Device.Copy(s, to, from, n) })
}

func (t *timed) Clear(s device.Stream, p device.Pointer, n int) error {
	return t.time(s, "clear", func() error { return t.Device.Clear(s, p, n) })
}

func (t *timed) ToDevice(s device.Stream, to device.Pointer, b []byte) error {
	return t.time(s, "to device", func() error { return t.Device.ToDevice(s, to, b) })
}

func (t *timed) ToHost(s device.Stream, b []byte, from device.Pointer) error {
	return t.time(s, "to host", func() error { return t.Device.ToHost(s, b, from) })
}

func (t *timed) Collect(s device.Stream, c device.Communicator, list ...device.Collective) error {
	return t.time(s, list[0].Kind.String(), func() error { return t.Collectives.Collect(s, c, list...) })
}

func (t *timed) time(s device.Stream, name string, f func() error) error {
	if !t.on {
		return f()
	}
	return t.spans.Measure(s, name, f)
}

// byKernel measures the time of each kernel in a few steps and prints the times,
// the longest first. The events take time too, so the sum of the times is greater
// than the time of a step without them.
func (b *bench) byKernel(w io.Writer, t *timed) error {
	t.on = true
	steps := len(b.batches)
	for range steps {
		if _, _, err := b.once(); err != nil {
			return err
		}
		err := t.spans.Read(func(name string, took time.Duration) {
			r := t.total[name]
			if r == nil {
				r = &kernelResult{Kind: "kernel", Name: name}
				t.total[name] = r
			}
			r.Calls++
			r.Time += float64(took) / float64(time.Millisecond)
		})
		if err != nil {
			return err
		}
	}
	t.on = false
	defer clear(t.total)
	all := 0.0
	for _, r := range t.total {
		all += r.Time
	}
	for _, r := range slices.SortedFunc(maps.Values(t.total), func(a, b *kernelResult) int { return cmp.Compare(b.Time, a.Time) }) {
		if all > 0 {
			r.Share = r.Time / all
		}
		r.Calls, r.Time = r.Calls/float64(steps), r.Time/float64(steps)
		if err := write(w, r); err != nil {
			return err
		}
	}
	return nil
}
