package cuda

import (
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// simulated returns a backend on the simulator, which checks every access and
// runs streams, blocks and warps in an order chosen by seed. The seed modulo 10 chooses
// roundings, so that ranks may have the same; GELU in epilogues is that of a GPU. Every
// buffer is an allocation of its own.
func simulated(seed uint64) *Backend {
	b := onDevice(sim.NewGPU(sim.Options{Seed: seed, Contract: seed % 10, Errors: seed % 10, EpilogueTanh: 0x1p-11, Memory: 4 << 30}))
	b.apart = true
	return b
}

// onDevice returns a backend with limits for small models.
func onDevice(d device.Device) *Backend {
	b := New(d)
	b.limits = limits{chunk: maxChunk, piece: 7, workspace: 1000} // small pieces, so that some targets are frequent; an odd workspace
	return b
}

// runSuite runs the tests of backendtest on a backend and, for the second rank,
// another. A plain go test runs those that are named, or all, in small sizes.
func runSuite(t *testing.T, seed uint64, p trainer.Precision, plain ...string) {
	t.Parallel()
	s := backendtest.Suite{Backend: simulated(seed), Second: simulated(10 + seed), Precision: p, Small: true}
	if !torture.Full() {
		s.Quick, s.Only = true, plain
	}
	s.Run(t)
}

// The seeds differ, so that the same work runs in three orders. Steps in single
// precision are tested by TestStepsAreThoseOfTheCPU too.
func TestSinglePrecisionOnTheSimulator(t *testing.T) {
	runSuite(t, 1, trainer.Float32, "pretraining with dropout", "span with limited attention", "snapshot")
}

// In a plain go test, what is not named here runs in other precisions, compares ranks and
// orders, as tests of this package do, or is left to make full-cuda.
func TestBFloat16OnTheSimulator(t *testing.T) {
	runSuite(t, 2, trainer.BFloat16, "pretraining with dropout", "long sequences", "micro-batches", "updates by adamw", "ModernBERT")
}

// The sizes are always small. In larger ones the gradient of the two biases of next
// sentence is so near zero that 8 bits do not keep its sign, by which Adam moves them.
func TestFloat8OnTheSimulator(t *testing.T) {
	t.Parallel()
	s := backendtest.Suite{Backend: simulated(4), Second: simulated(14), Precision: trainer.Float8, Small: true, Quick: true}
	if !torture.Full() {
		s.Only = []string{"span with limited attention", "overflow"}
	}
	s.Run(t)
}

func TestFloat16OnTheSimulator(t *testing.T) {
	runSuite(t, 3, trainer.Float16, "three heads, erf", "overflow")
}
