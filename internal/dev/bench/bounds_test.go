package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pretext/internal/pyrandom"
	"pretext/internal/store"
	"pretext/records"
)

func TestTheLoadsOfABoundVisitTheWholeTable(t *testing.T) {
	const n = 1 << 10
	table, at := cycle(n), uint32(0)
	for i := 1; ; i++ {
		if at = table[at]; at == 0 {
			if i != n {
				t.Errorf("the first cycle has %d entries, want %d", i, n)
			}
			return
		}
	}
}

func TestChainsMakeAsManyLoadsAsAskedFor(t *testing.T) {
	table := cycle(blockEntries)
	want := uint32(0)
	for range 1000 {
		want = table[want]
	}
	if got := chase(table, 24*1000); got != want {
		t.Errorf("got entry %d after 1000 loads, want %d", got, want)
	}
}

// The number of random words is that which pyrandom takes, on the average.
func TestTheDrawsOfAnExampleAreThoseOfItsShuffle(t *testing.T) {
	const tokens, predictions, rounds = 128, 20, 4000
	rng := pyrandom.New(7)
	last, used := len(rng.Unused()), 0
	words := func(do func()) {
		do()
		left := len(rng.Unused())
		if left > last {
			used += 624
		}
		used += last - left
		last = left
	}
	for range rounds {
		words(func() { rng.Permutation(tokens-3, predictions) })
		for range predictions {
			words(func() { rng.Float64() })
		}
	}
	want := draws(records.Parts{Tokens: tokens, Predictions: predictions})
	if got := float64(used) / rounds; math.Abs(got-want) > want/100 {
		t.Errorf("pyrandom takes %.1f words, want %.1f", got, want)
	}
}

func TestBothWritesOfAFileWriteItsBytes(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 3*writeBytes+7)
	data[len(data)-1] = 1
	old := filepath.Join(dir, "old")
	for range 2 {
		if err := overwrite(old, data); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(old); err != nil || string(got) != string(data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	folder, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeNew(t.Context(), folder, data); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("got %v, %v, want the old file alone", left, err)
	}
}

func TestARowHasTheRatioOfEachRound(t *testing.T) {
	now, bound := &result{}, &result{}
	for _, slow := range []time.Duration{1, 5, 2} {
		now.Samples = append(now.Samples, sample{CPU: 30 * slow * time.Millisecond})
		bound.Samples = append(bound.Samples, sample{CPU: 10 * slow * time.Millisecond})
	}
	if got := boundRow(part{name: "a", what: "b"}, now, bound); got[2] != "20.0" || got[3] != "60.0" || got[4] != "3.00 (3.00–3.00)" {
		t.Errorf("got %q", got)
	}
}
