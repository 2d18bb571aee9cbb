package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pretext/trainer"
)

// Moments that were carried into a new phase are corrected as those of a model that has
// made all the updates itself; without the count they are not.
func TestCarriedMomentsKeepTheirCount(t *testing.T) {
	c := modernConfig()
	b := ragged(rand.New(rand.NewPCG(3, 5)), c, 9, 17, 5)
	o := limitsOf(b, trainer.Float64)
	o.Optimizer = trainer.DefaultOptimizer(trainer.StableAdamW)
	after := func(s trainer.State) []float64 {
		m := openRandom[float64](t, c, c.PretrainHeads(), o, Backend{Threads: 1})
		for i := range m.params.m {
			m.params.m[i], m.params.v[i] = 1e-3, 1e-4
		}
		m.SetState(s)
		if err := m.Accumulate(b, b.Counts(m.h).Coef(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Apply(steady(1e-3)); err != nil {
			t.Fatal(err)
		}
		return m.params.w
	}
	whole := after(trainer.State{Step: 7})
	if !slices.Equal(after(trainer.State{Step: 2, Carried: 5}), whole) {
		t.Error("5 carried updates and 2 are corrected in another way than 7")
	}
	if slices.Equal(after(trainer.State{Step: 2}), whole) {
		t.Error("the carried updates make no difference")
	}
}

// Positions turn queries and keys, not the place in the batch.
func TestPositionsOfABatchDecide(t *testing.T) {
	c := modernConfig()
	c.Modern.Local = []bool{false, false, false}
	b := ragged(rand.New(rand.NewPCG(3, 5)), c, 9, 17)
	m := openRandom[float64](t, c, c.PretrainHeads(), limitsOf(b, trainer.Float64), Backend{Threads: 1})
	loss := func() float64 {
		s, err := m.Forward(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.MLMLoss
	}
	whole := loss()
	for i := range b.Positions { // angles are relative
		b.Positions[i] += 3
	}
	if d := loss()/whole - 1; d > 1e-12 || d < -1e-12 {
		t.Errorf("positions that begin at 3 change the loss by %.3g of it", d)
	}
	b.Positions[2], b.Positions[5] = b.Positions[5], b.Positions[2]
	if d := loss()/whole - 1; d < 1e-9 && d > -1e-9 {
		t.Error("two exchanged positions change nothing")
	}
}
