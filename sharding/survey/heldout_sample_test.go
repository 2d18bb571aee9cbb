package survey

import (
	"slices"
	"testing"
)

// If there are too many runs, those of a sample are kept, whatever the order of the
// documents.
func TestRunsOfHeldOutDocumentsAreSampled(t *testing.T) {
	sample := func(order []int) *heldOutIndex {
		x := &heldOutIndex{most: 100}
		for _, doc := range order {
			runs := map[uint64]bool{}
			for i := range 50 {
				runs[uint64(doc*50+i)] = true
			}
			x.add(runs)
		}
		return x
	}
	one, two := sample([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), sample([]int{9, 3, 7, 1, 0, 8, 2, 6, 5, 4})
	if one.zeros != 3 || two.zeros != 3 || one.runs != two.runs {
		t.Errorf("%d runs with %d zeros, %d with %d, want 3 zeros", one.runs, one.zeros, two.runs, two.zeros)
	}
	all := func(x *heldOutIndex) (runs []uint64) {
		for _, doc := range x.docs {
			runs = append(runs, doc...)
		}
		slices.Sort(runs)
		return runs
	}
	if got := all(one); !slices.Equal(got, all(two)) || len(got) != 63 || got[1] != 8 {
		t.Errorf("runs %v and %v, want the multiples of 8", got, all(two))
	}
}
