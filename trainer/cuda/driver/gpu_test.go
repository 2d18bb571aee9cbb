//go:build gpu && cgo && linux

package driver_test

import (
	"math"
	"os"
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// The tests of this file run on cuda:0, or with PRETEXT_GPU=sim on the simulator in
// its place, for a rehearsal.

func onGPU(t *testing.T) device.Device {
	t.Helper()
	if rehearsal() {
		return sim.NewGPU(sim.Options{Seed: 2, Memory: 4 << 30})
	}
	d := open(t)
	t.Cleanup(func() { check(t, d.Close()) })
	return d
}

func rehearsal() bool { return os.Getenv("PRETEXT_GPU") == "sim" }

func runSuite(t *testing.T, p trainer.Precision) {
	backendtest.Suite{Backend: cuda.New(onGPU(t)), Second: cuda.New(onGPU(t)), Precision: p, Small: rehearsal()}.Run(t)
}

func TestGPUFloat32(t *testing.T)  { runSuite(t, trainer.Float32) }
func TestGPUBFloat16(t *testing.T) { runSuite(t, trainer.BFloat16) }
func TestGPUFloat16(t *testing.T)  { runSuite(t, trainer.Float16) }

// Every epilogue in every combination of types, against the simulator. What cuBLASLt
// refuses is logged, as it is a fact to know and no error: but plain products, and
// those with a bias, must exist.
func TestGPUProducts(t *testing.T) {
	d := onGPU(t)
	for _, types := range [][2]device.DataType{
		{device.Float32, device.Float32}, {device.BFloat16, device.BFloat16}, {device.BFloat16, device.Float32}, {device.Float16, device.Float16}, {device.Float16, device.Float32},
	} {
		for e := device.None; e <= device.BGradB; e++ {
			for trans := range 4 {
				m := device.Matmul{M: 24, N: 40, K: 16, TransA: trans&1 == 1, TransB: trans&2 == 2, LDA: 32, LDB: 40, LDD: 32, Type: types[0], Result: types[1], Epilogue: e}
				if hasAux(e) {
					m.AuxLD = 32
				}
				compare(t, d, m)
			}
		}
	}
}

// compare computes a product on a device and on the simulator.
func compare(t *testing.T, d device.Device, m device.Matmul) {
	got, err := multiply(t, d, m)
	if err != nil {
		t.Log(err)
		if m.Epilogue == device.None || m.Epilogue == device.Bias && m.Type == m.Result {
			t.Error("this product is needed")
		}
		return
	}
	simulated := sim.NewGPU(sim.Options{Seed: 1})
	want := must(t, func() ([]float64, error) { return multiply(t, simulated, m) })
	check(t, simulated.Close())
	difference, norm := 0.0, 0.0
	for i := range want {
		difference += (got[i] - want[i]) * (got[i] - want[i])
		norm += want[i] * want[i]
	}
	limit := map[device.DataType]float64{device.Float32: 1e-5, device.BFloat16: 5e-3, device.Float16: 7e-4}[m.Result]
	if off := math.Sqrt(difference / norm); !(off <= limit) {
		t.Errorf("%+v: off by %.2g, allowed %.2g", m, off, limit)
	}
}

func TestGPUCopiesAndTimes(t *testing.T) {
	d := onGPU(t)
	s := must(t, d.NewStream)
	const n = 1 << 20
	h := must(t, func() ([]byte, error) { return d.AllocHost(2 * n) })
	for i := range n {
		h[i] = byte(i * i >> 3)
	}
	p := must(t, func() (device.Pointer, error) { return d.Alloc(n) })
	begin, end := must(t, func() (device.Event, error) { return d.NewEvent(true) }), must(t, func() (device.Event, error) { return d.NewEvent(true) })
	check(t, d.Record(s, begin), d.ToDevice(s, p, h[:n]), d.ToHost(s, h[n:], p), d.Record(s, end), d.SyncEvent(end))
	if string(h[:n]) != string(h[n:]) {
		t.Error("other bytes came back")
	}
	took, err := d.Elapsed(begin, end)
	check(t, err)
	if took <= 0 && !rehearsal() { // the simulator has no clock
		t.Errorf("the copies took %v", took)
	}
}
