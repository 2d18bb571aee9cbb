package trainer

import (
	"fmt"
	"iter"
)

// A View returns what is measured of a batch: b itself, or a shallow copy of it
// with some of its predictions.
type View func(b *Batch) *Batch

// Whole is the view of all predictions.
func Whole(b *Batch) *Batch { return b }

// Evaluate computes this rank's batches without dropout, once for each view, and
// returns the sums of each view over all batches of all ranks. All ranks pass the
// same number of views.
func Evaluate(m Model, batches iter.Seq2[*Batch, error], comm Comm, views ...View) ([]Sums, error) {
	total := make([]Sums, len(views))
	for b, err := range batches {
		for i := 0; i < len(views) && err == nil; i++ {
			var s Sums
			s, err = m.Forward(views[i](b), nil)
			total[i] = total[i].Add(s)
		}
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
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
