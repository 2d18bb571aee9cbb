package speed

import (
	"context"
	"errors"
	"time"

	"pretext/internal/usage"
	"pretext/trainer"
	"pretext/trainer/session"
)

// A model is a model whose speed is measured. It has initial weights, dropout and
// AdamW.
type model struct {
	trainer.Model
	config trainer.Config
}

// newModel opens a model with configuration c and the heads on the device d, for
// batches within limits.
func newModel(d *session.Opened, c trainer.Config, heads trainer.Heads, limits trainer.Options) (*model, error) {
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

// round trains for at least the duration d, and at least one step. The measured
// time includes reading the examples, as in a training run, and as there, the first batch
// of a step is read and announced while the device computes the step before.
func (m *model) round(ctx context.Context, steps *steps, d time.Duration) (s sample, err error) {
	schedule := trainer.Schedule{Kind: trainer.Constant, Peak: 1e-4, Steps: 1}
	start, cpuStart := time.Now(), usage.CPU()
	for s.steps == 0 || time.Since(start) < d {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		step := steps.take()
		n := 0
		for b := range step.batches() {
			n++
			if err := m.Accumulate(b, step.share.Counts.Coef(), n == step.share.MicroBatches); err != nil {
				return s, err
			}
			s.operations += Operations(m.config, b)
		}
		if step.err != nil {
			return s, step.err
		}
		m.Prepare(steps.peek()) // while the device computes
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

// Operations returns the number of multiplications and additions in the matrix
// products of batch b, for forward and backward together; backward has twice as
// many as forward. It counts what the model defines, not what a backend does:
// recomputation is not counted, and all rows of the last layer are, though backends
// compute only those that a head reads. With hidden size H, feed-forward size F and
// vocabulary size V, the forward pass has
//
//	8H² + 4HF  for each token and layer, and 4H for each pair of tokens of a sequence and layer
//	2H² + 2HV  for each masked token
//	2H²        for each sequence
//
// ModernBERT has 8H² + 6HF for each token and layer, 4H only for the pairs within the
// window of a local layer, and nothing for a sequence.
func Operations(c trainer.Config, b *trainer.Batch) float64 {
	sum := float64(b.Masked()) * ofMasked(c)
	for s := range b.Sequences() {
		sum += ofSequence(c, int(b.CuSeqlens[s+1]-b.CuSeqlens[s]))
	}
	return 3 * sum
}

// ofMasked returns the operations of a forward pass for a masked token.
func ofMasked(c trainer.Config) float64 {
	return 2 * float64(c.HiddenSize) * float64(c.HiddenSize+c.VocabSize)
}

// ofSequence returns the operations of a forward pass for a sequence of n tokens, without
// those for masked tokens.
func ofSequence(c trainer.Config, n int) float64 {
	h, f, sum := float64(c.HiddenSize), float64(c.IntermediateSize), 0.0
	matrices, pooler := 8*h*h+4*h*f, 2*h*h
	if c.Modern != nil {
		matrices, pooler = 8*h*h+6*h*f, 0
	}
	for i := range c.Layers {
		pairs := float64(n) * float64(n)
		if r := c.Reach(i); r >= 0 && r < n {
			pairs = float64(n)*float64(2*r+1) - float64(r)*float64(r+1)
		}
		sum += float64(n)*matrices + 4*h*pairs
	}
	return sum + pooler
}

// madeUp returns a batch of sequences of synthetic tokens, all of the given length and
// without padding. 20 of every 128 tokens are predicted.
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
