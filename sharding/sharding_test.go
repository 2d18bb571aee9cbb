package sharding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/counts"
	"pretext/extract"
	"pretext/internal/store"
)

// A blockRef is a block of the file with a number.
type blockRef struct {
	File, Block int
	Bytes       int64
}

// assignBlocks assigns blocks, which are in source order, and returns those of each
// shard as [Assignment.Task] lists them.
func assignBlocks(blocks []blockRef, shards int, seed int64) (assigned [][]blockRef, err error) {
	var in DocumentsInput
	for _, b := range blocks {
		if b.File == len(in.Files) {
			in.Files = append(in.Files, DocumentsFile{Name: fmt.Sprint(b.File)})
		}
		f := &in.Files[b.File]
		f.Blocks = append(f.Blocks, extract.Block{Offset: int64(b.Block), TextBytes: b.Bytes})
	}
	o := DefaultExamplesOptions()
	o.Shards, o.RandomSeed = shards, seed
	a, err := Assign([]DocumentsInput{in}, o)
	if err != nil {
		return nil, err
	}
	for i := range a.Shards {
		var shard []blockRef
		for _, f := range a.Task(i).Blocks {
			file, err := strconv.Atoi(f.Name)
			if err != nil {
				return nil, err
			}
			for _, b := range f.Blocks {
				shard = append(shard, blockRef{file, int(b.Offset), b.TextBytes})
			}
		}
		assigned = append(assigned, shard)
	}
	return assigned, nil
}

func Example_assign() {
	blocks := []blockRef{{File: 0, Block: 0, Bytes: 100}, {File: 0, Block: 1, Bytes: 100}, {File: 1, Block: 0, Bytes: 200}}
	shards, err := assignBlocks(blocks, 1, 12345)
	if err != nil {
		panic(err)
	}
	fmt.Println(shards[0]) // one shard is the input as it is
	// Output: [{0 0 100} {0 1 100} {1 0 200}]
}

func drawBlocks(t *rapid.T) []blockRef {
	var blocks []blockRef
	for file := range rapid.IntRange(1, 5).Draw(t, "files") {
		for block := range rapid.IntRange(1, 40).Draw(t, "blocks") {
			blocks = append(blocks, blockRef{file, block, rapid.Int64Range(1, 1000).Draw(t, "bytes")})
		}
	}
	return blocks
}

func TestEveryBlockIsDealtOnceInSourceOrderAndBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := drawBlocks(t)
		n := rapid.IntRange(1, len(blocks)).Draw(t, "shards")
		shards, err := assignBlocks(blocks, n, rapid.Int64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		place := map[blockRef]int{}
		largest := int64(0)
		for i, b := range blocks {
			place[blockRef{b.File, b.Block, b.Bytes}] = i
			largest = max(largest, b.Bytes)
		}
		least, most, dealt := int64(math.MaxInt64), int64(0), 0
		for _, shard := range shards {
			sum, last := int64(0), -1
			for _, b := range shard {
				if place[b] <= last {
					t.Fatalf("block %v stands after a later one", b)
				}
				last = place[b]
				sum += b.Bytes
				dealt++
			}
			if len(shard) == 0 {
				t.Fatal("a shard without a block")
			}
			least, most = min(least, sum), max(most, sum)
		}
		if dealt != len(blocks) || most-least > largest {
			t.Fatalf("dealt %d of %d blocks, sizes %d to %d with blocks up to %d", dealt, len(blocks), least, most, largest)
		}
	})
}

func TestAnotherSeedDealsOtherwise(t *testing.T) {
	var blocks []blockRef
	for i := range 100 {
		blocks = append(blocks, blockRef{0, i, 10})
	}
	a, _ := assignBlocks(blocks, 4, 1)
	b, _ := assignBlocks(blocks, 4, 1)
	c, _ := assignBlocks(blocks, 4, 2)
	if !cmp.Equal(a, b) {
		t.Error("the same seed gave two plans")
	}
	if cmp.Equal(a, c) {
		t.Error("two seeds gave the same plan")
	}
}

// The plan is part of the format: these values must never change.
func TestThePlanIsPinned(t *testing.T) {
	var blocks []blockRef
	for i := range 12 {
		blocks = append(blocks, blockRef{i / 4, i % 4, int64(50 + i)})
	}
	shards, err := assignBlocks(blocks, 3, 12345)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]int
	for _, s := range shards {
		var ids []int
		for _, b := range s {
			ids = append(ids, b.File*4+b.Block)
		}
		got = append(got, ids)
	}
	if diff := cmp.Diff(pinnedPlan, got); diff != "" {
		t.Error(diff)
	}
}

func TestMoreShardsThanBlocksAreRefusedWithTheMaximum(t *testing.T) {
	_, err := assignBlocks([]blockRef{{0, 0, 1}, {0, 1, 1}, {0, 2, 1}}, 4, 1)
	var many *TooManyShardsError
	if !errors.As(err, &many) || many.Blocks != 3 {
		t.Errorf("got %v", err)
	}
}

func TestTheHeldOutShareIsTheFractionAndStable(t *testing.T) {
	s := Split{Fraction: 0.1, Seed: 7}
	const n = 100_000
	held := 0
	for i := range n {
		if s.HeldOut(fmt.Sprintf("enwiki:%d", i)) {
			held++
		}
	}
	if sigma := math.Sqrt(n * 0.1 * 0.9); math.Abs(float64(held)-0.1*n) > 4*sigma {
		t.Errorf("got %d of %d held out, want about %d", held, n, n/10)
	}
	// SHA-256("7\x00enwiki:12") begins with the bytes that decide.
	for id, want := range pinnedHeldOut {
		if got := s.HeldOut(id); got != want {
			t.Errorf("%s: got %v, want %v: the split is part of the format", id, got, want)
		}
	}
	// A larger fraction holds out all that a smaller one does.
	larger := Split{Fraction: 0.3, Seed: 7}
	for i := range 1000 {
		id := fmt.Sprint(i)
		if s.HeldOut(id) && !larger.HeldOut(id) {
			t.Fatalf("%s is held out at 0.1 but not at 0.3", id)
		}
	}
	if (Split{Seed: 7}).HeldOut("x") {
		t.Error("fraction 0 held a document out")
	}
}

func TestNamesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := ShardName{Count: rapid.IntRange(1, 2_000_000).Draw(t, "count")}
		n.Index = rapid.IntRange(0, n.Count-1).Draw(t, "index")
		n.Split = rapid.SampledFrom([]string{Train, Eval}).Draw(t, "split")
		n.Bin = rapid.IntRange(0, 70000).Draw(t, "bin")
		for _, name := range []string{n.Records(false), n.Records(true), n.IndexFile(), n.SideCar(), n.String()} {
			got, ok := ParseShardName(name)
			if !ok || got != n {
				t.Fatalf("%s: got %v, %v", name, got, ok)
			}
		}
	})
	for _, name := range []string{"train-1-of-2.tfrecord", "test-00000-of-00001.tfrecord", "train-00002-of-00002.tfrecord", "manifest.json", "train-00000-of-00001-x", ".tmp-1",
		"train_-00000-of-00001.idx", "train_0-00000-of-00001.idx", "train_064-00000-of-00001.idx", "train_-8-00000-of-00001.idx", "train_8_8-00000-of-00001.idx", "train_x-00000-of-00001.idx"} {
		if n, ok := ParseShardName(name); ok {
			t.Errorf("%s: taken for %v", name, n)
		}
	}
}

func TestSeedsOfTheTwoSidesNeverMeet(t *testing.T) {
	seen := map[int64]bool{}
	for _, split := range []string{Train, Eval} {
		for i := range 1000 {
			seed := ShardName{Split: split, Index: i, Count: 1000}.Seed(12345)
			if seen[seed] {
				t.Fatalf("seed %d twice", seed)
			}
			seen[seed] = true
		}
	}
	if got := (ShardName{Split: Eval, Index: 3, Count: 10}).Seed(12345); got != 12345+3+1<<32 {
		t.Errorf("got %d", got)
	}
}

func TestAManifestReadsBackAndIsHeldAgainstItsFingerprint(t *testing.T) {
	ctx := context.Background()
	folder, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(ctx, folder); !errors.Is(err, ErrUnfinished) {
		t.Errorf("empty folder: got %v", err)
	}
	m := Manifest{Recipe: Recipe{FormatVersion: FormatVersion, Stage: "extract", Algorithm: 1, Options: json.RawMessage(`{"a":"<&>","b":[1,2]}`),
		Inputs: []Input{{"dump.xml.bz2", 3, Hash([]byte("abc"))}}}, Counts: Counts{counts.KeyOf("documents"): 2},
		Files: []FileEntry{{Name: "x", Bytes: 3, SHA256: Hash([]byte("abc")), Counts: Counts{counts.KeyOf("documents"): 2}}}}
	m.Fingerprint = m.Recipe.Fingerprint()
	if err := store.WriteFile(ctx, folder, ManifestName, Marshal(m)); err != nil {
		t.Fatal(err)
	}
	got, err := ReadManifest(ctx, folder)
	if err != nil {
		t.Fatal(err)
	}
	if string(Marshal(got)) != string(Marshal(m)) {
		t.Errorf("got %s, want %s", Marshal(got), Marshal(m))
	}
	for what, change := range map[string]func(*Manifest){
		"options": func(m *Manifest) { m.Options = json.RawMessage(`{"a":"x"}`) },
		"inputs":  func(m *Manifest) { m.Inputs = []Input{{"other", 3, m.Inputs[0].SHA256}} },
		"version": func(m *Manifest) { m.FormatVersion = 99 },
	} {
		edited := m
		change(&edited)
		store.WriteFile(ctx, folder, ManifestName, Marshal(edited))
		if _, err := ReadManifest(ctx, folder); !errors.Is(err, ErrFormat) {
			t.Errorf("%s edited: got %v", what, err)
		}
	}
	store.WriteFile(ctx, folder, ManifestName, []byte("{"))
	if _, err := ReadManifest(ctx, folder); !errors.Is(err, ErrFormat) {
		t.Errorf("half a manifest: got %v", err)
	}
}

func TestAFileIsProvedBySizeAndHash(t *testing.T) {
	ctx := context.Background()
	folder, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store.WriteFile(ctx, folder, "data", []byte("abc"))
	car := SideCar{FormatVersion: FormatVersion, Fingerprint: "f", File: FileEntry{Name: "data", Bytes: 3, SHA256: Hash([]byte("abc"))}}
	store.WriteFile(ctx, folder, "data.json", Compact(car))
	if _, _, ok, err := Proved(ctx, folder, "data.json", "f"); !ok || err != nil {
		t.Errorf("whole: got %v, %v", ok, err)
	}
	if _, _, ok, _ := Proved(ctx, folder, "data.json", "other"); ok {
		t.Error("a side-car of another plan proved a file")
	}
	if _, _, ok, err := Proved(ctx, folder, "none.json", "f"); ok || err != nil {
		t.Errorf("no side-car: got %v, %v", ok, err)
	}
	for _, content := range []string{"abd", "ab", "abcd"} {
		store.WriteFile(ctx, folder, "data", []byte(content))
		if _, _, ok, err := Proved(ctx, folder, "data.json", "f"); ok || err != nil {
			t.Errorf("content %q: got %v, %v", content, ok, err)
		}
		if p, err := car.File.Check(ctx, folder); p == nil || err != nil {
			t.Errorf("content %q: Check found nothing (%v)", content, err)
		}
	}
	folder.Remove(ctx, "data")
	if _, _, ok, err := Proved(ctx, folder, "data.json", "f"); ok || err != nil {
		t.Errorf("file gone: got %v, %v", ok, err)
	}
	if _, err := folder.Stat(ctx, "data"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestDefaultShardsFollowTheText(t *testing.T) {
	for bytes, want := range map[int64]int{0: 1, 1: 1, 4 << 20: 1, 4<<20 + 1: 2, 60e6: 15, 13e9: 3100, 16 << 30: 4096, 64 << 30: 4096, 64<<30 + 1: 4097, 750e9: 44704} {
		if got := DefaultShards(bytes); got != want {
			t.Errorf("%d bytes: got %d, want %d", bytes, got, want)
		}
	}
}

// Whatever stands in the JSON files of a folder, readers do not fail but by
// error, and what they accept is written back as the same value.
func FuzzReadManifest(f *testing.F) {
	m := Manifest{Recipe: Recipe{FormatVersion: FormatVersion, Stage: "vocab", Options: json.RawMessage(`{}`)}, Counts: Counts{counts.KeyOf("a"): 1}}
	m.Fingerprint = m.Recipe.Fingerprint()
	f.Add(Marshal(m))
	f.Add(Compact(SideCar{FormatVersion: FormatVersion, File: FileEntry{Name: "x"}}))
	f.Add([]byte(`{"format_version":1,"options":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx := context.Background()
		folder, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{ManifestName, PlanName, "car.json"} {
			if err := store.WriteFile(ctx, folder, name, raw); err != nil {
				t.Fatal(err)
			}
		}
		ReadPlan(ctx, folder)
		ReadSideCar(ctx, folder, "car.json")
		m, err := ReadManifest(ctx, folder)
		if err != nil {
			return
		}
		if err := store.WriteFile(ctx, folder, ManifestName, Marshal(m)); err != nil {
			t.Fatal(err)
		}
		again, err := ReadManifest(ctx, folder)
		if err != nil || string(Marshal(again)) != string(Marshal(m)) {
			t.Fatalf("%s\nreads back as\n%s (%v)", Marshal(m), Marshal(again), err)
		}
	})
}

// The format version counts wherever it is in the file.
func TestTheVersionIsFoundAnywhere(t *testing.T) {
	for raw, want := range map[string]int{
		`{"format_version":3,"stage":"x"}`:   3,
		`{ "stage":"x","format_version":4 }`: 4,
		`{"stage":"x"}`:                      0,
		`{"format_version":null}`:            0,
		`{}`:                                 0,
	} {
		if got, err := versionOf([]byte(raw)); got != want || err != nil {
			t.Errorf("%s: %d, %v", raw, got, err)
		}
	}
	for _, raw := range []string{``, `3`, `[]`, `{"format_version":"3"}`, `{"stage":"x","format_version":4`} {
		if got, err := versionOf([]byte(raw)); err == nil {
			t.Errorf("%s: %d and no error", raw, got)
		}
	}
}
