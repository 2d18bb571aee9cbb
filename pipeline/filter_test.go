package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/dedup"
	"pretext/internal/store"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// jsonLines writes documents as JSON lines.
func jsonLines(t *testing.T, dir, name string, docs []extract.Document) string {
	t.Helper()
	var b []byte
	for _, d := range docs {
		b = d.AppendJSON(b)
	}
	return writeFile(t, dir, name, b)
}

// someDocuments are prose, with copies, near copies and rubbish among it: every
// fifth of 10 is a copy of the first of them with other marks, every sixth
// nearly one of the second, and the seventh is short.
func someDocuments(n int) (docs []extract.Document) {
	r := rand.New(rand.NewPCG(1, 2))
	prose := func(seed int) string {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		var b strings.Builder
		for range 40 {
			fmt.Fprintf(&b, "The river %d of the town %d runs to the sea, and %d boats go with it. ", r.IntN(1000), r.IntN(1000), r.IntN(1000))
		}
		return strings.TrimSpace(b.String())
	}
	for i := range n {
		text := prose(i)
		switch base := i - i%10; i % 10 {
		case 4:
			text = strings.ToUpper(strings.ReplaceAll(prose(base), ". ", "!\n"))
		case 5:
			text = strings.Replace(prose(base+1), "boats", "ships", 1+r.IntN(2))
		case 6:
			text = fmt.Sprint("Short text number ", i)
		}
		docs = append(docs, extract.Document{ID: fmt.Sprint("doc:", i), Text: text, Source: "some", Lang: "en"})
	}
	return docs
}

// documentsFolder makes a documents folder of ours of documents.
func documentsFolder(t *testing.T, docs []extract.Document) string {
	t.Helper()
	dir := t.TempDir()
	var sources []Source
	for i, half := range [][]extract.Document{docs[:len(docs)/2], docs[len(docs)/2:]} {
		sources = append(sources, Source{kindJSONL, jsonLines(t, dir, fmt.Sprintf("part%d.jsonl", i), half)})
	}
	out := filepath.Join(dir, "documents")
	if _, err := Extract(context.Background(), testRunner, ExtractConfig{Target: stage.Target{Out: out}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: sources}); err != nil {
		t.Fatal(err)
	}
	return out
}

func filterConfig(documents, out string) FilterConfig {
	return FilterConfig{Reading: Reading{Extract: DefaultExtractOptions()}, Config: filter.Config{Target: stage.Target{Out: out, Memory: 1e9}, Documents: []string{documents}, Filter: filter.Options{Dedup: filter.DedupMinHash, Nearly: &dedup.Options{Threshold: 0.8}}}}
}

func withRules(c FilterConfig) FilterConfig {
	c.Filter.Limits = map[string]float64{"min-words": 20, "max-curly-brackets": 0}
	return c
}

func runFilter(t *testing.T, r stage.Runner, c FilterConfig) *sharding.Manifest {
	t.Helper()
	m, err := Filter(context.Background(), r, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A rejectLine is a line of a list of rejects, as docs/file-format.md describes it.
type rejectLine struct {
	ID         string   `json:"id"`
	Reason     string   `json:"reason"`
	Value      *float64 `json:"value"`
	Of         string   `json:"of"`
	Similarity float32  `json:"similarity"`
	Share      float32  `json:"share"`
}

// readRejects returns the lines of all lists of rejects, by ID.
func readRejects(t *testing.T, dir string) map[string]rejectLine {
	t.Helper()
	all := map[string]rejectLine{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.rejects"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no lists of rejects: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var r rejectLine
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			all[r.ID] = r
		}
	}
	return all
}

// readDocuments returns the documents of a folder in order.
func readDocuments(t *testing.T, dir string) (docs []extract.Document) {
	t.Helper()
	inputs, err := sharding.OpenDocuments(context.Background(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var l sharding.BlockList
	for _, f := range inputs[0].Files {
		l = append(l, sharding.FileBlocks{Name: f.Name, Blocks: f.Blocks})
	}
	for d, err := range l.Documents(context.Background(), []string{dir}, func(int64) {}) {
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, *d)
	}
	return docs
}

func TestEveryRejectHasItsReason(t *testing.T) {
	docs := someDocuments(200)
	out := t.TempDir()
	m := runFilter(t, testRunner, withRules(filterConfig(documentsFolder(t, docs), out)))
	rejects := readRejects(t, out)
	var want []extract.Document
	for i, d := range docs {
		got, base := rejects[d.ID], i-i%10
		switch i % 10 {
		case 4:
			if got.Reason != "duplicate" || got.Of != docs[base].ID || got.Similarity != 0 {
				t.Errorf("%s, a copy: got %+v", d.ID, got)
			}
		case 5:
			if got.Reason != "near-duplicate" || got.Of != docs[base+1].ID || got.Similarity < 0.8 || got.Similarity >= 1 {
				t.Errorf("%s, nearly a copy: got %+v", d.ID, got)
			}
		case 6:
			if got.Reason != "min-words" || got.Value == nil || *got.Value != 4 {
				t.Errorf("%s, short: got %+v", d.ID, got)
			}
		default:
			want = append(want, d)
		}
	}
	if diff := cmp.Diff(want, readDocuments(t, out)); diff != "" {
		t.Error(diff)
	}
	c := m.Counts
	if c[counts.KeyOf("read")] != 200 || c[counts.KeyOf("read")] != c[counts.KeyOf("documents")]+c[counts.KeyOf("reject.duplicate")]+c[counts.KeyOf("reject.near-duplicate")]+c[counts.KeyOf("reject.min-words")] || c[counts.KeyOf("reject.duplicate")] != 20 {
		t.Errorf("counts do not add up: %v", c)
	}
	if v := verify(t, out); !v.OK() || v.Documents != c[counts.KeyOf("documents")] || len(v.Folders) != 3 {
		t.Errorf("verification: %+v", v)
	}
}

func TestFilteredBytesDoNotDependOnWorkersRunnerOrMemory(t *testing.T) {
	documents := documentsFolder(t, withLines(someDocuments(300)))
	c := withRules(filterConfig(documents, t.TempDir()))
	c.Filter.LineDocuments = 20
	runFilter(t, testRunner, c)
	want := tree(t, c.Out)
	for _, test := range []struct {
		stage.Runner
		memory int64
	}{{stage.Runner{Workers: 1}, 400e6}, {stage.Runner{Workers: 5}, 2e9}, {stage.Runner{Workers: 1}, 1e9}} {
		c.Out, c.Memory = t.TempDir(), test.memory
		runFilter(t, test.Runner, c)
		if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
			t.Errorf("%+v: %s", test, diff)
		}
	}
}

func TestAFilterGoesOnWhereItWasCut(t *testing.T) {
	documents := documentsFolder(t, withLines(someDocuments(300)))
	c := withRules(filterConfig(documents, t.TempDir()))
	c.Filter.LineDocuments = 20
	runFilter(t, testRunner, c)
	want := tree(t, c.Out)
	for _, name := range []string{"lines", "signatures", "pairs", "filter"} {
		again := c
		again.Out = t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		r := testRunner
		r.Watch = func(m *stage.Meter) func() {
			if m.Stage == name {
				cancel()
			}
			return func() {}
		}
		if _, err := Filter(ctx, r, again); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: got %v, want a cancelled run", name, err)
		}
		if _, err := os.Stat(filepath.Join(again.Out, sharding.ManifestName)); err == nil {
			t.Errorf("%s: a cancelled run has a manifest", name)
		}
		runFilter(t, testRunner, again)
		if diff := cmp.Diff(want, tree(t, again.Out)); diff != "" {
			t.Errorf("cut in %s: %s", name, diff)
		}
	}
	for _, name := range []string{"manifest.json", "documents-part0-00000.rejects", "documents-part1-00000.jsonl.zst", "lines/lines-00000.bin", "lines/lines-repeated.bin", "lines/manifest.json", "signatures/signatures-00000.bin",
		"signatures/candidates-00000.bin", "signatures/manifest.json", "pairs/similar-00000.bin", "pairs/decisions-00001.bin", "pairs/manifest.json"} {
		path := filepath.Join(c.Out, name)
		if b, err := os.ReadFile(path); err != nil || os.WriteFile(path, b[:len(b)/2], 0o666) != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, sharding.ManifestName) {
			os.Remove(path)
		}
		runFilter(t, testRunner, c)
		if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
			t.Errorf("%s damaged: %s", name, diff)
		}
	}
	for _, name := range []string{sharding.LinesFolder, sharding.SignaturesFolder, sharding.PairsFolder} {
		if err := os.RemoveAll(filepath.Join(c.Out, name)); err != nil {
			t.Fatal(err)
		}
	}
	if v := verify(t, c.Out); !v.OK() {
		t.Errorf("without the folders of the search: %v", v.Problems)
	}
}

func TestAFilterOfOtherOptionsIsRefused(t *testing.T) {
	c := filterConfig(documentsFolder(t, someDocuments(100)), t.TempDir())
	runFilter(t, testRunner, c)
	want := tree(t, c.Out)
	_, err := Filter(context.Background(), testRunner, withRules(c))
	var other *stage.OptionsError
	if !errors.As(err, &other) || !strings.Contains(err.Error(), "limits.min-words was not set, now 20") || !strings.Contains(err.Error(), c.Out) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(want, tree(t, c.Out)); diff != "" {
		t.Errorf("a refused run changed the folder: %s", diff)
	}
	c.Overwrite, c.Filter.Dedup = true, filter.DedupExact
	runFilter(t, testRunner, c)
	if v := verify(t, c.Out); !v.OK() {
		t.Errorf("after --overwrite: %v", v.Problems)
	}
	fresh := c
	fresh.Out = t.TempDir()
	runFilter(t, testRunner, fresh)
	if diff := cmp.Diff(tree(t, fresh.Out), tree(t, c.Out)); diff != "" {
		t.Errorf("an overwritten folder differs from a fresh one: %s", diff)
	}
}

func TestJSONLinesOfOthersAreFiltered(t *testing.T) {
	docs := someDocuments(100)
	path := jsonLines(t, t.TempDir(), "theirs.jsonl", docs)
	out, same := t.TempDir(), t.TempDir()
	runFilter(t, testRunner, filterConfig(path, out))
	runFilter(t, testRunner, filterConfig(documentsFolder(t, docs), same))
	if diff := cmp.Diff(readRejects(t, same), readRejects(t, out)); diff != "" {
		t.Error(diff)
	}
}

func TestARunWithAFilterMakesExamplesOfWhatIsLeft(t *testing.T) {
	c := config(t, t.TempDir())
	c.Sources = append(c.Sources, c.Sources[0]) // the wiki twice
	c.Filter = filter.Options{Dedup: filter.DedupExact}
	stages := run(t, testRunner, c)
	if len(stages) != 4 || stages[1].Stage != "filter" {
		t.Fatalf("stages: %+v", stages)
	}
	extracted, filtered, examples := stages[0].Counts, stages[1].Counts, stages[3].Counts
	if filtered[counts.KeyOf("reject.duplicate")] == 0 || filtered[counts.KeyOf("read")] != extracted[counts.KeyOf("documents")] || filtered[counts.KeyOf("documents")] != examples[counts.KeyOf("documents")] {
		t.Errorf("extracted %v, filtered %v, examples %v", extracted, filtered, examples)
	}
	if v := verify(t, c.Out); !v.OK() || len(v.Folders) != 5 {
		t.Errorf("verification: %+v", v)
	}
	c.Filter.Dedup = "simhash"
	if _, err := Run(context.Background(), testRunner, c); err == nil || !strings.Contains(err.Error(), `dedup "simhash"`) {
		t.Errorf("got %v", err)
	}
}

func TestARunMadeAnewWithoutItsFilterKeepsNothingOfIt(t *testing.T) {
	c := config(t, t.TempDir())
	c.Filter = filter.Options{Dedup: filter.DedupMinHash}
	run(t, testRunner, c)
	c.Filter, c.Overwrite = filter.Options{}, true
	run(t, testRunner, c)
	for name := range tree(t, filepath.Join(c.Out, filteredFolder)) {
		t.Errorf("%s is still there", name)
	}
	if v := verify(t, c.Out); !v.OK() || len(v.Folders) != 3 {
		t.Errorf("verification: %+v", v)
	}
}

func TestTwoFoldersWithFilesOfOneName(t *testing.T) {
	a, b := documentsFolder(t, someDocuments(60)), documentsFolder(t, someDocuments(60))
	c := filterConfig(a, t.TempDir())
	c.Documents, c.Filter = []string{a, b}, filter.Options{Dedup: filter.DedupExact}
	m := runFilter(t, testRunner, c)
	if m.Counts[counts.KeyOf("read")] != 120 || m.Counts[counts.KeyOf("documents")] != 54 {
		t.Errorf("got %v", m.Counts)
	}
	if v := verify(t, c.Out); !v.OK() {
		t.Error(v.Problems)
	}
}

func TestAFilterThatLeavesNothingSaysSo(t *testing.T) {
	c := filterConfig(documentsFolder(t, someDocuments(20)), t.TempDir())
	c.Filter = filter.Options{}
	c.Filter.Limits = map[string]float64{"min-words": 1e6}
	if _, err := Filter(context.Background(), testRunner, c); !errors.Is(err, sharding.ErrNoDocuments) || !strings.Contains(err.Error(), "20 min-words") {
		t.Errorf("got %v", err)
	}
	c.Filter = filter.Options{}
	var config interface{ Usage() bool }
	if _, err := Filter(context.Background(), testRunner, c); !errors.As(err, &config) {
		t.Errorf("nothing to filter by: got %v", err)
	}
	c = filterConfig(c.Documents[0], t.TempDir())
	c.Memory = 100e6
	var memory *stage.MemoryError
	if _, err := Filter(context.Background(), testRunner, c); !errors.As(err, &memory) {
		t.Errorf("little memory: got %v", err)
	}
}

// A filter whose documents have no candidates has no pairs to compare.
func TestWithoutCandidatesNothingIsCompared(t *testing.T) {
	docs := someDocuments(4)
	c := filterConfig(documentsFolder(t, docs), t.TempDir())
	if m := runFilter(t, testRunner, c); m.Counts[counts.KeyOf("documents")] != 4 {
		t.Errorf("got %v", m.Counts)
	}
	folder, err := store.Open(filepath.Join(c.Out, sharding.PairsFolder))
	if err != nil {
		t.Fatal(err)
	}
	if m, err := sharding.ReadManifest(context.Background(), folder); err != nil || m.Counts[counts.KeyOf("compared")] != 0 {
		t.Errorf("got %v, %v", m, err)
	}
}
