package cuda

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pretext/trainer"
	"pretext/trainer/backendtest"
)

// modernConfig is a small ModernBERT: a global layer, then local ones with a window of the
// given size.
func modernConfig(hidden, layers, window int) trainer.Config {
	local := make([]bool, layers)
	for i := range local {
		local[i] = i > 0
	}
	return trainer.Config{
		VocabSize: share(131, 1003), HiddenSize: hidden, Layers: layers, AttentionHeads: hidden / headSize, IntermediateSize: hidden + 40, Activation: trainer.GELU,
		HiddenDropout: 0.1, AttentionDropout: 0.2, MaxPositions: 200, InitializerRange: 0.02, LayerNormEps: 1e-5,
		Modern: &trainer.Modern{Local: local, Window: window, GlobalTheta: 160000, LocalTheta: 10000, OutputDropout: 0.1, FeedForwardDropout: 0.1, Cutoff: 2},
	}
}

// TestModernStepsAreThoseOfTheCPU trains a ModernBERT for a few steps of three micro-batches
// with dropout everywhere.
func TestModernStepsAreThoseOfTheCPU(t *testing.T) {
	for _, c := range []struct {
		config    trainer.Config
		optimizer trainer.OptimizerName
	}{
		{modernConfig(128, 2, 21), trainer.StableAdamW},
		{modernConfig(64, 3, 0), trainer.AdamW},
	} {
		t.Run(string(c.optimizer), func(t *testing.T) {
			t.Parallel()
			h := c.config.PretrainHeads()
			o := trainer.Options{Tokens: 70, Sequences: 4, Masked: 20, Precision: trainer.Float32, Train: true, Seed: 9, Optimizer: trainer.DefaultOptimizer(c.optimizer)}
			p := openPair(t, simulated(4), c.config, h, o)
			start := values(t, p.cpu, trainer.Weights)
			r := rand.New(rand.NewPCG(1, 2))
			for step := range share(2, 5) {
				batches := []*trainer.Batch{ragged(r, c.config, 5, 31, 2), ragged(r, c.config, 2, 66), ragged(r, c.config, 1, 17, 9)}
				checkStep(t, p, batches, step)
			}
			checkMovement(t, p, start, 1e-4)
		})
	}
}

// TestModernIn16BitsIsThatOfTheCPU computes gradients with windows that end within a tile,
// at its edge and behind the sequence.
func TestModernIn16BitsIsThatOfTheCPU(t *testing.T) {
	for i, window := range share([]int{41}, []int{0, 1, 41, 128, 1000}) {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			t.Parallel()
			c := modernConfig(128, 2, window)
			o := tinyOptions
			o.Tokens, o.Masked, o.Precision = 160, 40, trainer.BFloat16
			p := openPair(t, simulated(uint64(12+i)), c, c.PretrainHeads(), o)
			got, want := p.gradients(t, ragged(rand.New(rand.NewPCG(3, 4)), c, 3, 150), c.PretrainHeads())
			if median := compareGradients(t, got, want, 8e-2); !(median <= 1e-2) {
				t.Errorf("the median gradient is off by %.2g", median)
			} else {
				t.Logf("the median gradient is off by %.2g", median)
			}
		})
	}
}

// TestLongModernSequences computes gradients of sequences of several tiles, with windows that
// bite, of the token alone, odd, and longer than the sequence.
func TestLongModernSequences(t *testing.T) {
	type long struct {
		tokens, window int
		precision      trainer.Precision
	}
	for i, l := range share([]long{{512, 128, trainer.BFloat16}}, []long{
		{512, 128, trainer.BFloat16}, {512, 21, trainer.Float16}, {1000, 333, trainer.BFloat16}, {1000, 0, trainer.Float32}, {1000, 3000, trainer.Float16},
		{8192, 128, trainer.BFloat16},
	}) {
		t.Run(fmt.Sprintf("%d, ±%d, %s", l.tokens, l.window/2, l.precision), func(t *testing.T) {
			c, limit := modernConfig(64, 2, l.window), backendtest.Tolerances(l.precision)
			c.MaxPositions = l.tokens
			o := tinyOptions
			o.Tokens, o.Masked, o.Precision = l.tokens+72, l.tokens/4+30, l.precision
			p := openPair(t, simulated(uint64(20+i)), c, c.PretrainHeads(), o)
			got, want := p.gradients(t, ragged(rand.New(rand.NewPCG(3, 4)), c, 65, l.tokens), c.PretrainHeads())
			median := compareGradients(t, got, want, limit.Gradient)
			if !(median <= limit.Median) {
				t.Errorf("the median gradient is off by %.2g, allowed %.2g", median, limit.Median)
			}
			t.Logf("the median gradient is off by %.2g", median)
		})
	}
}
