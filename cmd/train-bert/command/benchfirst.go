package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"pretext/internal/usage"
	"pretext/trainer"
)

// A firstBatch is what it took from nothing to the first batch at a position: the
// folder opened, its index read, and the examples of a step.
type firstBatch struct {
	Position int64   `json:"position"`
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_seconds"`
}

// manyEpochs is how far into a run the last position lies.
const manyEpochs = 1000

// firstBatches measures the positions at which resumes differ most: the first
// example, the middle and the end of an epoch, and far behind. n is the length of
// an epoch.
func (b *benchmark) firstBatches(ctx context.Context, o benchOptions, n int64) error {
	for _, position := range []int64{0, n / 2, n - 1, manyEpochs*n + n/3} {
		first, err := o.first(ctx, position)
		if err != nil {
			return fmt.Errorf("first batch at position %d: %w", position, err)
		}
		b.First = append(b.First, first)
	}
	return nil
}

func (o benchOptions) first(ctx context.Context, position int64) (first firstBatch, err error) {
	start, cpu := time.Now(), usage.CPU()
	o.readers = 0 // nothing behind the step is read
	steps, _, err := o.source(ctx)
	if err != nil {
		return first, err
	}
	defer func() { err = errors.Join(err, steps.close()) }()
	steps.at = position
	share, err := steps.next()
	if err == nil {
		err = firstOf(share)
	}
	return firstBatch{position, time.Since(start).Seconds(), (usage.CPU() - cpu).Seconds()}, err
}

// firstOf takes the first batch of a step.
func firstOf(share trainer.Share) error {
	for _, err := range share.Batches {
		return err
	}
	return errors.New("it has none")
}

func (b *benchmark) printFirst(w io.Writer) {
	for _, f := range b.First {
		fmt.Fprintf(w, "first batch at position %d: %.2f s after the folder was opened, %.2f s of processor time\n", f.Position, f.Seconds, f.CPU)
	}
}
