package cpu

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pretext/trainer"
)

// If the memory limit has room, a step copies the values of an open snapshot;
// otherwise the step waits until the snapshot is closed.
func TestAStepCopiesForASnapshotOrWaitsForIt(t *testing.T) {
	c := smallConfig(trainer.GELUNew)
	b := ragged(rand.New(rand.NewPCG(1, 1)), c, 9, 5, 12)
	for name, limit := range map[string]int64{"no limit": -1, "no room": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			m := openRandom[float32](t, c, trainer.PretrainHeads(), limitsOf(b, trainer.Float32), Backend{Threads: 1})
			s, err := m.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			before := m.params.w[0]
			var closed atomic.Bool
			if limit > 0 {
				defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
				go func() {
					for _, err := range s.Tensors(trainer.SecondMoment) {
						if err != nil {
							t.Error(err)
						}
					}
					time.Sleep(100 * time.Millisecond) // longer than the step takes
					closed.Store(true)
					s.Close()
				}()
			}
			if err := m.Accumulate(b, b.Counts(trainer.PretrainHeads()).Coef(), true); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Apply(steady(1e-3)); err != nil {
				t.Fatal(err)
			}
			if limit > 0 {
				if !closed.Load() {
					t.Error("the step did not wait for the snapshot")
				}
				return
			}
			for x := range s.Tensors(trainer.Weights) {
				if x.Data[0] != before || m.params.w[0] == before {
					t.Errorf("the snapshot has %v, it was taken at %v, the model now has %v", x.Data[0], before, m.params.w[0])
				}
				break
			}
			s.Close()
		})
	}
}

// A snapshot that was closed before the step is not copied.
func TestAClosedSnapshotIsNotCopied(t *testing.T) {
	c := smallConfig(trainer.GELUNew)
	b := ragged(rand.New(rand.NewPCG(1, 1)), c, 9, 5, 12)
	m := openRandom[float32](t, c, trainer.PretrainHeads(), limitsOf(b, trainer.Float32), Backend{Threads: 1})
	s, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	m.params.unshare()
	if got := s.(*snapshot[float32]); got.values[0] != nil || len(m.params.shared) != 0 {
		t.Error("a closed snapshot was copied")
	}
}

// Without training the weights are packed at the first pass. That changes no bit, and weights
// that are loaded later count.
func TestPackedWeightsAreThoseLoadedLast(t *testing.T) {
	c, heads := smallConfig(trainer.GELUNew), trainer.PretrainHeads()
	b := ragged(rand.New(rand.NewPCG(1, 1)), c, 9, 5, 12)
	train := limitsOf(b, trainer.Float32)
	infer := train
	infer.Train = false
	for _, threads := range []int{1, 3} {
		back := Backend{Threads: threads}
		want, got := openRandom[float32](t, c, heads, train, back), openRandom[float32](t, c, heads, infer, back)
		var last []float32
		for seed := range 2 {
			var hidden [2][]float32
			for i, m := range []*model[float32]{want, got} {
				if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, heads, uint64(seed))); err != nil {
					t.Fatal(err)
				}
				out := &trainer.Outputs{Want: trainer.OutputHidden}
				if _, err := m.Forward(b, out); err != nil {
					t.Fatal(err)
				}
				hidden[i] = out.Hidden
			}
			if !slices.Equal(hidden[0], hidden[1]) || slices.Equal(hidden[1], last) {
				t.Errorf("%d threads, weights %d: other values than with weights that are not packed", threads, seed)
			}
			last = hidden[1]
		}
	}
}
