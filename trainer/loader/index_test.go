package loader_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// manyRecords is more than two blocks of an index.
const manyRecords = 700

func newIndex(tb testing.TB, s *loader.Shards) *loader.Index {
	tb.Helper()
	x, err := s.Index(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func TestEveryNumberLeadsToTheRecordOfTheLoop(t *testing.T) {
	path := newFolder(t, false, shard{sharding.Train, upTo(0, manyRecords)}, shard{sharding.Train, nil},
		shard{sharding.Train, upTo(manyRecords, manyRecords+3)}, shard{sharding.Train, nil}).write(t)
	foreign := t.TempDir()
	data, _ := frames(upTo(0, manyRecords))
	writeFile(t, filepath.Join(foreign, "a.tfrecord"), data)
	writeFile(t, filepath.Join(foreign, "b.tfrecord"), nil)
	for _, c := range []struct {
		name, path string
		want       int64
	}{
		{"ours", path, manyRecords + 3},
		{"foreign", foreign, manyRecords},
		{"one file", filepath.Join(foreign, "a.tfrecord"), manyRecords},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, c.path, loader.Options{})
			index := newIndex(t, s)
			if index.Len() != c.want {
				t.Fatalf("got %d examples, want %d", index.Len(), c.want)
			}
			forward, backward := index.NewPicker(), index.NewPicker()
			defer forward.Close()
			defer backward.Close()
			number := int64(0)
			for want, err := range s.Examples(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				got, err := forward.At(context.Background(), number)
				if err != nil || got.File != want.File || got.Index != want.Index || got.Offset != want.Offset ||
					got.Example.MaskedLMIDs[0] != want.Example.MaskedLMIDs[0] {
					t.Fatalf("example %d: got %+v, %v, want %+v", number, got, err, want)
				}
				mirror := c.want - 1 - number
				if got, err := backward.At(context.Background(), mirror); err != nil || int64(got.Example.MaskedLMIDs[0]) != mirror {
					t.Fatalf("example %d: got %+v, %v", mirror, got, err)
				}
				number++
			}
		})
	}
}

func TestAnIndexThatDoesNotFitIsRefused(t *testing.T) {
	const name = "train-00001-of-00002.idx"
	for _, c := range []struct {
		name   string
		change func(lines []string) []string
		want   string
	}{
		{"a line too few", func(l []string) []string { return l[:3] }, "ends at byte "},
		{"a line left out", func(l []string) []string { return append(l[:1], l[2:]...) }, "record 1, "},
		{"beyond the file", func(l []string) []string { return append(l, "1020 255") }, "record 4, 255 bytes at byte 1020"},
		{"no number", func(l []string) []string { l[2] = "x 1"; return l }, "index line 3: not two numbers"},
		{"two records as one", func([]string) []string { return []string{"0 1020"} }, "1 records, the manifest says 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := threeShards(t, false)
			lines := strings.Split(strings.TrimSpace(string(f.files[name])), "\n")
			f.files[name] = []byte(strings.Join(c.change(lines), "\n") + "\n")
			f.describe()
			_, err := open(t, f.write(t), loader.Options{}).Index(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if !errors.Is(err, sharding.ErrDamaged) && !errors.Is(err, tfrecord.ErrCorrupt) {
				t.Errorf("got %v, want an error of damage", err)
			}
		})
	}
}

func TestAPickerReportsDamageWithItsPlace(t *testing.T) {
	frame := tfrecord.FrameBytes + len(example(5).Append(nil))
	for _, c := range []struct {
		name string
		at   int // bit to flip, in the record after the first
		want string
	}{
		{"in the payload", 40, "data checksum mismatch"},
		{"in the checksum of the length", 9, "length checksum mismatch"},
		{"in the length", 4, "not the record that the index says"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := threeShards(t, false)
			f.files[second][frame+c.at] ^= 4
			f.describe()
			s := open(t, f.write(t), loader.Options{Split: sharding.Train})
			p := newIndex(t, s).NewPicker()
			defer p.Close()
			if r, err := p.At(context.Background(), 5); err != nil || r.Example.MaskedLMIDs[0] != 5 {
				t.Errorf("the record before: got %+v, %v", r, err)
			}
			_, err := p.At(context.Background(), 6)
			var got *sharding.RecordError
			if !errors.As(err, &got) || got.Record != 1 || got.Offset != int64(frame) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want record 1 at byte %d: %s", err, frame, c.want)
			}
		})
	}
}

func TestCompressedFilesHaveNoRandomAccess(t *testing.T) {
	data, _ := frames(upTo(0, 3))
	foreign := filepath.Join(t.TempDir(), "a.tfrecord")
	writeFile(t, foreign, zip(t, data))
	for _, path := range []string{foreign, threeShards(t, true).write(t)} {
		_, err := open(t, path, loader.Options{}).Index(context.Background())
		var compressed *loader.CompressedError
		if !errors.As(err, &compressed) || compressed.Compression != "gzip" || !strings.Contains(err.Error(), "--compression none") {
			t.Errorf("%s: got %v, want a CompressedError", path, err)
		}
	}
}

func TestANumberOutsideIsAMistake(t *testing.T) {
	p := newIndex(t, open(t, threeShards(t, false).write(t), loader.Options{})).NewPicker()
	for _, n := range []int64{-1, 12} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d: got no panic", n)
				}
			}()
			_, _ = p.At(context.Background(), n)
		}()
	}
}
