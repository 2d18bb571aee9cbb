package cuda

import (
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// simulated returns a backend on the simulator, which checks every access and
// runs streams, blocks and warps in an order chosen by seed. Every buffer is an
// allocation of its own.
func simulated(seed uint64) *Backend {
	b := onDevice(sim.NewGPU(sim.Options{Seed: seed, Memory: 4 << 30}))
	b.apart = true
	return b
}

// onDevice returns a backend with limits for small models.
func onDevice(d device.Device) *Backend {
	b := New(d)
	b.limits = limits{chunk: maxChunk, piece: 7, workspace: 64} // small pieces, so that some targets are frequent
	return b
}

// The seeds differ, so that the same work runs in three orders.
func TestSinglePrecisionOnTheSimulator(t *testing.T) {
	t.Parallel()
	backendtest.Suite{Backend: simulated(1), Second: simulated(11), Precision: trainer.Float32, Small: true}.Run(t)
}

func TestBFloat16OnTheSimulator(t *testing.T) {
	t.Parallel()
	backendtest.Suite{Backend: simulated(2), Second: simulated(12), Precision: trainer.BFloat16, Small: true}.Run(t)
}

func TestFloat16OnTheSimulator(t *testing.T) {
	t.Parallel()
	backendtest.Suite{Backend: simulated(3), Second: simulated(13), Precision: trainer.Float16, Small: true}.Run(t)
}
