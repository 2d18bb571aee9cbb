package speed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pretext/internal/usage"
	"pretext/trainer"
)

// A FirstBatch is the cost of starting at a position of the training data: opening
// the folder, reading its index, and reading the examples of the first step.
type FirstBatch struct {
	Position int64   `json:"position"` // number of examples of the run before this position
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpu_seconds"`
}

// manyEpochs is the epoch of the last position that is measured.
const manyEpochs = 1000

// firstBatches measures the positions at which the cost of resuming differs most: the
// first example, the middle and the end of an epoch of n examples, and a late epoch.
func (b *Result) firstBatches(ctx context.Context, o Options, c trainer.Config, n int64) error {
	for _, position := range []int64{0, n / 2, n - 1, manyEpochs*n + n/3} {
		first, err := o.first(ctx, c, position)
		if err != nil {
			return fmt.Errorf("first batch at position %d: %w", position, err)
		}
		b.First = append(b.First, first)
	}
	return nil
}

func (o Options) first(ctx context.Context, c trainer.Config, position int64) (first FirstBatch, err error) {
	start, cpu := time.Now(), usage.CPU()
	o.Readers = 0 // do not read ahead of the step
	steps, err := o.source(ctx, c)
	if err != nil {
		return first, err
	}
	defer func() { err = errors.Join(err, steps.close()) }()
	steps.at = position
	share, err := steps.next()
	if err == nil {
		err = firstOf(share)
	}
	return FirstBatch{position, time.Since(start).Seconds(), (usage.CPU() - cpu).Seconds()}, err
}

// firstOf reads the first batch of the step that share holds.
func firstOf(share trainer.Share) error {
	for _, err := range share.Batches {
		return err
	}
	return errors.New("the step has no batch")
}
