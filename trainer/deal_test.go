package trainer_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pretext/trainer"
)

func TestEveryMicroBatchIsDealtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.Int32Range(0, 512), 0, 60).Draw(t, "lengths")
		ranks := rapid.IntRange(1, 9).Draw(t, "ranks")
		bounds, err := trainer.Cut(lengths, rapid.IntRange(512, 2000).Draw(t, "tokens"), rapid.IntRange(1, 9).Draw(t, "multiple"))
		if err != nil {
			t.Fatal(err)
		}
		dealt := trainer.Deal(lengths, bounds, ranks)
		n := len(bounds) - 1
		all := slices.Concat(dealt...)
		slices.Sort(all)
		for j := range n {
			if len(all) != n || all[j] != j {
				t.Fatalf("dealt %v, want each of %d micro-batches once", dealt, n)
			}
		}
		for r, mine := range dealt {
			if len(mine) > (n+ranks-1)/ranks || !slices.IsSorted(mine) {
				t.Errorf("rank %d of %d has %v of %d micro-batches", r, ranks, mine, n)
			}
		}
		if again := trainer.Deal(lengths, bounds, ranks); fmt.Sprint(again) != fmt.Sprint(dealt) {
			t.Errorf("dealt %v, then %v", dealt, again)
		}
	})
}

// Two micro-batches of long sequences, two of short ones, all of 512 tokens: each
// rank gets one of both, though tokens alone do not ask for it.
func TestLongSequencesAreDealtEvenly(t *testing.T) {
	lengths := slices.Concat([]int32{512, 512}, slices.Repeat([]int32{64}, 16))
	got := trainer.Deal(lengths, []int{0, 1, 2, 10, 18}, 2)
	if fmt.Sprint(got) != "[[0 2] [1 3]]" {
		t.Errorf("dealt %v", got)
	}
}

// Extreme numbers overflow nothing.
func TestDealingOfExtremes(t *testing.T) {
	long := slices.Repeat([]int32{trainer.MaxBatchTokens}, 5)
	got := trainer.Deal(long, []int{0, 1, 2, 3, 4, 5}, 4096)
	if n := len(slices.Concat(got...)); n != 5 || len(got) != 4096 {
		t.Errorf("dealt %d micro-batches to %d ranks", n, len(got))
	}
	if got := trainer.Deal(nil, []int{0}, 3); len(got) != 3 {
		t.Errorf("an empty step was dealt as %v", got)
	}
}

func BenchmarkDeal(b *testing.B) {
	lengths := make([]int32, 8192)
	for i := range lengths {
		lengths[i] = int32(5 + i*7919%508)
	}
	bounds, err := trainer.Cut(lengths, 1024, 64)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		trainer.Deal(lengths, bounds, 64)
	}
}
