package extsort

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPairsAreSortedWhateverFitsInMemory(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := New(dir, 0)
		s.limit = rapid.IntRange(1, 50).Draw(t, "limit")
		defer s.Close()
		var want []Pair
		for range rapid.IntRange(0, 12).Draw(t, "batches") {
			var batch []Pair
			for range rapid.IntRange(0, 30).Draw(t, "pairs") {
				batch = append(batch, Pair{rapid.Uint64Range(0, 20).Draw(t, "key"), rapid.Uint64().Draw(t, "value")})
			}
			if err := s.Add(batch); err != nil {
				t.Fatal(err)
			}
			want = append(want, batch...)
		}
		slices.SortFunc(want, compare)
		var got []Pair
		for p, err := range s.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

func TestLongListsAreDealtAsTheyAreCompared(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	masks := []uint64{^uint64(0), 0, 0xff, 0xff << 56, 0xff00ff00ff00ff00, 1 << 63, 3 << 20}
	for _, n := range []int{fewPairs, fewPairs + 1, 1000, 30_000} {
		for _, mask := range masks {
			got := make([]Pair, n)
			for i := range got {
				got[i] = Pair{rng.Uint64() & mask, rng.Uint64() % 1000}
			}
			want := slices.Clone(got)
			slices.SortFunc(want, compare)
			pairs.sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%d keys of the bits %x: not sorted", n, mask)
			}
		}
	}
}

func TestAFullDiskIsAnErrorOfTheSorter(t *testing.T) {
	s := New("/nonexistent-folder", 1)
	err := s.Add(make([]Pair, 2000))
	if err == nil {
		err = s.Add(make([]Pair, 2000))
	}
	if err == nil {
		t.Error("Pairs that could not be written were not missed")
	}
}

// One bit of a record changes its hash, and so does its length.
func TestHashesTellRecordsApart(t *testing.T) {
	seen := map[uint64]string{}
	add := func(b []byte) {
		h := Hash(b)
		if other, ok := seen[h]; ok {
			t.Fatalf("%q and %q have the same hash", b, other)
		}
		seen[h] = string(b)
	}
	for n := range 70 {
		b := make([]byte, n)
		add(b)
		for i := range 8 * n {
			b[i/8] ^= 1 << (i % 8)
			add(b)
			b[i/8] ^= 1 << (i % 8)
		}
	}
}

func Example() {
	s := New("", 1<<20)
	defer s.Close()
	for i, record := range []string{"a", "b", "a"} {
		if err := s.Add([]Pair{{Hash([]byte(record)), uint64(i)}}); err != nil {
			panic(err)
		}
	}
	last, n := uint64(0), 0
	for p, err := range s.Sorted() {
		if err != nil {
			panic(err)
		}
		if n++; n > 1 && p.Key == last {
			fmt.Println("record", p.Value, "is an earlier one")
		}
		last = p.Key
	}
	// Output: record 2 is an earlier one
}

func TestKeysAreSortedWhateverFitsInMemory(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		k := NewKeys(0, TempSpill(dir))
		k.limit = rapid.IntRange(1, 20).Draw(t, "limit")
		defer k.Close()
		want := rapid.SliceOf(rapid.OneOf(rapid.Uint64Range(0, 9), rapid.Uint64())).Draw(t, "keys")
		for _, key := range want {
			if err := k.Add(key); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(want)
		got := []uint64{}
		for key, err := range k.Sorted() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, key)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestASpillThatFailsEndsTheSortOfKeys(t *testing.T) {
	full := errors.New("disk full")
	k := NewKeys(0, func() (Spill, error) { return nil, full })
	var err error
	for key := uint64(0); err == nil && key < 5000; key++ {
		err = k.Add(key)
	}
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}
