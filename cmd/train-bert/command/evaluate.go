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

	// What the frequencies of the very targets of mask achieve, which no model
	// that ignores its input can beat: their entropy in nats, and the share of
	// the most frequent one.
	entropy, frequent float64

	left int64 // examples that were damaged and left out
}

// String is the line for people.
func (e *evaluation) String() string {
	return fmt.Sprintf("held out: mlm loss %.3f, accuracy %.3f; on [MASK] loss %.3f (word frequencies %.3f), accuracy %.3f (%.3f); nsp loss %.3f, accuracy %.3f; %.0f examples",
		e.all.MLM(), share(e.all.MLMCorrect, e.all.MLMWeight), e.mask.MLM(), e.entropy,
		share(e.mask.MLMCorrect, e.mask.MLMWeight), e.frequent, e.all.NSP(), share(e.all.NSPCorrect, e.all.NSPCount), e.all.Sequences)
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
	examples int64                                 // 0: all
	mask     int32                                 // id of [MASK]
	damage   *quarantine                           // nil: a damaged example is an error
	spoil    func(b *trainer.Batch, training bool) // nil: nothing is changed
}

func (e *evaluator) run(ctx context.Context, m trainer.Model) (*evaluation, error) {
	n := e.examples
	if n == 0 {
		n = e.source.Len()
	}
	out, counts := &evaluation{}, map[int32]int{}
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
	out.entropy, out.frequent = frequencies(counts)
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

// frequencies returns the entropy of a distribution and the share of its most
// frequent value. The sum runs over counts in order, so that it is the same
// every time.
func frequencies(counts map[int32]int) (entropy, most float64) {
	total, largest := 0, 0
	byCount := map[int]int{}
	for _, n := range counts {
		total += n
		largest = max(largest, n)
		byCount[n]++
	}
	if total == 0 {
		return 0, 0
	}
	for n := 1; n <= largest; n++ {
		if k := byCount[n]; k > 0 {
			p := float64(n) / float64(total)
			entropy -= float64(k) * p * math.Log(p)
		}
	}
	return entropy, float64(largest) / float64(total)
}
