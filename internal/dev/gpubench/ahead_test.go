package main

import (
	"slices"
	"testing"

	"pretext/trainer"
)

// An announced model notes what is computed, and what was announced before.
type announced struct {
	trainer.Model
	next            *trainer.Batch
	calls, expected []*trainer.Batch
}

func (m *announced) Accumulate(b *trainer.Batch, _ trainer.Coef, _ bool) error {
	m.calls, m.expected, m.next = append(m.calls, b), append(m.expected, m.next), nil
	return nil
}

func (m *announced) Prepare(b *trainer.Batch) { m.next = b }

func (m *announced) Apply(trainer.Schedule) (trainer.StepInfo, error) { return trainer.StepInfo{}, nil }

// TestStepsAnnounceTheNextBatch takes three steps of two micro-batches: the first batch of
// the second and the third step is announced while the step before runs.
func TestStepsAnnounceTheNextBatch(t *testing.T) {
	o := options{vocab: 40}
	m := &announced{}
	b := &bench{model: m, train: true, parts: 2, batches: []*trainer.Batch{o.madeUp([]int{8, 9}, 9), o.madeUp([]int{10, 11}, 11)}}
	for range 3 {
		if _, _, err := b.once(); err != nil {
			t.Fatal(err)
		}
	}
	want := []*trainer.Batch{nil, nil, m.calls[2], nil, m.calls[4], nil}
	if !slices.Equal(m.expected, want) {
		t.Errorf("announced were %v before %v", m.expected, m.calls)
	}
	for i, tokens := range []int{8, 9, 10, 11, 8, 9} {
		if m.calls[i].Tokens() != tokens {
			t.Errorf("micro-batch %d has %d tokens, want %d", i, m.calls[i].Tokens(), tokens)
		}
	}
}
