package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pretext/trainer"
)

// TestWideModelsAreThoseOfTheCPU computes a layer as wide as BERT-base's and
// BERT-large's.
func TestWideModelsAreThoseOfTheCPU(t *testing.T) {
	for _, hidden := range []int{768, 1024} {
		t.Run(fmt.Sprint(hidden), func(t *testing.T) {
			t.Parallel()
			c, h := smallConfig(hidden, 1, trainer.GELUNew), trainer.PretrainHeads()
			c.VocabSize, c.IntermediateSize = 203, 128
			o := tinyOptions
			o.Tokens, o.Masked, o.Precision = 16, 8, trainer.BFloat16
			p := openPair(t, simulated(8), c, h, o)
			batch := ragged(rand.New(rand.NewPCG(3, 4)), c, 1, 11)
			got, want := p.gradients(t, batch, h)
			if median := compareGradients(t, got, want, 8e-2); !(median <= 1e-2) {
				t.Errorf("the median gradient is off by %.2g", median)
			}
		})
	}
}
