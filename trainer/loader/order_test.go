package loader

import (
	"slices"
	"testing"

	"pretext/trainer"
)

// The order of a run is part of its results: it may not change with the
// release of this program or of Go.
func TestThePermutationIsPinned(t *testing.T) {
	o := order{seed: 12345}
	for _, c := range []struct {
		epoch, window int64
		want          []int32
	}{
		{0, -1, []int32{5, 3, 4, 7, 1, 2, 0, 6}},
		{0, 0, []int32{3, 2, 0, 5, 6, 7, 4, 1}},
		{1, 0, []int32{4, 1, 3, 6, 2, 0, 7, 5}},
	} {
		if got := trainer.Permutation(o.key(c.epoch, c.window), 8); !slices.Equal(got, c.want) {
			t.Errorf("epoch %d, window %d: got %v, want %v", c.epoch, c.window, got, c.want)
		}
	}
}

func TestPermutationsAreEven(t *testing.T) {
	const n, draws = 5, 6000
	var at [n][n]int // how often a number came to a place
	for seed := range int64(draws) {
		for i, v := range trainer.Permutation((&order{seed: seed}).key(0, 0), n) {
			at[i][v]++
		}
	}
	for i := range n {
		for v := range n {
			if d := at[i][v] - draws/n; d < -200 || d > 200 { // 6 standard deviations
				t.Errorf("number %d came %d times to place %d, want about %d", v, at[i][v], i, draws/n)
			}
		}
	}
}

func TestSpansCoverAllRecordsWithinTheLimit(t *testing.T) {
	x := &Index{files: []fileIndex{
		{blocks: []block{{0, 0}}},
		{blocks: []block{{0, 0}, {5, 40}, {6, 500}, {9, 530}, {10, 560}}},
	}}
	want := []span{{1, 0, 1, 5}, {1, 1, 2, 1}, {1, 2, 4, 4}}
	if got := x.spans(60); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := x.spans(1000); !slices.Equal(got, []span{{1, 0, 4, 10}}) {
		t.Errorf("got %v, want one span", got)
	}
}
