package cpu

import (
	"math/rand/v2"
	"runtime/debug"
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
