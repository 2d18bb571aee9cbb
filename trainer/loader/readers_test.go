package loader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// Everything a run sees is the same for any number of readers: examples, their
// positions, how they are cut, and which are bad, in which order.
func TestAnyNumberOfReadersBringsTheSame(t *testing.T) {
	folder := newFolder(t, false, trainShards([]int{40, 25, 35})...)
	spoil(t, folder, "train-00001-of-00003.tfrecord", 3)
	spoil(t, folder, "train-00002-of-00003.tfrecord", 20)
	shards := open(t, folder.write(t), loader.Options{})
	run := func(readers int) (got []string) {
		opts := sourceOptions()
		opts.Readers = readers
		opts.Quarantine = func(bad error) error {
			got = append(got, bad.Error())
			return nil
		}
		src := newSource(t, shards, opts)
		defer src.Close()
		for p := int64(0); p < 300; p += 17 {
			got = append(got, fmt.Sprint(draw(t, src, p, 17)))
		}
		return append(got, fmt.Sprint(draw(t, src, 5, 3))) // not where it was read ahead
	}
	want := run(0)
	if len(want) < 19+2 {
		t.Fatalf("got %d lines, want the steps and the bad examples", len(want))
	}
	for _, readers := range []int{1, 2, 3, 4, 8, 100} {
		if d := cmp.Diff(want, run(readers)); d != "" {
			t.Errorf("%d readers (-0 +%d):\n%s", readers, readers, d)
		}
	}
}

// spoil flips a bit in the payload of a record.
func spoil(t *testing.T, f *testFolder, name string, record int) {
	t.Helper()
	at := frameOffset(t, f.files[name], record)
	f.files[name] = slices.Clone(f.files[name])
	f.files[name][at+20] ^= 4
	f.describe()
}

// frameOffset returns where a record of a file begins.
func frameOffset(t *testing.T, data []byte, record int) int {
	t.Helper()
	at := 0
	for range record {
		at += tfrecord.FrameBytes + int(data[at]) + int(data[at+1])<<8
	}
	return at
}

// A bad example that is only read ahead must not end the run before its turn.
func TestAReaderAheadDoesNotEndTheStepInUse(t *testing.T) {
	opts := sourceOptions()
	opts.Readers = 2
	src := newSource(t, spoilt(t), opts)
	defer src.Close()
	var order []int
	for p := range int64(10) {
		if _, err := src.Step(p, 1); err != nil {
			if !errors.Is(err, tfrecord.ErrCorrupt) {
				t.Fatal(err)
			}
			order = append(order, int(p))
		}
	}
	if len(order) != 1 {
		t.Errorf("steps %v failed, want the one of the damaged example", order)
	}
}

func TestACancelledContextEndsTheReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	opts := sourceOptions()
	opts.Readers = 1
	src, err := loader.NewSource(ctx, shardsOf(t, 30), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	cancel()
	if _, err := src.Step(0, 4); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// Behind a damaged length all that is lost is the rest of its block.
func TestADamagedLengthCostsItsBlockAlone(t *testing.T) {
	const n = 3000 // several blocks of 64 KiB
	folder := newFolder(t, false, shard{sharding.Train, upTo(0, n)})
	name := "train-00000-of-00001.tfrecord"
	data := slices.Clone(folder.files[name])
	const first = 1000
	data[frameOffset(t, data, first)+1] ^= 1
	folder.files[name] = data
	folder.describe()
	shards := open(t, folder.write(t), loader.Options{})

	var places []int64
	opts := sourceOptions()
	opts.Quarantine = func(bad error) error {
		var r *sharding.RecordError
		if !errors.As(bad, &r) || !errors.Is(bad, tfrecord.ErrCorrupt) {
			t.Fatalf("got %v, want a damaged record", bad)
		}
		places = append(places, r.Record)
		return nil
	}
	got := draw(t, newSource(t, shards, opts), 0, n)
	slices.Sort(places)
	if len(places) == 0 || places[0] != first || places[len(places)-1] != first+int64(len(places))-1 || len(places) > 700 {
		t.Fatalf("lost %d records, %d to %d, want those from %d to the end of its block", len(places), places[0], places[len(places)-1], first)
	}
	if len(got) != n-len(places) {
		t.Errorf("got %d examples, want all but %d of %d", len(got), len(places), n)
	}
	whole := draw(t, newSource(t, shardsOf(t, n), sourceOptions()), 0, n)
	for _, d := range got {
		if w := whole[d.Position]; w.Number != d.Number {
			t.Fatalf("example %d at position %d, want %d", d.Number, d.Position, w.Number)
		}
	}
	opts.Quarantine = nil
	if _, err := newSource(t, shards, opts).Step(0, n); !errors.Is(err, tfrecord.ErrCorrupt) {
		t.Errorf("got %v, want the damage", err)
	}
}
