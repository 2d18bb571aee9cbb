package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// open opens a path that must be sound.
func open(tb testing.TB, path string, opts loader.Options) *loader.Shards {
	tb.Helper()
	s, err := loader.Open(context.Background(), path, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// numbers returns the numbers of the examples that a loop over s yields, and
// the error that ended it.
func numbers(s *loader.Shards) (got []int, err error) {
	for r, err := range s.Examples(context.Background()) {
		if err != nil {
			return got, err
		}
		got = append(got, int(r.Example.MaskedLMIDs[0]))
	}
	return got, nil
}

func wantNumbers(tb testing.TB, s *loader.Shards, want []int) {
	tb.Helper()
	got, err := numbers(s)
	if err != nil {
		tb.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("examples (-want +got):\n%s", d)
	}
}

// threeShards is a folder of two train shards and an eval shard.
func threeShards(tb testing.TB, compress bool) *testFolder {
	return newFolder(tb, compress, shard{sharding.Train, upTo(0, 5)}, shard{sharding.Eval, upTo(20, 23)}, shard{sharding.Train, upTo(5, 9)})
}

func TestOpenFindsTheShards(t *testing.T) {
	folder := threeShards(t, false).write(t)
	run := t.TempDir()
	if err := os.Mkdir(filepath.Join(run, "shards"), 0o700); err != nil {
		t.Fatal(err)
	}
	threeShards(t, false).writeTo(t, filepath.Join(run, "shards"))
	all := append(upTo(20, 23), upTo(0, 9)...)
	for _, c := range []struct {
		name, path, split string
		want              []int
	}{
		{"all of a folder", folder, "", all},
		{"train of a folder", folder, sharding.Train, upTo(0, 9)},
		{"eval of a folder", folder, sharding.Eval, upTo(20, 23)},
		{"train of a run", run, sharding.Train, upTo(0, 9)},
		{"compressed", threeShards(t, true).write(t), "", all},
		{"one file", filepath.Join(folder, "train-00001-of-00002.tfrecord"), "", upTo(5, 9)},
		{"one file of the other side", filepath.Join(folder, "train-00001-of-00002.tfrecord"), sharding.Eval, upTo(5, 9)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, c.path, loader.Options{Split: c.split, Verify: true})
			wantNumbers(t, s, c.want)
			wantNumbers(t, s, c.want) // again
		})
	}
}

func TestShardsSayWhatTheyAre(t *testing.T) {
	path := threeShards(t, false).write(t)
	s := open(t, path, loader.Options{Split: sharding.Train})
	if n, ok := s.Records(); n != 9 || !ok {
		t.Errorf("got %d records, %v, want 9, true", n, ok)
	}
	if s.MaxSeqLength() != testSeq || s.MaxPredictionsPerSeq() != testPredictions {
		t.Errorf("got lengths %d and %d, want %d and %d", s.MaxSeqLength(), s.MaxPredictionsPerSeq(), testSeq, testPredictions)
	}
	v, err := s.Vocab(context.Background())
	if err != nil || v.Len() != 8 {
		t.Errorf("got vocabulary %v, %v, want 8 tokens", v, err)
	}
	if s.Manifest().Fingerprint == "" {
		t.Error("got no fingerprint")
	}
	f := s.Files()[1]
	if want := filepath.Join(path, "train-00001-of-00002.tfrecord"); f.Path != want || f.Records != 4 || f.Split != sharding.Train || f.Bytes == 0 {
		t.Errorf("got file %+v, want %s of train with 4 records", f, want)
	}
}

func TestRecordsCarryTheirPlace(t *testing.T) {
	path := threeShards(t, false).write(t)
	var offset, record int64
	file := ""
	for r, err := range open(t, path, loader.Options{}).Examples(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.File != file {
			file, offset, record = r.File, 0, 0
		}
		if r.Index != record || r.Offset != offset {
			t.Errorf("%s: got record %d at byte %d, want %d at %d", r.File, r.Index, r.Offset, record, offset)
		}
		record++
		offset += int64(tfrecord.FrameBytes + len(r.Example.Append(nil)))
	}
}

func TestForeignFoldersAreReadByName(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
	}{
		{"tf_examples.tfrecord", true},
		{"train.tf_record", true},
		{"a.TFRecord.gz", true},
		{"a.tfrecords", true},
		{"pets.record", true},
		{"part-00003-of-00500", true},
		{"books.tfrecord-00001-of-00002", true},
		{"books.tfrecord-00001-of-00002.gz", true},
		{"train-00000-of-00001.tfrecord", true},
		{"a.tfrecord.idx", false},
		{"train-00000-of-00001.idx", false},
		{"train-00000-of-00001.json", false},
		{"part-3-of-5", false},
		{"vocab.txt", false},
		{"tfrecord", false},
		{".tmp-123.tfrecord", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			data, _ := frames(upTo(0, 3))
			writeFile(t, filepath.Join(dir, c.name), data)
			s, err := loader.Open(context.Background(), dir, loader.Options{Split: sharding.Train})
			if !c.want {
				if !errors.Is(err, sharding.ErrUnfinished) {
					t.Fatalf("got %v, want sharding.ErrUnfinished", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantNumbers(t, s, upTo(0, 3))
			if n, ok := s.Records(); ok {
				t.Errorf("got %d records, want not known", n)
			}
			if v, err := s.Vocab(context.Background()); v != nil || err != nil {
				t.Errorf("got vocabulary %v, %v, want none", v, err)
			}
		})
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	unfinished := t.TempDir()
	data, _ := frames(upTo(0, 3))
	writeFile(t, filepath.Join(unfinished, "train-00000-of-00002.tfrecord"), data)
	writeFile(t, filepath.Join(unfinished, sharding.PlanName), []byte("{}"))
	documents := newFolder(t, false)
	documents.manifest.Stage = "extract"
	documents.describe()
	trainOnly := t.TempDir()
	writeFile(t, filepath.Join(trainOnly, "part-00000-of-00001"), data)
	for _, c := range []struct {
		name, path, split string
		want              error
	}{
		{"nothing there", filepath.Join(dir, "none"), "", fs.ErrNotExist},
		{"an empty folder", dir, "", sharding.ErrUnfinished},
		{"an unfinished folder", unfinished, "", sharding.ErrUnfinished},
		{"another stage", documents.write(t), "", sharding.ErrNoShards},
		{"no shard of the side", newFolder(t, false, shard{sharding.Train, upTo(0, 2)}).write(t), sharding.Eval, sharding.ErrNoShards},
		{"no foreign file of the side", trainOnly, sharding.Eval, sharding.ErrNoShards},
		{"no shard at all", newFolder(t, false).write(t), "", sharding.ErrNoShards},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := loader.Open(context.Background(), c.path, loader.Options{Split: c.split})
			if s != nil || !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if _, err := loader.Open(context.Background(), dir, loader.Options{Split: "test"}); err == nil || !strings.Contains(err.Error(), `split "test"`) {
		t.Errorf("got %v, want a complaint of the split", err)
	}
}

const second = "train-00001-of-00002.tfrecord"

func TestAFolderThatDiffersFromItsManifestIsNotOpened(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(f *testFolder)
		want   string
		verify bool // only the hash shows it
	}{
		{"a cut file", func(f *testFolder) { f.files[second] = f.files[second][:100] }, second + ": 100 bytes long, the manifest says ", false},
		{"a missing file", func(f *testFolder) { delete(f.files, second) }, second + ": missing", false},
		{"a missing index", func(f *testFolder) { delete(f.files, "eval-00000-of-00001.idx") }, "eval-00000-of-00001.idx: missing", false},
		{"two missing files", func(f *testFolder) { delete(f.files, second); delete(f.files, "vocab.txt") }, "missing (and 1 more)", false},
		{"a flipped bit", func(f *testFolder) { f.files[second][50] ^= 1 }, second + ": content differs", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := threeShards(t, false)
			c.change(f)
			path := f.write(t)
			_, err := loader.Open(context.Background(), path, loader.Options{})
			if (err == nil) != c.verify {
				t.Errorf("without Verify: got %v, want an error: %v", err, !c.verify)
			}
			_, err = loader.Open(context.Background(), path, loader.Options{Verify: true})
			var damage *sharding.DamageError
			if !errors.As(err, &damage) || !errors.Is(err, sharding.ErrDamaged) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("with Verify: got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAManifestThatIsNoneIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *sharding.Manifest)
	}{
		{"no lengths", func(m *sharding.Manifest) { m.Options = []byte(`{}`); m.Fingerprint = m.Recipe.Fingerprint() }},
		{"options of the wrong type", func(m *sharding.Manifest) { m.Options = []byte(`[]`); m.Fingerprint = m.Recipe.Fingerprint() }},
		{"changed options", func(m *sharding.Manifest) { m.Options = []byte(`{"max_seq_length": 12}`) }},
		{"a path", func(m *sharding.Manifest) { m.Files[0].Name = "../x.tfrecord" }},
		{"a file twice", func(m *sharding.Manifest) { m.Files = append(m.Files[:1], m.Files...) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := threeShards(t, false)
			c.change(&f.manifest)
			_, err := loader.Open(context.Background(), f.write(t), loader.Options{})
			if !errors.Is(err, sharding.ErrFormat) {
				t.Errorf("got %v, want sharding.ErrFormat", err)
			}
		})
	}
}

// Damage that the manifest's sizes do not show: here the manifest agrees with
// the files.
func TestDamageEndsTheLoopWithItsPlace(t *testing.T) {
	frame := int64(tfrecord.FrameBytes + len(example(5).Append(nil)))
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		want   string // after the path of the file
		read   int
	}{
		{"a flipped bit", func(b []byte) []byte { b[frame+40] ^= 4; return b },
			fmt.Sprintf(": record 1: corrupt record at byte %d: data checksum mismatch", frame), 6},
		{"a file cut in a record", func(b []byte) []byte { return b[:len(b)-1] }, ": truncated record", 8},
		{"a file cut between records", func(b []byte) []byte { return b[:frame] }, ": 1 records, the manifest says 4", 6},
		{"no record at all", func([]byte) []byte { return nil }, ": 0 records, the manifest says 4", 5},
		{"a record too many", func(b []byte) []byte { return append(b, b[:frame]...) }, ": more than the 4 records that the manifest says", 9},
		{"no example", func(b []byte) []byte { return tfrecord.AppendFrame(b[:frame], []byte("x")) },
			fmt.Sprintf(": record 1 at byte %d: ", frame), 6},
		{"another length", func(b []byte) []byte {
			e := example(1)
			e.MaskedLMIDs, e.MaskedLMPositions, e.MaskedLMWeights = e.MaskedLMIDs[:2], e.MaskedLMPositions[:2], e.MaskedLMWeights[:2]
			return tfrecord.AppendFrame(b[:frame], e.Append(nil))
		}, fmt.Sprintf(": record 1 at byte %d: feature masked_lm_positions: 2 values, max_predictions_per_seq is 3", frame), 6},
		{"another length of tokens", func(b []byte) []byte {
			e := example(1)
			e.InputIDs, e.InputMask, e.SegmentIDs = e.InputIDs[:8], e.InputMask[:8], e.SegmentIDs[:8]
			return tfrecord.AppendFrame(b[:frame], e.Append(nil))
		}, fmt.Sprintf(": record 1 at byte %d: feature input_ids: 8 values, max_seq_length is 16", frame), 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := threeShards(t, false)
			f.files[second] = c.change(f.files[second])
			f.describe()
			path := f.write(t)
			got, err := numbers(open(t, path, loader.Options{Split: sharding.Train}))
			if err == nil || !strings.Contains(err.Error(), filepath.Join(path, second)+": ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if !errors.Is(err, sharding.ErrDamaged) && !errors.Is(err, tfrecord.ErrCorrupt) && !errors.Is(err, records.ErrExample) {
				t.Errorf("got %v, want an error of damage", err)
			}
			if d := cmp.Diff(upTo(0, c.read), got); d != "" {
				t.Errorf("examples before the damage (-want +got):\n%s", d)
			}
		})
	}
}

func TestARecordErrorNamesRecordAndByte(t *testing.T) {
	f := threeShards(t, true)
	data, _ := frames(upTo(5, 9))
	want := sharding.RecordError{Record: 2}
	for _, n := range []int{5, 6} {
		want.Offset += int64(tfrecord.FrameBytes + len(example(n).Append(nil)))
	}
	data[want.Offset+30] ^= 1
	f.files[second+".gz"] = zip(t, data)
	f.describe()
	path := f.write(t)
	_, err := numbers(open(t, path, loader.Options{}))
	var got *sharding.RecordError
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want a RecordError", err)
	}
	want.File, want.Err = filepath.Join(path, second+".gz"), got.Err
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}

func TestAFileThatChangedSinceOpenIsDamage(t *testing.T) {
	data, _ := frames(upTo(0, 4))
	path := filepath.Join(t.TempDir(), "a.tfrecord")
	writeFile(t, path, data)
	s := open(t, path, loader.Options{})
	if err := os.Truncate(path, int64(len(data)/4)); err != nil { // a whole record
		t.Fatal(err)
	}
	if _, err := numbers(s); !errors.Is(err, sharding.ErrDamaged) {
		t.Errorf("got %v, want sharding.ErrDamaged", err)
	}
}

func TestCancellingEndsTheLoop(t *testing.T) {
	s := open(t, threeShards(t, false).write(t), loader.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	read := 0
	for _, err := range s.Examples(ctx) {
		if err != nil {
			if !errors.Is(err, context.Canceled) || read != 4 {
				t.Errorf("got %v after %d examples, want context.Canceled after 4", err, read)
			}
			return
		}
		if read++; read == 4 {
			cancel()
		}
	}
	t.Error("got all examples, want an error")
}

func TestBreakingOutOfTheLoopIsFine(t *testing.T) {
	s := open(t, threeShards(t, false).write(t), loader.Options{})
	for _, err := range s.Examples(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

func TestShardsAreReadByManyAtATime(t *testing.T) {
	s := open(t, threeShards(t, false).write(t), loader.Options{Split: sharding.Train})
	index := newIndex(t, s)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got, err := numbers(s); err != nil || !cmp.Equal(got, upTo(0, 9)) {
				t.Errorf("loop: got %v, %v", got, err)
			}
			p := index.NewPicker()
			defer p.Close()
			for i := range 9 {
				if r, err := p.At(context.Background(), int64(i)); err != nil || int(r.Example.MaskedLMIDs[0]) != i {
					t.Errorf("example %d: got %+v, %v", i, r, err)
				}
			}
		})
	}
	wg.Wait()
}

// Whatever the shards: the loop yields them file after file, record after
// record, and every number leads to the same example.
func TestOrderIsFileOrderAndNumbersAgreeWithIt(t *testing.T) {
	root := t.TempDir()
	folders := 0
	rapid.Check(t, func(t *rapid.T) {
		folders++
		dir := filepath.Join(root, fmt.Sprint(folders))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var shards []shard
		var want []int
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 120), 1, 5).Draw(t, "records of shards") {
			shards = append(shards, shard{sharding.Train, upTo(len(want), len(want)+n)})
			want = append(want, upTo(len(want), len(want)+n)...)
		}
		newFolder(t, false, shards...).writeTo(t, dir)
		s, err := loader.Open(context.Background(), dir, loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := numbers(s)
		if err != nil || !cmp.Equal(want, got) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		index, err := s.Index(context.Background())
		if err != nil || index.Len() != int64(len(want)) {
			t.Fatalf("got index %v, %v, want %d examples", index, err, len(want))
		}
		if len(want) == 0 {
			return
		}
		p := index.NewPicker()
		defer p.Close()
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(want)-1), 1, 20).Draw(t, "numbers") {
			r, err := p.At(context.Background(), int64(i))
			if err != nil || int(r.Example.MaskedLMIDs[0]) != want[i] {
				t.Fatalf("example %d: got %+v, %v", i, r, err)
			}
		}
	})
}
