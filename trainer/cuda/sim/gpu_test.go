package sim_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

// gpu is a simulated device whose errors end the test.
type gpu struct {
	*sim.GPU
	t *testing.T
}

func newGPU(t *testing.T, seed uint64) gpu { return gpu{sim.NewGPU(sim.Options{Seed: seed}), t} }

func (g gpu) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// floats copies values to new memory of the device and waits.
func (g gpu) floats(s device.Stream, x ...float32) device.Pointer {
	g.t.Helper()
	p, err := g.Alloc(4 * len(x))
	g.must(err)
	b, err := g.AllocHost(4 * len(x))
	g.must(err)
	for i, v := range x {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	g.must(g.ToDevice(s, p, b))
	g.must(g.SyncStream(s))
	return p
}

func (g gpu) read(s device.Stream, p device.Pointer, n int) []float32 {
	g.t.Helper()
	b, err := g.AllocHost(4 * n)
	g.must(err)
	g.must(g.ToHost(s, b, p))
	g.must(g.SyncStream(s))
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

func TestADeviceRunsKernelsAndProductsInOrderOfEvents(t *testing.T) {
	for seed := range uint64(8) {
		g := newGPU(t, seed)
		a, err := g.NewStream()
		g.must(err)
		b, err := g.NewStream()
		g.must(err)
		text, err := kernels.PTX("elementwise", kernels.F32)
		g.must(err)
		m, err := g.Load(text)
		g.must(err)
		add, limits, err := g.Function(m, "add")
		g.must(err)
		if limits.Threads != 256 {
			t.Errorf("limits %+v, want 256 threads", limits)
		}
		x, y, d := g.floats(a, 1, 2, 3, 4), g.floats(a, 10, 20, 30, 40), g.floats(b, 0, 0, 0, 0)
		e, err := g.NewEvent(false)
		g.must(err)
		g.must(g.Launch(a, add, device.Config{Grid: device.Dim{X: 1}, Block: device.Dim{X: 256}}, kernels.Pack(x, y, int64(4))))
		g.must(g.Record(a, e))
		p, err := g.Plan(device.Matmul{M: 2, N: 2, K: 2, LDA: 2, LDB: 2, LDD: 2}, 0, "")
		g.must(err)
		g.must(g.Wait(b, e))
		g.must(g.Matmul(b, p, device.Operands{A: x, B: y, D: d, Alpha: 1}))
		// Columns: [11 33; 22 44] · [10 30; 20 40].
		if got, want := g.read(b, d, 4), []float32{770, 1100, 1650, 2420}; !slices.Equal(got, want) {
			t.Errorf("product %v, want %v", got, want)
		}
		g.must(g.Close())
		if _, err := g.Alloc(4); !errors.Is(err, sim.ErrClosed) {
			t.Errorf("allocation on a closed device: %v", err)
		}
	}
}

func TestADeviceReportsErrorsOfQueuedWorkLater(t *testing.T) {
	g := newGPU(t, 1)
	s, err := g.NewStream()
	g.must(err)
	p, err := g.Alloc(16)
	g.must(err)
	b, err := g.AllocHost(16)
	g.must(err)
	g.must(g.ToHost(s, b, p)) // never written
	for range 2 {
		if err := g.SyncStream(s); !sim.IsFault(err, sim.Unwritten) {
			t.Errorf("copy of memory that was never written: %v", err)
		}
	}
	if _, err := g.Alloc(16); err == nil {
		t.Error("a device with an error allocated")
	}
}

func TestADeviceSeesHostMemoryThatChangesTooEarly(t *testing.T) {
	g := newGPU(t, 1)
	s, err := g.NewStream()
	g.must(err)
	p, err := g.Alloc(16)
	g.must(err)
	b, err := g.AllocHost(16)
	g.must(err)
	g.must(g.ToDevice(s, p, b))
	b[3] = 1
	if err := g.Sync(); !sim.IsFault(err, sim.HostChanged) {
		t.Errorf("got %v", err)
	}
}

func TestADeviceRefuses(t *testing.T) {
	g := newGPU(t, 1)
	s, err := g.NewStream()
	g.must(err)
	p := g.floats(s, 1, 2, 3, 4)
	for name, f := range map[string]func() error{
		"copy from memory of Go":   func() error { return g.ToDevice(s, p, make([]byte, 4)) },
		"stream that was not made": func() error { return g.Clear(s+1, p, 4) },
		"overlapping copy":         func() error { return g.Copy(s, p, p.Add(4), 8) },
		"bytes of no allocation":   func() error { return g.FreeHost(make([]byte, 4)) },
		"allocation of nothing":    func() error { _, err := g.Alloc(0); return err },
		"product of no kernel":     func() error { return g.Matmul(s, 99, device.Operands{}) },
		"unaligned operand": func() error {
			q, _ := g.Plan(device.Matmul{M: 1, N: 1, K: 1, LDA: 1, LDB: 1, LDD: 1}, 0, "")
			return g.Matmul(s, q, device.Operands{A: p.Add(4), B: p, D: p})
		},
		"leading dimension too low": func() error {
			_, err := g.Plan(device.Matmul{M: 2, N: 1, K: 1, LDA: 1, LDB: 1, LDD: 1}, 0, "")
			return err
		},
		"free with queued work": func() error { g.must(g.Clear(s, p, 4)); return g.Free(p) },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
