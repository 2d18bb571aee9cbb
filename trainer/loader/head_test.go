package loader_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/sharding"
	"pretext/trainer/loader"
)

func heads(tb testing.TB, s *loader.Shards, n int64) (got []int) {
	tb.Helper()
	for r, err := range s.Head(context.Background(), n) {
		if err != nil {
			tb.Fatal(err)
		}
		got = append(got, int(r.Example.MaskedLMIDs[0]))
	}
	return got
}

func TestHeadTakesTheFirstExamplesOfEveryFile(t *testing.T) {
	for _, compress := range []bool{false, true} {
		s := open(t, threeShards(t, compress).write(t), loader.Options{Split: sharding.Train})
		for n, want := range map[int64][]int{1: {0, 5}, 3: {0, 1, 2, 5, 6, 7}, 1 << 40: upTo(0, 9)} {
			if d := cmp.Diff(want, heads(t, s, n)); d != "" {
				t.Errorf("%d of each (-want +got):\n%s", n, d)
			}
		}
		for range s.Head(context.Background(), 3) {
			break // ends without another example
		}
	}
}

func TestACorruptFileEndsItsOwnHeadOnly(t *testing.T) {
	f := newFolder(t, false, shard{sharding.Train, upTo(0, 5)}, shard{sharding.Train, upTo(5, 9)}, shard{sharding.Train, upTo(9, 12)})
	var names []string
	for name := range f.files {
		if strings.HasSuffix(name, ".tfrecord") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	b := f.files[names[1]]
	f.files[names[1]] = b[:len(b)-1]
	f.describe()
	s := open(t, f.write(t), loader.Options{Split: sharding.Train})
	if d := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11}, heads(t, s, 100)); d != "" {
		t.Errorf("%s is truncated (-want +got):\n%s", names[1], d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range s.Head(ctx, 1) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: got %v", err)
		}
	}
}
