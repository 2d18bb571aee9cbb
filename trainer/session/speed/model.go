package speed

import (
	"context"
	"errors"
	"time"

	"pretext/internal/usage"
	"pretext/trainer"
	"pretext/trainer/session"
)

// A model is a model to measure, with initial weights, dropout and AdamW.
type model struct {
	trainer.Model
	config trainer.Config
}

// newModel opens a model that computes up to tokens tokens at a time.
func newModel(d *session.Opened, c trainer.Config, limits trainer.Options) (*model, error) {
	heads := trainer.PretrainHeads()
	limits.Train, limits.Optimizer = true, trainer.DefaultOptimizer(trainer.AdamW)
	m, err := d.Model(c, heads, limits)
	if err != nil {
		return nil, err
	}
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, heads, 1)); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return &model{m, c}, nil
}

// round trains for at least d, and at least one step. The time includes reading the
// examples, as in a training run.
func (m *model) round(ctx context.Context, steps *steps, d time.Duration) (s sample, err error) {
	schedule := trainer.Schedule{Kind: trainer.Constant, Peak: 1e-4, Steps: 1}
	start, cpuStart := time.Now(), usage.CPU()
	for s.steps == 0 || time.Since(start) < d {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		share, err := steps.next()
		if err != nil {
			return s, err
		}
		n := 0
		for b, err := range share.Batches {
			if err != nil {
				return s, err
			}
			n++
			if err := m.Accumulate(b, share.Counts.Coef(), n == share.MicroBatches); err != nil {
				return s, err
			}
			s.operations += Operations(m.config, b)
		}
		info, err := m.Apply(schedule)
		if err != nil {
			return s, err
		}
		s.sums = s.sums.Add(info.Sums)
		s.steps++
	}
	s.wall, s.cpu = time.Since(start), usage.CPU()-cpuStart
	return s, nil
}

// Operations returns the multiplications and additions of a batch's matrix products,
// forward and backward (twice as many). It counts the model, not the implementation:
// nothing that is computed again, and all rows of the last layer, of which only those
// that a head reads are computed. With hidden size H, feed-forward size F and
// vocabulary size V a token takes 8H² + 4HF a layer and 4H for every token of its
// sequence, a masked token 2H² + 2HV, a sequence 2H².
func Operations(c trainer.Config, b *trainer.Batch) float64 {
	h, f, v := float64(c.HiddenSize), float64(c.IntermediateSize), float64(c.VocabSize)
	sum := float64(b.Masked())*2*h*(h+v) + float64(b.Sequences())*2*h*h
	for s := range b.Sequences() {
		n := float64(b.CuSeqlens[s+1] - b.CuSeqlens[s])
		sum += float64(c.Layers) * n * (8*h*h + 4*h*f + 4*h*n)
	}
	return 3 * sum
}

// madeUp returns a batch of sequences of equal length, without padding. Of 128 tokens
// 20 are predicted.
func madeUp(sequences, length, vocab int) *trainer.Batch {
	b := &trainer.Batch{}
	for s := range sequences {
		q := trainer.Sequence{Position: int64(s), IDs: make([]int32, length), Segments: make([]int32, length)}
		for i := range q.IDs {
			q.IDs[i] = int32((s*length + i) * 7919 % vocab)
			if i%6 == 1 && len(q.MaskedIDs) < max(1, length*20/128) {
				q.MaskedPositions = append(q.MaskedPositions, int32(i))
				q.MaskedIDs = append(q.MaskedIDs, q.IDs[i])
				q.MaskedWeights = append(q.MaskedWeights, 1)
			}
		}
		b.Append(q)
	}
	return b
}
