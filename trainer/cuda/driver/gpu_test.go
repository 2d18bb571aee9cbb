//go:build gpu && cgo && linux

package driver_test

import (
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
	"pretext/trainer/cuda/sim"
)

// The tests of this file run on cuda:0, or with PRETEXT_GPU=sim on the simulator in
// its place, for a rehearsal.

func onGPU(t *testing.T) device.Device { return onGPUs(t, 1)[0] }

// onGPUs opens n devices: different GPUs if the machine has as many, and otherwise
// cuda:0 n times.
func onGPUs(t *testing.T, n int) (all []device.Device) {
	t.Helper()
	network := sim.NewNetwork()
	for i := range n {
		if rehearsal() {
			all = append(all, sim.NewGPU(sim.Options{Seed: 2 + uint64(i), Memory: 4 << 30, Network: network}))
			continue
		}
		d := must(t, func() (device.Device, error) { return driver.Open(i % min(n, max(1, len(driver.Look().Devices)))) })
		t.Cleanup(func() { check(t, d.Close()) })
		all = append(all, d)
	}
	return all
}

func rehearsal() bool { return os.Getenv("PRETEXT_GPU") == "sim" }

func runSuite(t *testing.T, p trainer.Precision) {
	d := onGPUs(t, 2)
	first, second := cuda.New(d[0]), cuda.New(d[1])
	if !rehearsal() && len(driver.Look().Devices) < 2 { // NCCL refuses two ranks on one GPU
		first.Transport, second.Transport = cuda.TransportHost, cuda.TransportHost
	}
	backendtest.Suite{Backend: first, Second: second, Precision: p, Small: rehearsal()}.Run(t)
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

// Every collective with a single rank, where each of them copies; then an abort.
func TestGPUCollectives(t *testing.T) {
	d := onGPU(t)
	c := d.(device.Collectives)
	check(t, c.Supported())
	comm := must(t, func() (device.Communicator, error) { return c.Connect(t.Context(), must(t, c.UniqueID), 0, 1) })
	s := must(t, d.NewStream)
	const n = 1 << 12 // elements
	h := must(t, func() ([]byte, error) { return d.AllocHost(8 * n) })
	p, q := must(t, func() (device.Pointer, error) { return d.Alloc(4 * n) }), must(t, func() (device.Pointer, error) { return d.Alloc(4 * n) })
	for kind := device.AllReduce; kind <= device.Broadcast; kind++ {
		for _, typ := range []device.DataType{device.Float32, device.BFloat16, device.Float16} {
			size := n * typ.Size()
			for i := range size {
				h[i] = byte(i*i>>3) & 0x3f // finite numbers in every type
			}
			check(t, d.ToDevice(s, p, h[:size]), d.Clear(s, q, size), c.Collect(s, comm, device.Collective{Kind: kind, Type: typ, Send: p, Receive: q, N: n}),
				c.Collect(s, comm, device.Collective{Kind: kind, Type: typ, Send: q, Receive: q, N: n}), // in place
				d.ToHost(s, h[4*n:][:size], q), d.SyncStream(s), c.AsyncError(comm))
			if string(h[:size]) != string(h[4*n:][:size]) {
				t.Errorf("%s of type %d: other bytes came back", kind, typ)
			}
		}
	}
	check(t, c.Disconnect(comm))
	second := must(t, func() (device.Communicator, error) { return c.Connect(t.Context(), must(t, c.UniqueID), 0, 1) })
	lost := errors.New("a rank was lost")
	c.Abort(second, lost)
	if err := c.AsyncError(second); !errors.Is(err, lost) {
		t.Errorf("after an abort: %v", err)
	}
	check(t, c.Disconnect(second), d.SyncStream(s))
}

// Steps of a single rank that exchanges gradients and weights by NCCL are those of one
// that does not.
func TestGPUOneRankByNCCL(t *testing.T) {
	d := onGPU(t)
	c, err := trainer.Preset("tiny", 67)
	check(t, err)
	h := trainer.PretrainHeads()
	optimizers := []trainer.OptimizerName{trainer.LAMB, trainer.AdamW}
	if rehearsal() {
		optimizers = optimizers[:1]
	}
	for _, optimizer := range optimizers {
		var all []map[string][]float32
		for _, transport := range []cuda.Transport{cuda.TransportAuto, cuda.TransportNCCL} {
			for _, divided := range []bool{false, true} {
				if divided && transport == cuda.TransportAuto {
					continue
				}
				b := cuda.New(d)
				b.Transport = transport
				m := must(t, func() (trainer.Model, error) {
					return b.Open(c, h, trainer.Options{Tokens: 64, Sequences: 4, Masked: 16, Precision: trainer.BFloat16, Train: true, Seed: 1, Optimizer: trainer.DefaultOptimizer(optimizer), Deterministic: true, ShardOptimizer: divided})
				})
				all = append(all, trained(t, m, c, h))
				check(t, m.Close())
			}
		}
		for i, got := range all[1:] {
			for name, want := range all[0] {
				if !slices.Equal(got[name], want) {
					t.Errorf("%s, divided %v: %s has other bits", optimizer, i == 1, name)
				}
			}
		}
	}
}

// trained takes three steps, or one in a rehearsal, from initial weights and returns
// the weights.
func trained(t *testing.T, m trainer.Model, c trainer.Config, h trainer.Heads) map[string][]float32 {
	t.Helper()
	must(t, func() (trainer.LoadReport, error) { return m.Load(trainer.Weights, trainer.InitialWeights(c, h, 1)) })
	batch := &trainer.Batch{}
	for i := range 3 {
		q := trainer.Sequence{IDs: make([]int32, 20), Segments: make([]int32, 20), MaskedPositions: []int32{3, 7}, MaskedIDs: []int32{5, 6}, MaskedWeights: []float32{1, 1}, Position: int64(i)}
		for j := range q.IDs {
			q.IDs[j] = int32((7*i + 3*j) % c.VocabSize)
		}
		batch.Append(q)
	}
	steps := 3
	if rehearsal() {
		steps = 1
	}
	for range steps {
		check(t, m.Accumulate(batch, batch.Counts(h).Coef(), true))
		must(t, func() (trainer.StepInfo, error) {
			return m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 3})
		})
	}
	all := map[string][]float32{}
	for x, err := range m.Tensors(trainer.Weights) {
		check(t, err)
		all[x.Name] = slices.Clone(x.Data)
	}
	return all
}
