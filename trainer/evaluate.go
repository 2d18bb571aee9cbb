package trainer

import (
	"fmt"
	"iter"
)

// A View selects what is measured: it reports whether masked token i of b
// counts.
type View func(b *Batch, i int) bool

// Whole is the view of all masked tokens.
func Whole(*Batch, int) bool { return true }

// Evaluate computes this rank's batches once, without dropout, and returns for
// each view the sums over all batches of all ranks. Views differ only in the
// sums of the masked-LM head. All ranks pass the same number of views.
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

// view returns the sums of b with those of the masked-LM head replaced by the
// sums over a view.
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
