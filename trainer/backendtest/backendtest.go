// Package backendtest compares a backend with the CPU backend in double
// precision: losses, gradients with dropout, updates, outputs, and behaviour at
// the limits.
//
//	func TestBackend(t *testing.T) {
//		be, err := cuda.Open(0)
//		…
//		backendtest.Run(t, be, trainer.BFloat16)
//	}
//
// Shapes are what a device must support: head size 64, hidden sizes 128 and
// 192, a vocabulary that is no multiple of anything, sequences from one token
// to more than two tiles. Tests of single operations stay inside each backend.
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

// A Tolerance is the maximum relative error of a precision against double
// precision: the norm of the difference divided by the norm.
type Tolerance struct {
	Loss     float64
	Gradient float64 // worst tensor
	Median   float64 // of the tensors
	Zero     float64 // size of a gradient whose true value is zero, of that of the query bias
}

// Tolerances returns the limits of the trainer's design.
func Tolerances(p trainer.Precision) Tolerance {
	switch p {
	case trainer.Float64:
		return Tolerance{Loss: 1e-11, Gradient: 1e-6, Median: 1e-7, Zero: 1e-6}
	case trainer.Float32:
		return Tolerance{Loss: 1e-6, Gradient: 1e-4, Median: 2e-5, Zero: 1e-3}
	default:
		return Tolerance{Loss: 1e-3, Gradient: 8e-2, Median: 1e-2, Zero: 0.5}
	}
}

// A setting is one model and the lengths of its batch.
type setting struct {
	name    string
	config  trainer.Config
	heads   trainer.Heads
	lengths []int
}

func settings() []setting {
	base := trainer.Config{
		VocabSize: 1003, HiddenSize: 128, Layers: 2, AttentionHeads: 2, IntermediateSize: 192, Activation: trainer.GELUNew,
		HiddenDropout: 0.1, AttentionDropout: 0.1, MaxPositions: 80, Segments: 2, InitializerRange: 0.05, LayerNormEps: 1e-12,
	}
	wide := base
	wide.HiddenSize, wide.AttentionHeads, wide.IntermediateSize, wide.Layers, wide.Activation = 192, 3, 320, 1, trainer.GELU
	still := base
	still.HiddenDropout, still.AttentionDropout = 0, 0
	lengths := []int{1, 33, 17, 66, 2}
	return []setting{
		{"pretraining with dropout", base, trainer.PretrainHeads(), lengths},
		{"pretraining without dropout", still, trainer.PretrainHeads(), lengths},
		{"three heads, erf", wide, trainer.PretrainHeads(), lengths},
		{"classification", base, trainer.Heads{Labels: 5}, lengths},
		{"regression", base, trainer.Heads{Regression: true}, lengths},
		{"span", base, trainer.Heads{Span: true}, lengths},
	}
}

// Run runs all tests on a backend with a precision.
func Run(t *testing.T, b trainer.Backend, p trainer.Precision) {
	for _, s := range settings() {
		t.Run(s.name, func(t *testing.T) {
			t.Run("gradients", func(t *testing.T) { checkGradients(t, b, p, s) })
			t.Run("evaluation", func(t *testing.T) { checkForward(t, b, p, s) })
			t.Run("micro-batches", func(t *testing.T) { checkMicroBatches(t, b, p, s) })
		})
	}
	for _, o := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB} {
		t.Run("updates by "+string(o), func(t *testing.T) { checkUpdates(t, b, p, o) })
	}
	t.Run("tensors come back as loaded", func(t *testing.T) { checkLoad(t, b, p) })
	t.Run("limits", func(t *testing.T) { checkLimits(t, b, p) })
}

// batch makes sequences of the given lengths with targets for every head; one
// sequence has no masked token.
func (s setting) batch(seed uint64) *trainer.Batch {
	r := rand.New(rand.NewPCG(seed, 7))
	b := &trainer.Batch{}
	for i, n := range s.lengths {
		q := trainer.Sequence{NSPLabel: int32(r.IntN(2)), Position: int64(i) + int64(seed)<<32}
		for j := range n {
			q.IDs, q.Segments = append(q.IDs, int32(r.IntN(s.config.VocabSize))), append(q.Segments, int32(2*j/n))
			if i != 1 && r.IntN(6) == 0 {
				q.MaskedPositions = append(q.MaskedPositions, int32(j))
				q.MaskedIDs, q.MaskedWeights = append(q.MaskedIDs, int32(r.IntN(s.config.VocabSize))), append(q.MaskedWeights, 1)
			}
		}
		b.Append(q)
		start := r.IntN(n)
		b.Starts, b.Ends = append(b.Starts, int32(start)), append(b.Ends, int32(start+r.IntN(n-start)))
		b.Labels, b.Scores = append(b.Labels, int32(r.IntN(5))), append(b.Scores, r.Float32())
	}
	return b
}

// open opens a model whose biases and LayerNorms are not trivial.
func (s setting) open(t *testing.T, back trainer.Backend, p trainer.Precision, o trainer.OptimizerName) trainer.Model {
	t.Helper()
	m, err := back.Open(s.config, s.heads, trainer.Options{
		Tokens: 160, Sequences: 8, Masked: 64, Precision: p, Train: true, Seed: 77, Optimizer: trainer.DefaultOptimizer(o),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	report, err := m.Load(trainer.Weights, s.weights())
	if err == nil {
		err = report.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// weights yields values that every precision holds exactly: multiples of 2^-7
// below 1/2, and LayerNorm gains around 1.
func (s setting) weights() iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		r := rand.New(rand.NewPCG(1, 1))
		for w := range trainer.InitialWeights(s.config, s.heads, 3) {
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

func (s setting) reference(t *testing.T, o trainer.OptimizerName) trainer.Model {
	t.Helper()
	return s.open(t, cpu.Backend{}, trainer.Float64, o)
}
