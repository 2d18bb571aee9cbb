package session

import (
	"context"
	"fmt"
	"iter"
	"math"

	"pretext/trainer"
	"pretext/trainer/comm"
	"pretext/trainer/loader"
)

// An Evaluation is the result of a model on held-out examples.
type Evaluation struct {
	All  trainer.Sums // all masked tokens
	Mask trainer.Sums // masked tokens whose input is [MASK], without kept and randomly replaced ones

	// Mean cross entropy in nats and accuracy of the unigram baseline on the same
	// tokens as Mask. NaN: there are no training shards to count.
	UnigramLoss, UnigramAccuracy float64

	Skipped int64 // number of corrupt examples
	Single  bool  // the architecture has no next-sentence prediction
}

// String returns all figures in one line.
func (e *Evaluation) String() string {
	baseline, guess := "", ""
	if !math.IsNaN(e.UnigramLoss) {
		baseline, guess = fmt.Sprintf(" (unigram baseline %.3f)", e.UnigramLoss), fmt.Sprintf(" (%.3f)", e.UnigramAccuracy)
	}
	nsp := ""
	if e.All.NSPCount > 0 {
		nsp = fmt.Sprintf("nsp loss %.3f, accuracy %.3f; ", e.All.NSP(), Fraction(e.All.NSPCorrect, e.All.NSPCount))
	}
	return fmt.Sprintf("held out: mlm loss %.3f, accuracy %.3f; on [MASK] loss %.3f%s, accuracy %.3f%s; %s%.0f examples",
		e.All.MLM(), Fraction(e.All.MLMCorrect, e.All.MLMWeight), e.Mask.MLM(), baseline,
		Fraction(e.Mask.MLMCorrect, e.Mask.MLMWeight), guess, nsp, e.All.Sequences)
}

// Brief returns the loss and accuracy on [MASK] in one line.
func (e *Evaluation) Brief() string {
	baseline := ""
	if !math.IsNaN(e.UnigramLoss) {
		baseline = fmt.Sprintf(" (unigram %.2f)", e.UnigramLoss)
	}
	return fmt.Sprintf("held-out loss %.2f%s, %.0f %% right", e.Mask.MLM(), baseline, 100*Fraction(e.Mask.MLMCorrect, e.Mask.MLMWeight))
}

// curves returns the values of an evaluation for TensorBoard.
func (e *Evaluation) curves() map[string]float64 {
	out := map[string]float64{
		"loss": e.All.Loss(), "mlm_loss": e.All.MLM(), "mlm_accuracy": Fraction(e.All.MLMCorrect, e.All.MLMWeight),
		"mask_loss": e.Mask.MLM(), "mask_accuracy": Fraction(e.Mask.MLMCorrect, e.Mask.MLMWeight),
	}
	if e.All.NSPCount > 0 {
		out["nsp_loss"], out["nsp_accuracy"] = e.All.NSP(), Fraction(e.All.NSPCorrect, e.All.NSPCount)
	}
	return out
}

// nspOf returns the next-sentence loss and accuracy: NaN without labels, nil if single is set,
// for an architecture without next sentences.
func nspOf(s trainer.Sums, single bool) (loss, accuracy *Number) {
	if single {
		return nil, nil
	}
	l, a := Number(math.NaN()), Number(math.NaN())
	if s.NSPCount > 0 {
		l, a = Number(s.NSP()), Number(Fraction(s.NSPCorrect, s.NSPCount))
	}
	return &l, &a
}

// Fraction is a/b; 0 where b is 0.
func Fraction(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// An evaluator evaluates a model during a run, always on the same held-out examples.
type evaluator struct {
	source   *loader.Source
	comm     *comm.Group
	examples int64                                   // 0: all
	single   bool                                    // the architecture has no next-sentence prediction
	mask     int32                                   // id of [MASK]
	vocab    int                                     // number of tokens
	baseline func(context.Context) (*unigram, error) // counts the unigram baseline; called at the first evaluation
	unigram  *unigram                                // result of baseline; nil: not called yet, or nothing to count
	damage   *quarantine                             // nil: a corrupt example is an error
}

// errInterrupted is the error of an evaluation, on all ranks, if a rank received a
// signal during it.
var errInterrupted = fmt.Errorf("evaluate: %w", context.Canceled)

// run evaluates a model. Every rank computes a part and gets the result.
func (e *evaluator) run(ctx context.Context, m trainer.Model) (*Evaluation, error) {
	if err := e.count(ctx); err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if e.damage != nil {
		e.damage.take() // remove the entries of an interrupted evaluation
	}
	targets := make([]float64, e.vocab)
	sums, err := trainer.Evaluate(m, e.batches(ctx), e.comm, trainer.Whole, func(b *trainer.Batch, i int) bool {
		if b.IDs[b.MaskedIndex[i]] != e.mask {
			return false
		}
		targets[b.MaskedIDs[i]]++
		return true
	})
	if err != nil {
		return nil, err
	}
	if err := e.comm.AllReduce(targets); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if stopped, err := e.comm.Any(ctx.Err() != nil); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	} else if stopped {
		return nil, errInterrupted
	}
	out := &Evaluation{All: sums[0], Mask: sums[1], Single: e.single}
	out.UnigramLoss, out.UnigramAccuracy = e.unigram.score(targets)
	if e.damage != nil {
		_, out.Skipped = e.damage.take()
	}
	return out, nil
}

// count counts the unigram baseline, at the first call only.
func (e *evaluator) count(ctx context.Context) (err error) {
	if e.baseline != nil {
		if e.unigram, err = e.baseline(ctx); err == nil {
			e.baseline = nil
		}
	}
	return err
}

// batches yields this rank's micro-batches of an evaluation. It stops when ctx is done;
// run then tells the other ranks.
func (e *evaluator) batches(ctx context.Context) iter.Seq2[*trainer.Batch, error] {
	n := e.examples
	if n == 0 {
		n = e.source.Len()
	}
	return func(yield func(*trainer.Batch, error) bool) {
		for b, err := range e.source.Sweep(n) {
			if ctx.Err() != nil || !yield(b, err) {
				return
			}
		}
	}
}
