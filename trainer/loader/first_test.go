package loader

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer"
)

// A counted folder counts the bytes that are read from its files.
type counted struct {
	sharding.Folder
	read *atomic.Int64
}

func (c counted) Open(ctx context.Context, name string) (sharding.File, error) {
	f, err := c.Folder.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return countedFile{f, c.read}, nil
}

type countedFile struct {
	sharding.File
	read *atomic.Int64
}

func (f countedFile) ReadAt(b []byte, offset int64) (int, error) {
	n, err := f.File.ReadAt(b, offset)
	f.read.Add(int64(n))
	return n, err
}

// manyRecords writes files of about so many bytes each, and returns their number
// of records.
func manyRecords(t *testing.T, dir string, files, bytes int) (n int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	e := &records.Example{
		InputIDs: make([]int32, 128), InputMask: make([]int32, 128), SegmentIDs: make([]int32, 128),
		MaskedLMPositions: []int32{5}, MaskedLMIDs: []int32{9}, MaskedLMWeights: []float32{1},
	}
	for i := range e.InputIDs {
		e.InputIDs[i], e.InputMask[i], e.SegmentIDs[i] = 1000+rng.Int32N(29000), 1, int32(i/64)
	}
	frame := tfrecord.AppendFrame(nil, e.Append(nil))
	for i := range files {
		f, err := os.Create(filepath.Join(dir, string(rune('a'+i))+".tfrecord"))
		if err != nil {
			t.Fatal(err)
		}
		for range bytes / len(frame) {
			if _, err := f.Write(frame); err != nil {
				t.Fatal(err)
			}
			n++
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// However far into a run the first step lies, and however much lies before it,
// what is read of the records are the windows that the step is in. The rest is
// the index, two percent of them, and the ends of files by which a cache knows
// them.
func TestTheFirstBatchReadsAWindowWhereverItIs(t *testing.T) {
	const files, bytes, batch = 4, 20 << 20, 64
	dir := t.TempDir()
	n := manyRecords(t, dir, files, bytes)
	first := func(position int64) int64 {
		var read atomic.Int64
		shards, err := Open(t.Context(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		shards.folder = counted{shards.folder, &read}
		if shards, err = shards.Cached(t.Context(), filepath.Join(dir, "cache"), CacheOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range shards.files {
			shards.files[i].copied.folder = counted{shards.files[i].copied.folder, &read}
		}
		s, err := NewSource(t.Context(), shards, SourceOptions{Seed: 3, MicroBatchTokens: 1024, WindowSpans: 1, Heads: trainer.PretrainHeads()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		share, err := s.Step(position, batch)
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range share.Batches {
			if err != nil || b.Tokens() == 0 {
				t.Fatalf("got a batch of %d tokens, %v", b.Tokens(), err)
			}
			break
		}
		return read.Load()
	}
	if whole := first(0); whole < files*bytes/2 {
		t.Fatalf("the first run read %d bytes: its cache was there", whole)
	}
	const index, ends = files * bytes / 50, files * (3 << 20)
	for _, position := range []int64{0, 1, n / 2, n - 1, n, 3*n + n/3, 1e6*n + 17, 1 << 50} {
		windows := int64(2) // a step may lie in two
		if got := first(position); got > windows*spanBytes+index+ends {
			t.Errorf("the first batch at position %d: %d bytes are read, want at most %d windows of %d and an index", position, got, windows, spanBytes)
		}
	}
}
