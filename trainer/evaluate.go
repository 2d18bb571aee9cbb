package trainer

import (
	"fmt"
	"iter"
)

// Evaluate computes this rank's batches without dropout and returns the sums
// over all batches of all ranks. comm may be nil for a single rank.
func Evaluate(m Model, batches iter.Seq2[*Batch, error], comm Comm) (Sums, error) {
	var total Sums
	for b, err := range batches {
		if err != nil {
			return Sums{}, fmt.Errorf("evaluate: %w", err)
		}
		s, err := m.Forward(b, nil)
		if err != nil {
			return Sums{}, fmt.Errorf("evaluate: %w", err)
		}
		total = total.Add(s)
	}
	if comm == nil {
		return total, nil
	}
	v := total.Vector()
	if err := comm.AllReduce(v[:]); err != nil {
		return Sums{}, fmt.Errorf("evaluate: %w", err)
	}
	return SumsOf(v), nil
}
