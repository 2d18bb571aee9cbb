package pipeline

import (
	"errors"
	"testing"
)

func TestMemoryIsAskedForTheTasksThatCanBeAtWorkTogether(t *testing.T) {
	const mib = 1 << 20
	small := taskSize{shard: 16 * mib, document: mib}
	huge := taskSize{shard: 64 * mib, document: 64 * mib}
	for _, test := range []struct {
		name    string
		sizes   []taskSize
		workers int
		fits    bool
	}{
		{"two small shards", []taskSize{small, small}, 2, true},
		{"one document of 64 MiB among small shards", []taskSize{small, huge, small, small}, 2, true},
		{"two documents of 64 MiB, one worker", []taskSize{huge, huge}, 1, true},
		{"two documents of 64 MiB, two workers", []taskSize{huge, small, huge}, 2, false},
		{"one shard, many workers", []taskSize{huge}, 64, true},
		{"many small shards, many workers", make([]taskSize, 100), 100, false},
	} {
		scratch, err := exampleMemory{sizes: test.sizes}.scratch(600e6, test.workers)
		if tooMuch := (*MemoryError)(nil); (err == nil) != test.fits || err != nil && !errors.As(err, &tooMuch) {
			t.Errorf("%s: got %v, want it to fit: %v", test.name, err, test.fits)
		}
		if err == nil && scratch < minScratch {
			t.Errorf("%s: %d bytes for instances, want at least %d", test.name, scratch, minScratch)
		}
	}
}
