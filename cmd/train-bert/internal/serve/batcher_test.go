package serve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pretext/cmd/train-bert/internal/serve"
	"pretext/trainer"
	"pretext/trainer/finetune/predict"
)

// A steps is a job of n sequences of four tokens, which notes those it takes.
type steps struct {
	predict.Job
	name string
	n    int
	took *[]string // written by the batcher alone
}

func (s steps) Len() int       { return s.n }
func (s steps) Tokens(int) int { return 4 }
func (s steps) Masked(int) int { return 0 }
func (s steps) Append(b *trainer.Batch, _ int, position int64) {
	b.Append(trainer.Sequence{IDs: make([]int32, 4), Segments: make([]int32, 4), NSPLabel: trainer.NoLabel, Position: position})
	b.Labels = append(b.Labels, 0)
}

func (s steps) Take(i int, _ []float32) error {
	*s.took = append(*s.took, fmt.Sprint(s.name, i))
	return nil
}

// Requests take turns, also where a batch has no room for one sequence of each: the
// small one does not wait for all of the large ones, and each gets its sequences in
// order.
func TestASmallRequestIsNotHeldUpByLargeOnes(t *testing.T) {
	h := trainer.Heads{Labels: 2}
	g := &gate{Model: newModel(t, h), waiting: make(chan int, 1000), open: make(chan struct{})}
	b := serve.NewBatcher(g, h, serve.Limits{Tokens: 8, Masked: 8, Queue: 4})
	var took []string
	ends := make(chan error, 4)
	do := func(name string, n int) {
		go func() { ends <- b.Do(context.Background(), steps{name: name, n: n, took: &took}) }()
	}
	do("large", 20)
	within(t, g.waiting, "the first batch")
	do("big", 20)
	do("huge", 20)
	eventually(t, "three requests", func() bool { return b.Waiting() == 3 })
	do("small", 2)
	eventually(t, "four requests", func() bool { return b.Waiting() == 4 })
	close(g.open)
	for range 4 {
		if err := within(t, ends, "an end"); err != nil {
			t.Error(err)
		}
	}
	b.Close()
	if at := slices.Index(took, "small1"); at < 0 || at > 14 {
		t.Errorf("the small request had its turns at %v", took)
	}
	large := slices.DeleteFunc(took, func(s string) bool { return !strings.HasPrefix(s, "large") })
	for i, s := range large {
		if s != fmt.Sprint("large", i) || len(large) != 20 {
			t.Fatalf("the large request had %v", large)
		}
	}
}

func TestCloseFinishesWhatWaits(t *testing.T) {
	h := trainer.Heads{Labels: 2}
	g := &gate{Model: newModel(t, h), waiting: make(chan int, 10), open: make(chan struct{})}
	b := serve.NewBatcher(g, h, serve.Limits{Tokens: 8, Queue: 4})
	var took []string
	end, closed := make(chan error, 1), make(chan struct{})
	go func() { end <- b.Do(context.Background(), steps{name: "s", n: 5, took: &took}) }()
	within(t, g.waiting, "the first batch")
	go func() {
		b.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("closed with a request under way")
	case <-time.After(50 * time.Millisecond):
	}
	close(g.open)
	if err := within(t, end, "the end"); err != nil || len(took) != 5 {
		t.Errorf("got %v, %v", took, err)
	}
	within(t, closed, "the end of Close")
}

func TestAClosedBatcherRefuses(t *testing.T) {
	h := trainer.Heads{Labels: 2}
	b := serve.NewBatcher(newModel(t, h), h, serve.Limits{Tokens: 8, Queue: 4})
	b.Close()
	if err := b.Do(context.Background(), steps{n: 1}); !errors.Is(err, serve.ErrStopped) {
		t.Errorf("got %v", err)
	}
}
