package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pretext/trainer"
)

// TestWideModelsAreThoseOfTheCPU computes a layer as wide as BERT-large's and, in a
// full test, BERT-base's.
func TestWideModelsAreThoseOfTheCPU(t *testing.T) {
	for _, hidden := range share([]int{1024}, []int{768, 1024}) {
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

// TestTheLongestSequence computes 512 tokens, eight tiles of attention.
func TestTheLongestSequence(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(64, 1, trainer.GELU), trainer.PretrainHeads()
	c.MaxPositions = 512
	o := tinyOptions
	o.Tokens, o.Masked, o.Precision = 520, 120, trainer.Float16
	p := openPair(t, simulated(9), c, h, o)
	got, want := p.gradients(t, ragged(rand.New(rand.NewPCG(3, 4)), c, 3, 512), h)
	if median := compareGradients(t, got, want, 1e-2); !(median <= 2.5e-3) {
		t.Errorf("the median gradient is off by %.2g", median)
	}
}

// TestABatchThatNoHeadReadsHasNoGradient has no masked token and no other head.
func TestABatchThatNoHeadReadsHasNoGradient(t *testing.T) {
	t.Parallel()
	c, h := smallConfig(64, 1, trainer.GELU), trainer.Heads{MLM: true}
	p := openPair(t, simulated(10), c, h, tinyOptions)
	got, _ := p.gradients(t, ragged(rand.New(rand.NewPCG(3, 4)), c, 7), h)
	for name, g := range got {
		for _, v := range g {
			if v != 0 {
				t.Fatalf("gradient of %s: %v", name, v)
			}
		}
	}
}
