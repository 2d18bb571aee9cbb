// Package backendtest tests a backend through package trainer's interfaces. It
// compares losses, gradients with dropout, outputs and updates with the CPU
// backend in double precision, and checks what the interfaces promise:
// overflows, snapshots, equal bits, several ranks, limits.
//
//	func TestSinglePrecision(t *testing.T) {
//		backendtest.Suite{Backend: back, Precision: trainer.Float32}.Run(t)
//	}
//
// Shapes are what a device must support: head size 64, hidden sizes 128 and
// 192, a vocabulary that is no multiple of anything, sequences from one token
// to 200, which is more than three tiles of 64. Tests of single operations stay
// inside each backend.
package backendtest

import (
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

	// Small leaves out settings that only repeat others, for a simulated
	// device: about 25 forward and backward passes of 100 to 230 tokens stay.
	Small bool

	// Second is the backend of the second of two ranks, for a device that two
	// goroutines cannot share. Nil means Backend.
	Second trainer.Backend

	// OneRank is set for a backend that cannot train on several ranks yet. It
	// must then refuse to open a model with such a Comm.
	OneRank bool
}

// Run runs the suite as subtests of t.
func (s Suite) Run(t *testing.T) {
	if s.Tolerance == (Tolerance{}) {
		s.Tolerance = Tolerances(s.Precision)
	}
	if s.Second == nil {
		s.Second = s.Backend
	}
	for _, c := range settings() {
		if s.Small && !c.small {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Run("gradients", func(t *testing.T) { s.gradients(t, c) })
			t.Run("outputs", func(t *testing.T) { s.outputs(t, c) })
		})
	}
	c := settings()[0]
	t.Run("micro-batches", func(t *testing.T) { s.microBatches(t, c) })
	for _, o := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB} {
		t.Run("updates by "+string(o), func(t *testing.T) { s.updates(t, c, o) })
	}
	t.Run("overflow", func(t *testing.T) { s.overflow(t, c) })
	t.Run("equal bits", func(t *testing.T) { s.equalBits(t, c) })
	t.Run("snapshot", func(t *testing.T) { s.snapshot(t, c) })
	t.Run("two ranks", func(t *testing.T) { s.twoRanks(t, c) })
	t.Run("tensors come back as loaded", func(t *testing.T) { s.load(t, c) })
	t.Run("limits", func(t *testing.T) { s.limits(t, c) })
	t.Run("without training", func(t *testing.T) { s.withoutTraining(t, c) })
}

// A Tolerance is the maximum relative error of a precision against double
// precision: the norm of the difference divided by the norm.
type Tolerance struct {
	Loss       float64
	Regression float64 // loss of a regression, a difference of two near numbers
	Gradient   float64 // worst tensor
	Median     float64 // of the tensors
	Zero       float64 // size of a gradient whose true value is zero, as a fraction of the query bias's
	Movement   float64 // change of the weights in a few updates, worst tensor
}

// Tolerances returns the limits of the trainer's design. Movement is limited by
// float32 storage of the weights and, in 16 bits, by elements whose gradients
// are near zero: the optimizer divides by their size.
func Tolerances(p trainer.Precision) Tolerance {
	switch p {
	case trainer.Float64:
		return Tolerance{Loss: 1e-11, Regression: 1e-11, Gradient: 1e-6, Median: 1e-7, Zero: 1e-6, Movement: 1e-4}
	case trainer.Float32:
		return Tolerance{Loss: 1e-6, Regression: 1e-6, Gradient: 1e-4, Median: 2e-5, Zero: 1e-3, Movement: 5e-3}
	case trainer.Float16:
		return Tolerance{Loss: 2e-4, Regression: 6e-4, Gradient: 1e-2, Median: 2.5e-3, Zero: 0.5, Movement: 0.5}
	default:
		return Tolerance{Loss: 1e-3, Regression: 3e-3, Gradient: 8e-2, Median: 1e-2, Zero: 0.5, Movement: 0.5}
	}
}

// loss returns the tolerance of the loss of a model with heads h.
func (t Tolerance) loss(h trainer.Heads) float64 {
	if h.Regression {
		return t.Regression
	}
	return t.Loss
}
