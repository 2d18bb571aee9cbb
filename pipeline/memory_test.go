package pipeline

import (
	"errors"
	"testing"

	"pretext/pipeline/stage"
	"pretext/sharding"
)

func TestMemoryIsAskedForTheTasksThatCanBeAtWorkTogether(t *testing.T) {
	const mib = 1 << 20
	small, huge := sharding.ShardSize{TextBytes: 16 * mib, LargestBlock: mib}, sharding.ShardSize{TextBytes: 64 * mib, LargestBlock: 64 * mib}
	for _, test := range []struct {
		name    string
		shards  []sharding.ShardSize
		workers int
		fits    bool
	}{
		{"two small shards", []sharding.ShardSize{small, small}, 2, true},
		{"one document of 64 MiB among small shards", []sharding.ShardSize{small, huge, small, small}, 2, true},
		{"two documents of 64 MiB, one worker", []sharding.ShardSize{huge, huge}, 1, true},
		{"two documents of 64 MiB, two workers", []sharding.ShardSize{huge, small, huge}, 2, false},
		{"one shard, many workers", []sharding.ShardSize{huge}, 64, true},
		{"many small shards, many workers", make([]sharding.ShardSize, 100), 100, false},
	} {
		scratch, err := ExamplesConfig{Target: stage.Target{Memory: 600e6}}.scratch(test.shards, false, test.workers)
		if tooMuch := (*stage.MemoryError)(nil); (err == nil) != test.fits || err != nil && !errors.As(err, &tooMuch) {
			t.Errorf("%s: got %v, want it to fit: %v", test.name, err, test.fits)
		}
		if err == nil && scratch < minScratch {
			t.Errorf("%s: %d bytes for instances, want at least %d", test.name, scratch, minScratch)
		}
	}
}
