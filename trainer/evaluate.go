package trainer

import (
	"fmt"
	"iter"
)

// A View selects masked tokens to evaluate: it reports whether masked token i
// of b is included in the sums.
type View func(b *Batch, i int) bool

// Whole is the view that includes all masked tokens.
func Whole(*Batch, int) bool { return true }

// Evaluate computes this rank's batches once, without dropout, and returns for
// each view the sums over all batches of all ranks. A view affects only the
// sums of the masked-LM head. All ranks must pass the same number of views.
func Evaluate(m Model, batches iter.Seq2[*Batch, error], comm Comm, views ...View) ([]Sums, error) {
	total := make([]Sums, len(views))
	out := Outputs{Want: OutputMLMLosses}
	for b, err := range batches {
		var sums Sums
		if err == nil {
			sums, err = m.Forward(b, &out)
		}
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		for i, v := range views {
			total[i] = total[i].Add(out.view(b, sums, v))
		}
	}
	for i, sums := range total {
		v := sums.Vector()
		if err := comm.AllReduce(v[:]); err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		total[i] = SumsOf(v)
	}
	return total, nil
}

// view returns s, the sums of b, with the masked-LM sums replaced: they include
// only the masked tokens that v selects.
func (o *Outputs) view(b *Batch, s Sums, v View) Sums {
	s.MLMLoss, s.MLMWeight, s.MLMCorrect = 0, 0, 0
	for i, loss := range o.MLMLosses {
		if !v(b, i) {
			continue
		}
		w := float64(b.MaskedWeights[i])
		s.MLMLoss += w * loss
		s.MLMWeight += w
		if o.MLMBest[i] == b.MaskedIDs[i] {
			s.MLMCorrect += w
		}
	}
	return s
}
