package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/sharding/export"
	dataset "pretext/sharding/verify"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/records/pretrain"
	"pretext/sharding"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // thousands of small runs: collecting garbage took half of their time
	}
	stage.Init(os.Args[1:])
	os.Exit(m.Run())
}

// dump returns a small wiki as plain XML.
func dump(pages int) []byte {
	var b strings.Builder
	b.WriteString(`<mediawiki xml:lang="en"><siteinfo><sitename>T</sitename><dbname>testwiki</dbname><namespaces><namespace key="0" /><namespace key="1">Talk</namespace></namespaces></siteinfo>` + "\n")
	for i := range pages {
		fmt.Fprintf(&b, "<page><title>Page %d</title><ns>%d</ns><id>%d</id><revision><id>1</id><text>", i, i%7/6, i+1)
		for j := range 5 + i%9 {
			fmt.Fprintf(&b, "The '''river''' number %d of [[valley|valleys]] %d runs to the sea. It carries %d boats, Mr. Smith said.\n\n", j, i, i*j)
		}
		b.WriteString("</text></revision></page>\n")
	}
	b.WriteString("</mediawiki>\n")
	return []byte(b.String())
}

// write makes a file in a folder of the test.
func writeFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

var testRunner = stage.Runner{Name: "direct", Workers: 2}

// config returns a run over a wiki and a book, small enough for many runs.
func config(t *testing.T, out string) RunConfig {
	t.Helper()
	dir := t.TempDir()
	c := RunConfig{Target: stage.Target{Out: out, Memory: 600e6}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, VocabSize: 300, Examples: sharding.DefaultExamplesOptions()}
	c.Examples.MaxSeqLength, c.Examples.DupeFactor, c.Examples.Shards, c.Examples.Fraction = 32, 2, 3, 0.2
	c.Sources = []Source{
		{KindWiki, writeFile(t, dir, "test.xml", dump(200))},
		{KindBooks, writeFile(t, dir, "book.txt", []byte(strings.Repeat("A short book has a few words. It ends soon.\n\n", 300)))},
	}
	return c
}

// tree returns the hash of every file below a folder, except files that do not
// depend on the input alone.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == sharding.RunName {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		sum := sha256.Sum256(b)
		sums[rel] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func run(t *testing.T, r stage.Runner, c RunConfig) []StageSummary {
	t.Helper()
	stages, err := Run(context.Background(), r, c)
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// verify verifies a data set, and that its stages declare all counts of the manifests.
func verify(t *testing.T, path string) *dataset.Result {
	t.Helper()
	onlyDeclaredCounts(t, path)
	v, err := dataset.Dataset(context.Background(), path, dataset.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func onlyDeclaredCounts(t *testing.T, path string) {
	t.Helper()
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != sharding.ManifestName {
			return err
		}
		folder, err := store.Open(filepath.Dir(path))
		if err != nil {
			return err
		}
		m, err := sharding.ReadManifest(t.Context(), folder)
		if err != nil {
			return nil // verify reports it
		}
		for key := range m.Counts.All() {
			declared := func(k counts.Count) bool { return k.Has(key) }
			if !slices.ContainsFunc(counts.OfStage(m.Stage), declared) {
				t.Errorf("%s: stage %s does not declare the count %s", path, m.Stage, key)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBytesDoNotDependOnWorkersOrRunner(t *testing.T) {
	c := config(t, filepath.Join(t.TempDir(), "first"))
	run(t, testRunner, c)
	want := tree(t, c.Out)
	if len(want) < 20 {
		t.Fatalf("only %d files were made", len(want))
	}
	for _, r := range []stage.Runner{{Name: "direct", Workers: 1}, {Name: "direct", Workers: 7}} {
		t.Run(fmt.Sprint(r.Name, r.Workers), func(t *testing.T) {
			c := c
			c.Out = filepath.Join(t.TempDir(), "other")
			run(t, r, c)
			if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// recipeOptions returns options of each recipe with short records, so that texts
// are cut.
func recipeOptions() map[string]sharding.ExamplesOptions {
	all := map[string]sharding.ExamplesOptions{}
	for _, recipe := range pretrain.RecipeNames(nil) {
		o := sharding.RecipeOptions(recipe)
		o.Shards, o.Fraction, o.MaxSeqLength = 5, 0.3, 64
		all[recipe] = o
	}
	o := all["mlm"]
	o.CrossDocuments, o.SpanMask, o.DupeFactor, o.ShortSeqProb = true, true, 2, 0.2
	o.Replace = &pretrain.Replacement{MaskTokenProb: 1}
	all["mlm with all options"] = o
	o = all["google"]
	o.NSPNegatives = pretrain.NegativesCorpus
	all["google with negatives of the corpus"] = o
	return all
}

func TestBytesOfRecipesDoNotDependOnWorkersOrRunner(t *testing.T) {
	ctx := context.Background()
	c := config(t, filepath.Join(t.TempDir(), "run"))
	run(t, testRunner, c)
	for name, o := range recipeOptions() {
		t.Run(name, func(t *testing.T) {
			var first map[string]string
			for _, r := range []stage.Runner{{Name: "direct", Workers: 1}, {Name: "direct", Workers: 7}} {
				out := filepath.Join(t.TempDir(), "out")
				_, err := Examples(ctx, r, ExamplesConfig{Target: stage.Target{Memory: 900e6, Out: out}, Reading: Reading{Extract: DefaultExtractOptions()},
					TokenFile: TokenFile{Vocab: filepath.Join(c.Out, VocabFolder, sharding.VocabName)}, Documents: []string{filepath.Join(c.Out, sharding.DocumentsFolder)}, Examples: o})
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = tree(t, out)
					if v := verify(t, out); !v.OK() || v.Records == 0 {
						t.Fatalf("%d records, problems: %v", v.Records, v.Problems)
					}
				}
				if diff := cmp.Diff(first, tree(t, out)); diff != "" {
					t.Errorf("%s with %d workers: %s", r.Name, r.Workers, diff)
				}
			}
		})
	}
}

func TestARunIsVerifiedAndItsCountsAddUp(t *testing.T) {
	c := config(t, t.TempDir())
	stages := run(t, testRunner, c)
	v := verify(t, c.Out)
	if !v.OK() {
		t.Fatalf("problems: %v", v.Problems)
	}
	extracted, examples := stages[0].Counts, stages[2].Counts
	if pages := extracted[counts.KeyOf("pages")]; pages != 200 || pages+extracted[counts.KeyOf("files")] != extracted[counts.KeyOf("documents")]+extracted[counts.KeyOf("reject.namespace")] {
		t.Errorf("pages and books do not add up: %v", extracted)
	}
	if extracted[counts.KeyOf("documents")] != examples[counts.KeyOf("documents")] || examples[counts.KeyOf("documents")] != v.Documents {
		t.Errorf("documents: %d extracted, %d used, %d verified", extracted[counts.KeyOf("documents")], examples[counts.KeyOf("documents")], v.Documents)
	}
	if v.Records == 0 || v.Records != examples[counts.KeyOf("records")] {
		t.Errorf("records: %d made, %d verified", examples[counts.KeyOf("records")], v.Records)
	}
}

func TestExportedTextMakesTheSameRecords(t *testing.T) {
	ctx := context.Background()
	c := config(t, t.TempDir())
	run(t, testRunner, c)
	shards, text := filepath.Join(c.Out, sharding.ShardsFolder), filepath.Join(t.TempDir(), "text")
	files, err := export.Text(ctx, export.Config{Shards: shards, Out: text})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 6 {
		t.Fatalf("got %d files, want 3 shards of 2 sides", len(files))
	}
	for _, f := range files {
		o := c.Examples
		o.Shards, o.Fraction, o.RandomSeed, o.SentenceSplitter = 1, 0, f.RandomSeed, "newline"
		again := t.TempDir()
		_, err := Examples(ctx, testRunner, ExamplesConfig{Target: stage.Target{Memory: 600e6, Out: again}, Reading: Reading{Extract: DefaultExtractOptions()}, TokenFile: TokenFile{Vocab: filepath.Join(shards, sharding.VocabName)}, Texts: []string{filepath.Join(text, f.Name)}, Examples: o})
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(again, "train-00000-of-00001.tfrecord"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(shards, strings.TrimSuffix(f.Name, ".txt")+sharding.RecordSuffix))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) || len(want) == 0 {
			t.Errorf("%s: %d bytes of records, want the %d of the shard", f.Name, len(got), len(want))
		}
	}
}

func TestARerunDoesOnlyWhatIsNotProved(t *testing.T) {
	c := config(t, t.TempDir())
	run(t, testRunner, c)
	want := tree(t, c.Out)
	shards := filepath.Join(c.Out, sharding.ShardsFolder)
	for name, damage := range map[string]func(path string) error{
		"train-00001-of-00003.tfrecord": os.Remove,
		"train-00002-of-00003.json":     os.Remove,
		"eval-00001-of-00003.tfrecord":  func(p string) error { return os.Truncate(p, 10) },
		sharding.ManifestName:           os.Remove,
		"eval-00002-of-00003.idx":       os.Remove,
	} {
		if err := damage(filepath.Join(shards, name)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, shards, store.TempPrefix+"left", []byte("half a file"))
	made := map[string]bool{}
	for _, p := range record(t, c.Out, func() error { run(t, testRunner, c); return nil }) {
		if p.step == store.StepCreate {
			made[filepath.Base(p.path)] = true
		}
	}
	if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
		t.Error(diff)
	}
	if kept, damaged := "train-00000-of-00003.tfrecord", "train-00001-of-00003.tfrecord"; made[kept] || !made[damaged] {
		t.Errorf("made again: %v, want %s, which was removed, and not %s, which was proved", made, damaged, kept)
	}
}

func TestOtherOptionsAreRefusedWithWhatDiffers(t *testing.T) {
	ctx := context.Background()
	c := config(t, t.TempDir())
	run(t, testRunner, c)
	want := tree(t, c.Out)
	c.Examples.DupeFactor = 3
	_, err := Run(ctx, testRunner, c)
	var other *stage.OptionsError
	if !errors.As(err, &other) || !strings.Contains(err.Error(), "dupe_factor was 2, now 3") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
		t.Errorf("a refused run changed the folder: %s", diff)
	}
	c.Overwrite = true
	run(t, testRunner, c)
	if v := verify(t, c.Out); !v.OK() {
		t.Errorf("after --overwrite: %v", v.Problems)
	}
}

func TestASecondRunInTheFolderIsRefused(t *testing.T) {
	c := config(t, t.TempDir())
	folder, err := store.Open(filepath.Join(c.Out, sharding.DocumentsFolder))
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := store.Lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := Run(context.Background(), testRunner, c); !errors.Is(err, store.ErrLocked) {
		t.Errorf("got %v", err)
	}
}

// A worker of an old plan, which was considered dead, must not write to the
// directory of a new plan.
func TestAStaleWorkerIsFenced(t *testing.T) {
	ctx := context.Background()
	c := config(t, t.TempDir())
	run(t, testRunner, c)
	shards := filepath.Join(c.Out, sharding.ShardsFolder)
	folder, _ := store.Open(shards)
	plan, err := sharding.ReadPlan(ctx, folder)
	if err != nil {
		t.Fatal(err)
	}
	var work examplesWork
	if err := json.Unmarshal(plan.Options, &work.Examples); err != nil {
		t.Fatal(err)
	}
	spec, err := stage.Config{Target: stage.Target{Out: shards}, Stage: "examples", Paths: []string{filepath.Join(c.Out, sharding.DocumentsFolder)}, Work: work}.Spec("0123")
	if err != nil {
		t.Fatal(err)
	}
	want := tree(t, c.Out)
	w, err := spec.Worker()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Do(ctx, 0); !errors.Is(err, stage.ErrFenced) {
		t.Errorf("task: got %v", err)
	}
	if err := w.Finish(ctx, nil); !errors.Is(err, stage.ErrFenced) {
		t.Errorf("manifest: got %v", err)
	}
	if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
		t.Errorf("a fenced worker changed the folder: %s", diff)
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	c := config(t, t.TempDir())
	c.Examples.Fraction = 0
	run(t, testRunner, c)
	shards := filepath.Join(c.Out, sharding.ShardsFolder)
	shard := func(i int) string {
		return filepath.Join(shards, sharding.ShardName{Split: sharding.Train, Index: i, Count: 3}.Records(false))
	}
	edit := func(path string, f func([]byte) []byte) func(t *testing.T) {
		return func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(path, f(b), 0o666)
			t.Cleanup(func() { os.WriteFile(path, b, 0o666) })
		}
	}
	other, err := os.ReadFile(shard(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		break_ func(t *testing.T)
		want   string
	}{
		"flipped bit":     {edit(shard(0), func(b []byte) []byte { c := append([]byte{}, b...); c[len(c)/2] ^= 1; return c }), "corrupt record at byte"},
		"cut at a record": {edit(shard(0), func(b []byte) []byte { return b[:0] }), "bytes long, the manifest says"},
		"swapped":         {edit(shard(0), func([]byte) []byte { return other }), "the manifest says"},
		"missing": {func(t *testing.T) {
			os.Rename(shard(0), shard(0)+".x")
			t.Cleanup(func() { os.Rename(shard(0)+".x", shard(0)) })
		}, "missing"},
		"foreign shard": {func(t *testing.T) {
			p := writeFile(t, shards, "train-00003-of-00004.tfrecord", other)
			t.Cleanup(func() { os.Remove(p) })
		}, "not in the manifest"},
		"edited index":      {edit(filepath.Join(shards, "train-00001-of-00003.idx"), func(b []byte) []byte { return append([]byte("1"), b...) }), "the index says otherwise"},
		"damaged documents": {edit(filepath.Join(c.Out, sharding.DocumentsFolder, "documents-test-00000.jsonl.zst"), func(b []byte) []byte { c := append([]byte{}, b...); c[len(c)/3] ^= 4; return c }), "corrupt documents file at byte"},
		"edited vocabulary": {edit(filepath.Join(shards, sharding.VocabName), func(b []byte) []byte { return b[5:] }), "the manifest says"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.break_(t)
			v := verify(t, c.Out)
			if !strings.Contains(fmt.Sprint(v.Problems), tc.want) {
				t.Errorf("got %v, want a problem with %q", v.Problems, tc.want)
			}
		})
	}
	if v := verify(t, c.Out); !v.OK() {
		t.Errorf("all mended: %v", v.Problems)
	}
	edit(filepath.Join(shards, sharding.ManifestName), func(b []byte) []byte {
		return []byte(strings.Replace(string(b), `"dupe_factor": 2`, `"dupe_factor": 9`, 1))
	})(t)
	if v := verify(t, shards); !strings.Contains(fmt.Sprint(v.Problems), "the fingerprint is not that of the options") {
		t.Errorf("edited manifest: got %v", v.Problems)
	}
}

func TestACancelledRunGoesOn(t *testing.T) {
	c := config(t, t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	r := testRunner
	r.Watch = func(m *stage.Meter) func() {
		if m.Stage == "examples" {
			cancel()
		}
		return func() {}
	}
	if _, err := Run(ctx, r, c); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want a cancelled run", err)
	}
	if _, err := dataset.Dataset(context.Background(), filepath.Join(c.Out, sharding.ShardsFolder), dataset.Options{}); !errors.Is(err, sharding.ErrUnfinished) {
		t.Errorf("cancelled shards: got %v, want an unfinished folder", err)
	}
	for name := range tree(t, c.Out) {
		if strings.HasPrefix(filepath.Base(name), store.TempPrefix) {
			t.Errorf("%s was left", name)
		}
	}
	run(t, r, c)
	if v := verify(t, c.Out); !v.OK() {
		t.Error(v.Problems)
	}
}

func TestMemoryIsCheckedBeforeWork(t *testing.T) {
	c := config(t, t.TempDir())
	c.Memory = 1 << 20
	_, err := Run(context.Background(), testRunner, c)
	var memory *stage.MemoryError
	if !errors.As(err, &memory) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Out, sharding.ShardsFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("work was begun")
	}
}

func TestEqualIDsAreCountedAcrossSources(t *testing.T) {
	dir := t.TempDir()
	a, b := writeFile(t, dir, "a/test.xml", dump(50)), writeFile(t, dir, "b/test.xml", dump(50))
	m, err := Extract(context.Background(), testRunner, ExtractConfig{Target: stage.Target{Out: filepath.Join(dir, "out")}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindWiki, a}, {KindWiki, b}}})
	if err != nil {
		t.Fatal(err)
	}
	if m.Counts[counts.KeyOf("equal_ids")]*2 != m.Counts[counts.KeyOf("documents")] || m.Counts[counts.KeyOf("documents")] == 0 {
		t.Errorf("got %v", m.Counts)
	}
}
