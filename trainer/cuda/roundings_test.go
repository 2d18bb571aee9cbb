package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/trainer"
	"pretext/trainer/cuda/sim"
)

// TestGradientsHoldForEveryRounding computes gradients with 20 choices of contracted sums and,
// apart from them, 20 of errors of approximate instructions. In a plain go test the suites
// have one choice of both; see simulated.
func TestGradientsHoldForEveryRounding(t *testing.T) {
	if !torture.Full() {
		t.Skip("set PRETEXT_FULL=1")
	}
	h, c := trainer.PretrainHeads(), smallConfig(128, 1, trainer.GELUNew)
	c.VocabSize = 131
	limits := map[trainer.Precision]float64{trainer.Float32: 1e-4, trainer.BFloat16: 8e-2, trainer.Float16: 1e-2}
	for seed := range uint64(20) {
		for _, rounding := range []sim.Options{{Contract: seed + 1}, {Errors: seed + 1}} {
			for precision, limit := range limits {
				t.Run(fmt.Sprint(precision, rounding.Contract, rounding.Errors), func(t *testing.T) {
					rounding.Seed, rounding.Memory = seed, 4<<30
					b := onDevice(sim.NewGPU(rounding))
					b.apart = true
					o := tinyOptions
					o.Precision = precision
					p := openPair(t, b, c, h, o)
					got, want := p.gradients(t, ragged(rand.New(rand.NewPCG(1, 3)), c, 3, 25), h)
					compareGradients(t, got, want, limit)
				})
			}
		}
	}
}
