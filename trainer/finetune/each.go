package finetune

import (
	"context"
	"fmt"
	"slices"

	"pretext/trainer"
)

// Values returns the outputs of sequence s of b. Depending on out.Want, these are the
// logits of the sequence (OutputLogits), the start and end logit of each token
// (OutputSpans), or the logits of its masked tokens (OutputMLMLogits). The result
// shares memory with out.
func Values(b *trainer.Batch, out *trainer.Outputs, s int) []float32 {
	from, to := int(b.CuSeqlens[s]), int(b.CuSeqlens[s+1])
	switch out.Want {
	case trainer.OutputLogits:
		n := len(out.Logits) / b.Sequences()
		return out.Logits[s*n : (s+1)*n]
	case trainer.OutputSpans:
		return out.Spans[2*from : 2*to]
	case trainer.OutputMLMLogits:
		first, last := 0, 0
		for _, row := range b.MaskedIndex {
			if int(row) < from {
				first++
			}
			if int(row) < to {
				last++
			}
		}
		n := 0
		if b.Masked() > 0 {
			n = len(out.MLMLogits) / b.Masked()
		}
		return out.MLMLogits[first*n : last*n]
	}
	panic(fmt.Sprintf("BUG: outputs %b are not those of one head", out.Want))
}

// Wanted returns the output of the head that predicts: span, classifier or regression, or
// masked LM, the first of these that h has; 0 if h has none of them.
func Wanted(h trainer.Heads) trainer.Output {
	switch {
	case h.Span:
		return trainer.OutputSpans
	case h.ClassifierWidth() > 0:
		return trainer.OutputLogits
	case h.MLM:
		return trainer.OutputMLMLogits
	}
	return 0
}

// CheckNumbers returns [ErrNumbers] if a value is NaN.
func CheckNumbers(values []float32) error {
	if slices.ContainsFunc(values, func(v float32) bool { return v != v }) {
		return ErrNumbers
	}
	return nil
}

// A Forward runs a model on examples, without dropout.
type Forward struct {
	Model  trainer.Model
	Heads  trainer.Heads // of the model
	Tokens int           // maximum tokens of a batch; a longer example is a batch of its own
}

// Each runs the model on all examples in order. For each example it calls f with the
// example's number i and its outputs ([Values]), which are valid only during the call.
// It returns the sums over all examples.
func (w Forward) Each(ctx context.Context, ex Examples, f func(i int, values []float32) error) (trainer.Sums, error) {
	var total trainer.Sums
	var b trainer.Batch
	out := trainer.Outputs{Want: Wanted(w.Heads)}
	for i := 0; i < ex.Len(); {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		first := i
		b.Reset()
		for ; i < ex.Len() && (i == first || b.Tokens()+ex.Tokens(i) <= w.Tokens); i++ {
			ex.Append(&b, i, int64(i))
		}
		sums, err := w.Model.Forward(&b, &out)
		if err != nil {
			return total, fmt.Errorf("compute example %d: %w", first, err)
		}
		total = total.Add(sums)
		for s := range b.Sequences() {
			if err := f(first+s, Values(&b, &out, s)); err != nil {
				return total, err
			}
		}
	}
	return total, nil
}
