package trainer_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
)

// saverFunc is a Saver.
type saverFunc func(trainer.Progress, trainer.Snapshot) error

func (f saverFunc) Save(p trainer.Progress, s trainer.Snapshot) error { return f(p, s) }

// A checkpoint that is read only after three further steps holds what one holds
// that is read at once.
func TestACheckpointIsReadBesideTheNextSteps(t *testing.T) {
	now, late := map[int64]*shelf{}, map[int64]*shelf{}
	for _, slow := range []bool{false, true} {
		l := newLoop(t, newMemory(10, 50))
		l.SaveEvery = 4
		reached := map[int64]chan struct{}{}
		for _, step := range []int64{4, 8, 12} {
			reached[step] = make(chan struct{})
		}
		l.Observe = func(r trainer.Report) error {
			if step := r.Progress.Step; step%4 == 3 && step > 4 {
				close(reached[step-3])
			}
			return nil
		}
		close(reached[12]) // no step follows
		l.Saver = saverFunc(func(p trainer.Progress, s trainer.Snapshot) error {
			kept := now
			if slow {
				<-reached[p.Step]
				kept = late
			}
			kept[p.Step] = &shelf{}
			return kept[p.Step].Save(p, s)
		})
		if _, err := trainer.Train(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if len(now) != 3 {
		t.Fatalf("%d checkpoints", len(now))
	}
	for step, want := range now {
		got := late[step]
		if diff := cmp.Diff(want.kept, got.kept); diff != "" || got.state.Step != step || want.state.Step != step {
			t.Errorf("step %d, state %+v and %+v: %s", step, want.state, got.state, diff)
		}
	}
}

// Saves never overlap, and Train returns after the last one.
func TestTrainWaitsForTheCheckpointInProgress(t *testing.T) {
	for name, stop := range map[string]int64{"end": 0, "signal": 7} {
		t.Run(name, func(t *testing.T) {
			l := newLoop(t, newMemory(10, 50))
			l.SaveEvery = 2
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var running, done atomic.Int32
			l.Saver = saverFunc(func(_ trainer.Progress, s trainer.Snapshot) error {
				if running.Add(1) > 1 {
					t.Error("two saves at once")
				}
				for range 100 { // takes as long as some steps
					for _, err := range s.Tensors(trainer.Weights) {
						if err != nil {
							t.Error(err)
						}
					}
				}
				running.Add(-1)
				done.Add(1)
				return nil
			})
			l.Observe = func(r trainer.Report) error {
				if r.Progress.Step == stop {
					cancel()
				}
				return nil
			}
			_, err := trainer.Train(ctx, l)
			if (err == nil) != (stop == 0) {
				t.Error(err)
			}
			if want := map[int64]int32{0: 6, 7: 4}[stop]; done.Load() != want || running.Load() != 0 {
				t.Errorf("%d saves ended and %d run, want %d", done.Load(), running.Load(), want)
			}
		})
	}
}

// An error of a save ends the run after the step at hand, at a signal too.
func TestAFailedCheckpointEndsTheRun(t *testing.T) {
	for name, stop := range map[string]int64{"steps follow": 0, "a signal": 5, "the last step": -1} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t, newMemory(10, 50))
			l.SaveEvery = 5
			if stop < 0 {
				l.SaveEvery = 0
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l.Saver = saverFunc(func(trainer.Progress, trainer.Snapshot) error { return errDisk })
			l.Observe = func(r trainer.Report) error {
				if r.Progress.Step == stop {
					cancel()
				}
				synctest.Wait() // for the save
				return nil
			}
			at, err := trainer.Train(ctx, l)
			if !errors.Is(err, errDisk) || errors.Is(err, context.Canceled) || strings.Count(err.Error(), errDisk.Error()) != 1 || !strings.Contains(err.Error(), "save checkpoint of step ") {
				t.Errorf("%s: got %v", name, err)
			}
			if want := map[int64]int64{0: 6, 5: 5, -1: 12}[stop]; at.Step > want {
				t.Errorf("%s: stopped at step %d, want at most %d", name, at.Step, want)
			}
		})
	}
}

func TestAModelWhoseLossIsNotFiniteIsNotSaved(t *testing.T) {
	l, s := newLoop(t, newMemory(10, 50)), &shelf{}
	l.Model, l.Saver, l.SaveEvery = &lost{Model: l.Model}, s, 3
	_, err := trainer.Train(t.Context(), l)
	if err == nil || !strings.Contains(err.Error(), "save checkpoint of step 6: the loss is NaN: lower the learning rate") {
		t.Errorf("got %v", err)
	}
	if len(s.saved) != 1 || s.saved[0].Step != 3 {
		t.Errorf("saved %+v, want step 3 alone", s.saved)
	}
}

// lost is a model whose loss is NaN from its fifth step on.
type lost struct {
	trainer.Model
	steps int
}

func (l *lost) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	info, err := l.Model.Apply(s)
	if l.steps++; l.steps >= 5 {
		info.Sums.MLMLoss = math.NaN()
	}
	return info, err
}

// An announced number of micro-batches that is wrong would mark the wrong one
// as the last.
func TestAWrongNumberOfMicroBatchesIsAnError(t *testing.T) {
	for _, off := range []int{-1, 1} {
		l := newLoop(t, miscounted{newMemory(10, 25), off})
		if _, err := trainer.Train(t.Context(), l); err == nil || !strings.Contains(err.Error(), "announced") {
			t.Errorf("off by %d: got %v", off, err)
		}
	}
}

type miscounted struct {
	*memory
	off int
}

func (m miscounted) Step(position int64, n int) (trainer.Share, error) {
	s, err := m.memory.Step(position, n)
	s.MicroBatches += m.off
	return s, err
}

// The model hears which micro-batch is the last of its rank, once a step.
func TestTheLastMicroBatchIsMarked(t *testing.T) {
	src := newMemory(10, 25)
	l := newLoop(t, src)
	m := &marked{Model: l.Model}
	l.Model = m
	if _, err := trainer.Train(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if m.unmarked == 0 || m.steps != 12 {
		t.Errorf("%d steps, %d micro-batches before the last", m.steps, m.unmarked)
	}
	if m.wrong > 0 {
		t.Errorf("in %d steps another micro-batch followed the last, or none was the last", m.wrong)
	}
}

type marked struct {
	trainer.Model
	last                   bool
	steps, unmarked, wrong int
}

func (m *marked) Accumulate(b *trainer.Batch, c trainer.Coef, last bool) error {
	if m.last {
		m.wrong++
	}
	if m.last = last; !last {
		m.unmarked++
	}
	return m.Model.Accumulate(b, c, last)
}

func (m *marked) Apply(s trainer.Schedule) (trainer.StepInfo, error) {
	if !m.last {
		m.wrong++
	}
	m.last = false
	m.steps++
	return m.Model.Apply(s)
}
