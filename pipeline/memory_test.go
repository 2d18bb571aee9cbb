package pipeline

import (
	"errors"
	"slices"
	"testing"

	"pretext/extract"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

func TestMemoryIsAskedForTheTasksThatCanBeAtWorkTogether(t *testing.T) {
	const mib = 1 << 20
	shard := func(blocks ...int64) (t sharding.ShardTask) {
		t.Blocks = sharding.BlockList{{}}
		for _, n := range blocks {
			t.Blocks[0].Blocks = append(t.Blocks[0].Blocks, extract.Block{TextBytes: n})
		}
		return t
	}
	small, huge := shard(slices.Repeat([]int64{mib}, 16)...), shard(64*mib)
	for _, test := range []struct {
		name    string
		shards  []sharding.ShardTask
		workers int
		fits    bool
	}{
		{"two small shards", []sharding.ShardTask{small, small}, 2, true},
		{"one document of 64 MiB among small shards", []sharding.ShardTask{small, huge, small, small}, 2, true},
		{"two documents of 64 MiB, one worker", []sharding.ShardTask{huge, huge}, 1, true},
		{"two documents of 64 MiB, two workers", []sharding.ShardTask{huge, small, huge}, 2, false},
		{"one shard, many workers", []sharding.ShardTask{huge}, 64, true},
		{"many small shards, many workers", make([]sharding.ShardTask, 100), 100, false},
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
