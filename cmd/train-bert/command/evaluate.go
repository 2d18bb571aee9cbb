package command

import (
	"context"
	"errors"
	"fmt"
	"math"

	"pretext/trainer"
	"pretext/trainer/loader"
)

// An evaluation is what a model makes of held-out examples.
type evaluation struct {
	all  trainer.Sums // every prediction
	mask trainer.Sums // those whose input is [MASK]: without what was kept or replaced by chance

	// What the baseline achieves on the targets of mask: its mean cross entropy in
	// nats, and its accuracy. NaN: there are no training shards.
	unigram, frequent float64

	left int64 // examples that were damaged and left out
}

// String is the line for people.
func (e *evaluation) String() string {
	baseline, guess := "", ""
	if !math.IsNaN(e.unigram) {
		baseline, guess = fmt.Sprintf(" (unigram baseline %.3f)", e.unigram), fmt.Sprintf(" (%.3f)", e.frequent)
	}
	return fmt.Sprintf("held out: mlm loss %.3f, accuracy %.3f; on [MASK] loss %.3f%s, accuracy %.3f%s; nsp loss %.3f, accuracy %.3f; %.0f examples",
		e.all.MLM(), share(e.all.MLMCorrect, e.all.MLMWeight), e.mask.MLM(), baseline,
		share(e.mask.MLMCorrect, e.mask.MLMWeight), guess, e.all.NSP(), share(e.all.NSPCorrect, e.all.NSPCount), e.all.Sequences)
}

// brief is the line without what is of second interest.
func (e *evaluation) brief() string {
	baseline := ""
	if !math.IsNaN(e.unigram) {
		baseline = fmt.Sprintf(" (unigram %.2f)", e.unigram)
	}
	return fmt.Sprintf("held-out loss %.2f%s, %.0f %% right", e.mask.MLM(), baseline, 100*share(e.mask.MLMCorrect, e.mask.MLMWeight))
}

// curves are what TensorBoard shows of an evaluation.
func (e *evaluation) curves() map[string]float64 {
	return map[string]float64{
		"loss": e.all.Loss(), "mlm_loss": e.all.MLM(), "nsp_loss": e.all.NSP(),
		"mlm_accuracy": share(e.all.MLMCorrect, e.all.MLMWeight), "nsp_accuracy": share(e.all.NSPCorrect, e.all.NSPCount),
		"mask_loss": e.mask.MLM(), "mask_accuracy": share(e.mask.MLMCorrect, e.mask.MLMWeight),
	}
}

// share is a/b, 0 of nothing.
func share(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// An evaluator holds the examples of every evaluation of a run.
type evaluator struct {
	source   *loader.Source
	examples int64                                   // 0: all
	mask     int32                                   // id of [MASK]
	vocab    int                                     // number of tokens
	baseline func(context.Context) (*unigram, error) // counted at the first evaluation
	unigram  *unigram                                // nil: not counted, or there is nothing to count
	damage   *quarantine                             // nil: a damaged example is an error
	spoil    func(b *trainer.Batch, training bool)   // nil: nothing is changed
}

func (e *evaluator) run(ctx context.Context, m trainer.Model) (*evaluation, error) {
	n := e.examples
	if n == 0 {
		n = e.source.Len()
	}
	if e.baseline != nil {
		var err error
		if e.unigram, err = e.baseline(ctx); err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		e.baseline = nil
	}
	out, counts := &evaluation{}, make([]int, e.vocab)
	if e.damage != nil {
		e.damage.take() // of an evaluation that was broken off
	}
	for b, err := range e.source.Sweep(n) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		if e.spoil != nil {
			e.spoil(b, false)
		}
		masked := e.onlyMasks(b)
		for _, id := range masked.MaskedIDs {
			counts[id]++
		}
		if err := errors.Join(add(&out.all, m, b), add(&out.mask, m, masked)); err != nil {
			return nil, err
		}
	}
	out.unigram, out.frequent = e.unigram.score(counts)
	if e.damage != nil {
		_, out.left = e.damage.take()
	}
	return out, nil
}

// add adds what a model makes of a batch.
func add(to *trainer.Sums, m trainer.Model, b *trainer.Batch) error {
	s, err := m.Forward(b, nil)
	if err != nil {
		return fmt.Errorf("evaluate: %w", err)
	}
	*to = to.Add(s)
	return nil
}

// onlyMasks returns b with the predictions alone whose input is [MASK]. All but
// these is shared with b.
func (e *evaluator) onlyMasks(b *trainer.Batch) *trainer.Batch {
	only := *b
	only.MaskedIndex, only.MaskedIDs, only.MaskedWeights = nil, nil, nil
	for i, row := range b.MaskedIndex {
		if b.IDs[row] == e.mask {
			only.MaskedIndex = append(only.MaskedIndex, row)
			only.MaskedIDs = append(only.MaskedIDs, b.MaskedIDs[i])
			only.MaskedWeights = append(only.MaskedWeights, b.MaskedWeights[i])
		}
	}
	return &only
}
