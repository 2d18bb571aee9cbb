package backendtest

import (
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cpu"
)

// A setting describes one test: a model and the sequence lengths of its batch.
type setting struct {
	name    string
	config  trainer.Config
	heads   trainer.Heads
	lengths []int
	visible bool // limit attention by VisibleKeys
	small   bool // also runs if Suite.Small is set
}

// settings returns all settings, with a smaller vocabulary and shorter sequences if quick
// is set.
func settings(quick bool) []setting {
	base := trainer.Config{
		VocabSize: 1003, HiddenSize: 128, Layers: 2, AttentionHeads: 2, IntermediateSize: 192, Activation: trainer.GELUNew,
		HiddenDropout: 0.1, AttentionDropout: 0.1, MaxPositions: 200, Segments: 2, InitializerRange: 0.05, LayerNormEps: 1e-12,
	}
	lengths, long, longer := []int{1, 33, 17, 66, 2}, []int{200, 29, 1}, []int{129, 200, 64}
	if quick {
		base.VocabSize = 131
		lengths, long, longer = []int{1, 17, 6, 34, 2}, []int{130, 29, 1}, []int{65, 130, 64}
	}
	wide := base
	wide.HiddenSize, wide.AttentionHeads, wide.IntermediateSize, wide.Layers, wide.Activation = 192, 3, 320, 1, trainer.GELU
	still := base
	still.HiddenDropout, still.AttentionDropout = 0, 0
	one := base
	one.Layers = 1
	modern := base // a global and a local layer
	modern.Activation, modern.Segments, modern.LayerNormEps = trainer.GELU, 0, 1e-5
	modern.Modern = &trainer.Modern{Local: []bool{false, true}, Window: 21, GlobalTheta: 160000, LocalTheta: 10000, OutputDropout: 0.1, FeedForwardDropout: 0.1, Cutoff: 2}
	mean := modern
	kinds := *modern.Modern
	kinds.MeanPooling, mean.Modern = true, &kinds
	return []setting{
		{name: "pretraining with dropout", config: base, heads: trainer.PretrainHeads(), lengths: lengths, small: true},
		{name: "pretraining without dropout", config: still, heads: trainer.PretrainHeads(), lengths: lengths},
		{name: "three heads, erf", config: wide, heads: trainer.PretrainHeads(), lengths: lengths, small: true},
		{name: "long sequences", config: one, heads: trainer.PretrainHeads(), lengths: long, small: true},
		{name: "masked LM alone", config: one, heads: trainer.Heads{MLM: true}, lengths: []int{3, 17, 40, 3, 9}, small: true},
		{name: "classification", config: base, heads: trainer.Heads{Labels: 5}, lengths: lengths},
		{name: "regression", config: one, heads: trainer.Heads{Regression: true}, lengths: lengths, small: true},
		{name: "span", config: base, heads: trainer.Heads{Span: true}, lengths: lengths},
		{name: "span with limited attention", config: one, heads: trainer.Heads{Span: true}, lengths: lengths, visible: true, small: true},
		{name: "ModernBERT", config: modern, heads: trainer.Heads{MLM: true}, lengths: lengths, small: true},
		{name: "ModernBERT: classification", config: modern, heads: trainer.Heads{Labels: 5}, lengths: lengths},
		{name: "ModernBERT: regression from means", config: mean, heads: trainer.Heads{Regression: true}, lengths: lengths, small: true},
		{name: "ModernBERT: span", config: modern, heads: trainer.Heads{Span: true}, lengths: lengths, small: true},
		{name: "long sequences with limited attention", config: one, heads: trainer.PretrainHeads(), lengths: longer, visible: true},
	}
}

// batch returns random sequences of the lengths of c, with labels for every head.
// The sequence with index 1 has no masked token.
func (c setting) batch(seed uint64) *trainer.Batch {
	r := rand.New(rand.NewPCG(seed, 7))
	b := &trainer.Batch{}
	for i, n := range c.lengths {
		q := trainer.Sequence{NSPLabel: int32(r.IntN(2)), Position: int64(i) + int64(seed)<<32}
		for j := range n {
			q.IDs, q.Segments = append(q.IDs, int32(r.IntN(c.config.VocabSize))), append(q.Segments, int32(2*j/n))
			if i != 1 && r.IntN(6) == 0 {
				q.MaskedPositions = append(q.MaskedPositions, int32(j))
				q.MaskedIDs, q.MaskedWeights = append(q.MaskedIDs, int32(r.IntN(c.config.VocabSize))), append(q.MaskedWeights, 1)
			}
		}
		b.Append(q)
		start := r.IntN(n)
		b.Starts, b.Ends = append(b.Starts, int32(start)), append(b.Ends, int32(start+r.IntN(n-start)))
		b.Labels, b.Scores = append(b.Labels, int32(r.IntN(5))), append(b.Scores, r.Float32())
		if c.visible {
			b.VisibleKeys = append(b.VisibleKeys, int32(1+(2*n)/3))
			b.VisibleKeys[i] = min(b.VisibleKeys[i], int32(n))
		}
	}
	return b
}

// options returns the options of a model that trains on the batches of c.
func (c setting) options(p trainer.Precision, o trainer.OptimizerName) trainer.Options {
	tokens := 0
	for _, n := range c.lengths {
		tokens += n
	}
	return trainer.Options{
		Tokens: tokens, Sequences: len(c.lengths), Masked: tokens / 2, Precision: p, Train: true, Seed: 77, Optimizer: trainer.DefaultOptimizer(o),
	}
}

// open opens the model of c on backend back. Its weights are those of
// [setting.weights].
func (c setting) open(t *testing.T, back trainer.Backend, o trainer.Options) trainer.Model {
	t.Helper()
	m, err := back.Open(c.config, c.heads, o)
	check(t, err)
	t.Cleanup(func() { m.Close() })
	report, err := m.Load(trainer.Weights, c.weights())
	if err == nil {
		err = report.Complete()
	}
	check(t, err)
	return m
}

// model opens the model of c on the backend under test.
func (s Suite) model(t *testing.T, c setting, o trainer.OptimizerName) trainer.Model {
	t.Helper()
	return c.open(t, s.Backend, c.options(s.Precision, o))
}

// reference opens the model of c on the CPU in double precision.
func (c setting) reference(t *testing.T, o trainer.OptimizerName) trainer.Model {
	t.Helper()
	return c.open(t, cpu.Backend{}, c.options(trainer.Float64, o))
}

// weights yields weights that every precision can represent exactly: multiples of
// 2^-7 below 1/2, and LayerNorm gains around 1. Biases are not zero.
func (c setting) weights() iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		r := rand.New(rand.NewPCG(1, 1))
		for w := range trainer.InitialWeights(c.config, c.heads, 3) {
			for i := range w.Data {
				w.Data[i] = float32(max(-20, min(20, math.Round(8*r.NormFloat64())))) / 128
				if strings.HasSuffix(w.Name, "LayerNorm.weight") {
					w.Data[i]++
				}
			}
			if !yield(w, nil) {
				return
			}
		}
	}
}

// part returns a batch of the sequences of b with indices from lo to hi-1.
func part(b *trainer.Batch, lo, hi int) *trainer.Batch {
	p := &trainer.Batch{Labels: b.Labels[lo:hi], Scores: b.Scores[lo:hi], Starts: b.Starts[lo:hi], Ends: b.Ends[lo:hi]}
	for s := lo; s < hi; s++ {
		first, end := b.CuSeqlens[s], b.CuSeqlens[s+1]
		q := trainer.Sequence{IDs: b.IDs[first:end], Segments: b.Segments[first:end], NSPLabel: b.NSPLabels[s], Position: b.Sequence[s]}
		for i, row := range b.MaskedIndex {
			if row >= first && row < end {
				q.MaskedPositions = append(q.MaskedPositions, row-first)
				q.MaskedIDs, q.MaskedWeights = append(q.MaskedIDs, b.MaskedIDs[i]), append(q.MaskedWeights, b.MaskedWeights[i])
			}
		}
		p.Append(q)
	}
	return p
}
