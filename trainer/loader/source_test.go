package loader_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/loader"
)

var _ trainer.Source = (*loader.Source)(nil)

// shardsOf opens a folder of shards of train with the given numbers of
// examples, all numbered from 0 on.
func shardsOf(tb testing.TB, sizes ...int) *loader.Shards {
	tb.Helper()
	return open(tb, newFolder(tb, false, trainShards(sizes)...).write(tb), loader.Options{})
}

func trainShards(sizes []int) (shards []shard) {
	at := 0
	for _, n := range sizes {
		shards = append(shards, shard{sharding.Train, upTo(at, at+n)})
		at += n
	}
	return shards
}

func sourceOptions() loader.SourceOptions {
	return loader.SourceOptions{Seed: 7, MicroBatchTokens: 64, WindowSpans: 2, Heads: trainer.PretrainHeads()}
}

func newSource(tb failer, s *loader.Shards, opts loader.SourceOptions) *loader.Source {
	tb.Helper()
	src, err := loader.NewSource(context.Background(), s, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

// A drawn is what a batch says of one example.
type drawn struct {
	Position int64
	Number   int // the example's, by its masked id
	Batch    int // number of the micro-batch in the share
}

// draw returns what a step brings, and the tokens of each of its batches.
func draw(tb failer, src *loader.Source, position int64, n int) (got []drawn) {
	tb.Helper()
	share, err := src.Step(position, n)
	if err != nil {
		tb.Fatal(err)
	}
	batch := 0
	for b, err := range share.Batches {
		if err != nil {
			tb.Fatal(err)
		}
		for i, p := range b.Sequence { // every example has one masked token
			got = append(got, drawn{p, int(b.MaskedIDs[i]), batch})
		}
		batch++
	}
	return got
}

func numbersOf(all []drawn) (numbers []int) {
	for _, d := range all {
		numbers = append(numbers, d.Number)
	}
	return numbers
}

func TestEveryEpochBringsEveryExampleOnce(t *testing.T) {
	const n = 100
	for _, sizes := range [][]int{{40, 0, 25, 31, 4}, {n}} {
		src := newSource(t, shardsOf(t, sizes...), sourceOptions())
		if src.Len() != n {
			t.Fatalf("got %d examples in an epoch, want %d", src.Len(), n)
		}
		var epochs [][]int
		for e := range int64(3) {
			got := numbersOf(draw(t, src, e*n, n))
			sorted := slices.Sorted(slices.Values(got))
			if d := cmp.Diff(upTo(0, n), sorted); d != "" {
				t.Errorf("%v: examples of epoch %d (-want +got):\n%s", sizes, e, d)
			}
			epochs = append(epochs, got)
		}
		if slices.Equal(epochs[0], epochs[1]) || slices.Equal(epochs[0], upTo(0, n)) {
			t.Errorf("%v: got epochs %v and %v, want two orders that differ", sizes, epochs[0], epochs[1])
		}
	}
}

// The order is part of what a run's results depend on: it must not change.
func TestTheOrderOfTwoEpochsIsPinned(t *testing.T) {
	got := numbersOf(draw(t, newSource(t, shardsOf(t, 4, 3, 2), sourceOptions()), 0, 18))
	want := []int{0, 3, 2, 8, 1, 7, 4, 5, 6, 5, 4, 7, 8, 6, 3, 1, 0, 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("examples (-want +got):\n%s", d)
	}
}

// A position stands for the same example whatever the batch, the number of
// ranks and the place of a restart; and the ranks share what one would have.
func TestAPositionStandsForOneExample(t *testing.T) {
	const n = 70
	shards := shardsOf(t, 20, 15, 35)
	want := draw(t, newSource(t, shards, sourceOptions()), 0, 3*n)
	rapid.Check(t, func(t *rapid.T) {
		opts := sourceOptions()
		opts.Ranks = rapid.IntRange(1, 4).Draw(t, "ranks")
		position := rapid.Int64Range(0, 2*n).Draw(t, "position")
		count := rapid.IntRange(1, n).Draw(t, "examples")
		var got []drawn
		for opts.Rank = range opts.Ranks {
			one := draw(t, newSource(t, shards, opts), position, count)
			got = append(got, one...)
		}
		slices.SortFunc(got, func(a, b drawn) int { return int(a.Position - b.Position) })
		if len(got) != count {
			t.Fatalf("got %d examples, want %d", len(got), count)
		}
		for i, d := range got {
			if w := want[position+int64(i)]; d.Position != w.Position || d.Number != w.Number {
				t.Fatalf("got example %d at position %d, want %d at %d", d.Number, d.Position, w.Number, w.Position)
			}
		}
	})
}

// The micro-batches of one rank are dealt whole to three, in order, each once.
func TestMicroBatchesAreCutByTokensAloneAndDealtWhole(t *testing.T) {
	shards := shardsOf(t, 50)
	grouped := func(all []drawn) (batches [][]drawn) {
		for _, d := range all {
			if d.Batch == len(batches) {
				batches = append(batches, nil)
			}
			batches[d.Batch] = append(batches[d.Batch], drawn{Position: d.Position, Number: d.Number})
		}
		return batches
	}
	want := grouped(draw(t, newSource(t, shards, sourceOptions()), 0, 50))
	opts := sourceOptions()
	opts.Ranks = 3
	var got [][]drawn
	for opts.Rank = range opts.Ranks {
		mine := grouped(draw(t, newSource(t, shards, opts), 0, 50))
		if !slices.IsSortedFunc(mine, byPosition) || len(mine) > (len(want)+2)/3 {
			t.Errorf("rank %d has %d of %d micro-batches, not in order or too many", opts.Rank, len(mine), len(want))
		}
		got = append(got, mine...)
	}
	slices.SortFunc(got, byPosition)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-one rank +three:\n%s", d)
	}
}

func byPosition(a, b []drawn) int { return int(a[0].Position - b[0].Position) }

func TestAShareIsCountedAndItsBatchesAreSound(t *testing.T) {
	src := newSource(t, shardsOf(t, 30), sourceOptions())
	share, err := src.Step(0, 30)
	if err != nil {
		t.Fatal(err)
	}
	if want := (trainer.Counts{MaskedWeight: 30, NSP: 30}); share.Counts != want {
		t.Errorf("got counts %+v, want %+v", share.Counts, want)
	}
	config := trainer.Config{VocabSize: 100, MaxPositions: testSeq, Segments: 2}
	for range 2 { // batches may be asked for again
		sequences := 0
		for b, err := range share.Batches {
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Validate(config, trainer.PretrainHeads()); err != nil || b.Tokens() > 64 {
				t.Errorf("got a batch of %d tokens, %v", b.Tokens(), err)
			}
			for i := range b.Sequences() {
				compare(t, b, i)
			}
			sequences += b.Sequences()
		}
		if sequences != 30 {
			t.Errorf("got %d sequences, want 30", sequences)
		}
	}
}

// compare holds a sequence of a batch against the example that it is.
func compare(t *testing.T, b *trainer.Batch, i int) {
	t.Helper()
	from, to := b.CuSeqlens[i], b.CuSeqlens[i+1]
	e := example(int(b.MaskedIDs[i]))
	n := e.Tokens()
	if !slices.Equal(b.IDs[from:to], e.InputIDs[:n]) || !slices.Equal(b.Segments[from:to], e.SegmentIDs[:n]) ||
		b.MaskedIndex[i]-from != e.MaskedLMPositions[0] || b.NSPLabels[i] != e.NextSentenceLabel {
		t.Errorf("sequence %d is not example %d", i, b.MaskedIDs[i])
	}
}

// spoilt is a folder whose third example of ten has a flipped bit.
func spoilt(tb testing.TB) *loader.Shards {
	tb.Helper()
	f := newFolder(tb, false, shard{sharding.Train, upTo(0, 10)})
	const name = "train-00000-of-00001.tfrecord"
	frame := len(f.files[name]) / 10
	f.files[name][2*frame+40] ^= 1
	f.describe()
	return open(tb, f.write(tb), loader.Options{})
}

func TestABadExampleEndsTheRunWithItsPlace(t *testing.T) {
	_, err := newSource(t, spoilt(t), sourceOptions()).Step(0, 10)
	var bad *sharding.RecordError
	if !errors.As(err, &bad) || bad.Record != 2 || !errors.Is(err, tfrecord.ErrCorrupt) {
		t.Errorf("got %v, want damage of record 2", err)
	}
	opts := sourceOptions()
	opts.Rules.VocabSize = 9
	_, err = newSource(t, shardsOf(t, 12), opts).Step(0, 12)
	if !errors.Is(err, records.ErrExample) {
		t.Errorf("got %v, want a broken rule", err)
	}
}

// A sequence that is longer than the model is a matter of options, not of damage, so
// that no run skips it.
func TestALongerExampleThanTheModelsPositionsIsAUsageError(t *testing.T) {
	shards := shardsOf(t, 12)
	longest := 0
	for r, err := range shards.Examples(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, r.Example.Tokens())
	}
	opts := sourceOptions()
	opts.Positions = longest
	draw(t, newSource(t, shards, opts), 0, 12)
	opts.Positions--
	for _, quarantine := range []func(error) error{nil, func(error) error { return nil }} {
		opts.Quarantine = quarantine
		_, err := newSource(t, shards, opts).Step(0, 12)
		if wrong := (interface{ Usage() bool })(nil); !errors.As(err, &wrong) {
			t.Errorf("got %v, want a usage error", err)
		}
	}
}

func TestAQuarantinedExampleKeepsItsPositionAsAHole(t *testing.T) {
	opts := sourceOptions()
	called := 0
	opts.Quarantine = func(bad error) error {
		called++
		return nil
	}
	holes := draw(t, newSource(t, spoilt(t), opts), 0, 10)
	whole := draw(t, newSource(t, shardsOf(t, 10), opts), 0, 10)
	if called != 1 || len(holes) != 9 {
		t.Fatalf("got %d examples and %d quarantined, want 9 and 1", len(holes), called)
	}
	for _, d := range holes {
		if w := whole[d.Position]; d.Number != w.Number || d.Number == 2 {
			t.Errorf("got example %d at position %d, want %d", d.Number, d.Position, w.Number)
		}
	}
	stop := errors.New("too many")
	opts.Quarantine = func(error) error { return stop }
	if _, err := newSource(t, spoilt(t), opts).Step(0, 10); !errors.Is(err, stop) {
		t.Errorf("got %v, want the error of Quarantine", err)
	}
}

func TestASweepBringsEveryExampleOnce(t *testing.T) {
	src := newSource(t, shardsOf(t, 300, 211), sourceOptions())
	for _, n := range []int64{511, 1 << 40, 100} {
		seen := map[int32]bool{}
		for b, err := range src.Sweep(n) {
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range b.MaskedIDs {
				seen[id] = true
			}
		}
		if int64(len(seen)) != min(n, 511) {
			t.Errorf("got %d examples of %d, want %d", len(seen), n, min(n, 511))
		}
	}
}

func TestWhatMakesNoTrainingOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		shards *loader.Shards
		change func(o *loader.SourceOptions)
	}{
		{"no examples", shardsOf(t, 0, 0), func(*loader.SourceOptions) {}},
		{"no tokens", shardsOf(t, 3), func(o *loader.SourceOptions) { o.MicroBatchTokens = 0 }},
		{"a rank too high", shardsOf(t, 3), func(o *loader.SourceOptions) { o.Rank, o.Ranks = 2, 2 }},
		{"a negative window", shardsOf(t, 3), func(o *loader.SourceOptions) { o.WindowSpans = -1 }},
		{"a window too large", shardsOf(t, 3), func(o *loader.SourceOptions) { o.WindowSpans = 1025 }},
	} {
		opts := sourceOptions()
		c.change(&opts)
		if _, err := loader.NewSource(context.Background(), c.shards, opts); err == nil {
			t.Errorf("%s: got no error", c.name)
		}
	}
	src := newSource(t, shardsOf(t, 3), sourceOptions())
	for _, at := range []struct {
		position int64
		n        int
	}{{-1, 2}, {0, 0}, {math.MaxInt64 - 1, 2}} {
		if _, err := src.Step(at.position, at.n); err == nil {
			t.Errorf("%d examples at position %d: got no error", at.n, at.position)
		}
	}
	opts := sourceOptions()
	opts.MicroBatchTokens = 10
	if _, err := newSource(t, shardsOf(t, 20), opts).Step(0, 20); err == nil {
		t.Error("an example longer than a micro-batch: got no error")
	}
}

// Google's own examples train too: no manifest, no index.
func TestForeignExamplesMakeATrainingOrder(t *testing.T) {
	s := open(t, realdata.Path(t, "tfrecord/bert-pretraining/sample_text-dupe10.tfrecord"), loader.Options{})
	opts := sourceOptions()
	opts.MicroBatchTokens, opts.Rules = 512, records.Rules{VocabSize: 30522, CLS: 101, SEP: 102}
	src := newSource(t, s, opts)
	share, err := src.Step(0, 118)
	if err != nil || share.Counts.NSP != 118 || src.Len() != 118 {
		t.Errorf("got %+v of %d examples, %v, want 118", share.Counts, src.Len(), err)
	}
}
