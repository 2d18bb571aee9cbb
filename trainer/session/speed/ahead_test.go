package speed

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pretext/trainer"
)

// A noting model notes its calls, with the sequences of their batches.
type noting struct {
	trainer.Model
	calls []string
}

func (m *noting) note(call string, b *trainer.Batch) {
	m.calls = append(m.calls, fmt.Sprint(call, " ", b.Sequences()))
}

func (m *noting) Accumulate(b *trainer.Batch, _ trainer.Coef, last bool) error {
	m.note(fmt.Sprint("accumulate ", last), b)
	return nil
}

func (m *noting) Prepare(b *trainer.Batch) { m.note("prepare", b) }

func (m *noting) Apply(trainer.Schedule) (trainer.StepInfo, error) {
	m.calls = append(m.calls, "apply")
	return trainer.StepInfo{}, nil
}

// TestTheNextBatchIsAnnouncedWhileAStepRuns measures three steps: each announces the first
// batch of the next before it waits for the device, as training does.
func TestTheNextBatchIsAnnouncedWhileAStepRuns(t *testing.T) {
	m := &noting{}
	s := &steps{made: madeUp(3, 8, 40), heads: trainer.PretrainHeads()}
	for range 3 {
		if _, err := (&model{Model: m}).round(t.Context(), s, 0); err != nil {
			t.Fatal(err)
		}
	}
	once := []string{"accumulate true 3", "prepare 3", "apply"}
	if want := slices.Concat(once, once, once); !slices.Equal(m.calls, want) {
		t.Errorf("got %q, want %q", m.calls, want)
	}
}

// TestMicroBatchesAreTakenOnce peeks at steps of three micro-batches, and at one that cannot
// be read.
func TestMicroBatchesAreTakenOnce(t *testing.T) {
	broken := errors.New("unreadable")
	pulled := 0
	taken := func(err error) *step {
		s := &steps{ahead: &step{stop: func() {}, pull: func() (*trainer.Batch, error, bool) {
			if pulled++; pulled == 3 && err != nil {
				return nil, err, true
			}
			return madeUp(pulled, 8, 40), nil, pulled < 4
		}}}
		if b := s.peek(); b.Sequences() != 1 || s.peek() != b || pulled != 1 {
			t.Errorf("peeked at %d sequences after %d batches were read", b.Sequences(), pulled)
		}
		return s.take()
	}
	for _, tc := range []struct {
		err  error
		want []int
	}{{nil, []int{1, 2, 3}}, {broken, []int{1, 2}}} {
		pulled = 0
		step, got := taken(tc.err), []int(nil)
		for b := range step.batches() {
			got = append(got, b.Sequences())
		}
		if !slices.Equal(got, tc.want) || !errors.Is(step.err, tc.err) {
			t.Errorf("batches of %v sequences, %v, want %v, %v", got, step.err, tc.want, tc.err)
		}
	}
	s := &steps{ahead: &step{stop: func() {}, err: broken}}
	if b := s.peek(); b != nil || !errors.Is(s.take().err, broken) {
		t.Errorf("got %v of a step that cannot be read", b)
	}
}
