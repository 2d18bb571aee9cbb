// Package backendtest tests a backend through the interfaces of package trainer. It
// compares losses, gradients with dropout, outputs and updates with those of the
// CPU backend in double precision. It also checks that overflows, snapshots,
// reproducible bits, several ranks, and limits behave as the interfaces specify.
//
//	func TestSinglePrecision(t *testing.T) {
//		backendtest.Suite{Backend: back, Precision: trainer.Float32}.Run(t)
//	}
//
// The models have head size 64, hidden size 128 or 192, and an odd vocabulary size.
// Sequences have 1 to 200 tokens; 200 is more than three tiles of 64. The packages of
// the backends test individual operations.
package backendtest

import (
	"slices"
	"testing"

	"pretext/trainer"
)

// A Suite is a backend under test.
type Suite struct {
	Backend   trainer.Backend
	Precision trainer.Precision

	// Tolerance is the maximum error; the zero value means [Tolerances] of
	// Precision.
	Tolerance Tolerance

	// Small omits settings whose features other settings also test. It is meant for
	// simulated devices, which are slow: about 25 forward and backward passes of 100 to
	// 230 tokens remain.
	Small bool

	// Quick uses a small vocabulary and shorter sequences: 60 to 160 tokens per batch.
	Quick bool

	// Only holds the names of the tests to run; nil means all.
	Only []string

	// Second is the backend of the second rank in tests with two ranks, for a device
	// that two goroutines cannot share. Nil means that both ranks use Backend.
	Second trainer.Backend

	// OneRank is set for a backend that cannot train on several ranks. The suite then
	// checks that the backend refuses to open a model with a Comm of several ranks.
	OneRank bool
}

// Run runs all tests of the suite as subtests of t.
func (s Suite) Run(t *testing.T) {
	if s.Tolerance == (Tolerance{}) {
		s.Tolerance = Tolerances(s.Precision)
	}
	if s.Second == nil {
		s.Second = s.Backend
	}
	ran := map[string]bool{}
	test := func(name string, f func(t *testing.T)) {
		if ran[name] = true; s.Only == nil || slices.Contains(s.Only, name) {
			t.Run(name, f)
		}
	}
	for _, c := range settings(s.Quick) {
		if s.Small && !c.small || c.config.Modern != nil && s.Precision == trainer.Float8 {
			continue
		}
		test(c.name, func(t *testing.T) {
			t.Run("gradients", func(t *testing.T) { s.gradients(t, c) })
			t.Run("outputs", func(t *testing.T) { s.outputs(t, c) })
		})
	}
	c := settings(s.Quick)[0]
	test("micro-batches", func(t *testing.T) { s.microBatches(t, c) })
	for _, o := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB} {
		test("updates by "+string(o), func(t *testing.T) { s.updates(t, c, o) })
	}
	test("overflow", func(t *testing.T) { s.overflow(t, c) })
	test("equal bits", func(t *testing.T) { s.equalBits(t, c) })
	test("snapshot", func(t *testing.T) { s.snapshot(t, c) })
	test("two ranks", func(t *testing.T) { s.twoRanks(t, c) })
	if s.Precision != trainer.Float8 { // in which a ModernBERT is refused
		modern := settings(s.Quick)[slices.IndexFunc(settings(s.Quick), func(c setting) bool { return c.config.Modern != nil })]
		test("updates of a ModernBERT", func(t *testing.T) { s.updates(t, modern, trainer.StableAdamW) })
		test("two ranks of a ModernBERT", func(t *testing.T) { s.twoRanks(t, modern) })
	}
	test("tensors come back as loaded", func(t *testing.T) { s.load(t, c) })
	test("limits", func(t *testing.T) { s.limits(t, c) })
	test("without training", func(t *testing.T) { s.withoutTraining(t, c) })
	for _, name := range s.Only {
		if !ran[name] {
			t.Errorf("the suite has no test named %q", name)
		}
	}
}

// A Tolerance holds maximum errors relative to a computation in double precision:
// the norm of the difference divided by the norm of the exact value.
type Tolerance struct {
	Loss       float64
	Regression float64 // loss of a regression, which loses digits because it subtracts two close numbers
	Gradient   float64 // gradient of the tensor with the largest error
	Median     float64 // median of the gradients' errors over all tensors
	Zero       float64 // norm of a gradient that is exactly zero, as a fraction of the norm of the query bias's gradient
	Movement   float64 // change of the weights in a few updates, for the tensor with the largest error
}

// Tolerances returns the tolerance that every backend of pretext must meet in
// precision p. Movement is large because weights are stored in float32. In 16 bits it is
// also large because the optimizer divides gradients near zero by their size.
func Tolerances(p trainer.Precision) Tolerance {
	switch p {
	case trainer.Float64:
		return Tolerance{Loss: 1e-11, Regression: 1e-11, Gradient: 1e-6, Median: 1e-7, Zero: 1e-6, Movement: 1e-4}
	case trainer.Float32:
		return Tolerance{Loss: 1e-6, Regression: 1e-6, Gradient: 1e-4, Median: 2e-5, Zero: 1e-3, Movement: 5e-3}
	case trainer.Float8: // 3 and 2 bits of mantissa: errors of 2^-4 and 2^-3 of an operand
		return Tolerance{Loss: 1e-2, Regression: 5e-2, Gradient: 0.4, Median: 0.1, Zero: 1, Movement: 0.8}
	case trainer.Float16:
		return Tolerance{Loss: 2e-4, Regression: 6e-4, Gradient: 1e-2, Median: 2.5e-3, Zero: 0.5, Movement: 0.5}
	default:
		// bf16. A regression's loss (score − target)² was off by up to 4.3e-3: by 2·(score − target)
		// times the error of the score, most of which is that of the pooled output, stored in bf16.
		return Tolerance{Loss: 1e-3, Regression: 6e-3, Gradient: 8e-2, Median: 1e-2, Zero: 0.5, Movement: 0.5}
	}
}

// loss returns the maximum error of the loss of a model with heads h. A regression has
// its own, larger tolerance.
func (t Tolerance) loss(h trainer.Heads) float64 {
	if h.Regression {
		return t.Regression
	}
	return t.Loss
}
