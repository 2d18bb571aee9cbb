package cuda

import (
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
	"pretext/trainer/cuda/sim"
)

// simulated returns a backend on the simulator, which checks every access and
// runs streams, blocks and warps in an order chosen by seed. Every buffer is an
// allocation of its own.
func simulated(seed uint64) *Backend {
	b := New(sim.NewGPU(sim.Options{Seed: seed, Memory: 4 << 30}))
	b.apart = true
	return b
}

// The seeds differ, so that the same work runs in three orders.
func TestSinglePrecisionOnTheSimulator(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, simulated(1), trainer.Float32)
}

func TestFloat16OnTheSimulator(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, simulated(3), trainer.Float16)
}
