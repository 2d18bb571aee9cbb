package pipeline

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pretext/extract"
	"pretext/extract/download"
	"pretext/internal/democorpus"
	"pretext/internal/dev/realdata"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/consumers"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

// within checks that a number is near another: a plan is accurate to about a
// third.
func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	t.Logf("%s: planned %.4g, in truth %.4g", what, got, want)
	if math.Abs(got/want-1) > share {
		t.Errorf("%s: planned %.4g, want %.4g within %.0f %%", what, got, want, 100*share)
	}
}

// The numbers that MLCommons published of the data of its BERT benchmark.
func TestAPlanOfMLPerfIsNearWhatWasMade(t *testing.T) {
	c := RunConfig{Target: stage.Target{Memory: 600e6}, TokenFile: TokenFile{Vocab: "given"}, Examples: sharding.DefaultExamplesOptions()}
	c.Examples.MaxSeqLength, c.Examples.MaxPredictionsPerSeq, c.Examples.DupeFactor, c.Examples.Shards = 512, 76, 10, 500
	s := PlannedSource{Kind: KindWiki, Files: 1, Bytes: 17_751_214_669}
	s.expect("enwiki-20200101-pages-articles-multistream.xml.bz2")
	within(t, "text", float64(s.TextBytes), 13.3e9, 0.1)
	f := PlanConfig{Run: c, Workers: 1}.foresee(filter.Corpus{TextBytes: s.TextBytes, Documents: s.Documents}, 0)
	within(t, "examples", f.Records, 156_726_829, 0.33)
	within(t, "bytes of shards", float64(f.Disk.Shards), 391_434_110_129, 0.33)
}

func TestAPlanOfLocalSourcesIsNearWhatIsMade(t *testing.T) {
	dir := t.TempDir()
	dump, books := filepath.Join(dir, democorpus.DumpName), filepath.Join(dir, "books")
	if err := errors.Join(os.WriteFile(dump, democorpus.Dump(), 0o666), os.CopyFS(books, democorpus.Books())); err != nil {
		t.Fatal(err)
	}
	c := DemoConfig(filepath.Join(dir, "out"))
	c.Sources = []Source{{KindWiki, dump}, {KindBooks, books}}
	p, err := PlanRun(t.Context(), PlanConfig{Run: c, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.Out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a plan wrote something: %v", err)
	}
	stages, err := Run(t.Context(), stage.Runner{Name: "direct", Workers: 2}, c)
	if err != nil {
		t.Fatal(err)
	}
	within(t, "documents", float64(p.Documents), float64(extract.Documents.Of(stages[0].Counts)), 0.33)
	within(t, "text", float64(p.TextBytes), float64(extract.TextBytes.Of(stages[0].Counts)), 0.4)
	within(t, "examples", float64(p.Records), float64(sharding.Records.Of(stages[2].Counts)), 0.5)
	within(t, "bytes of shards", float64(p.Disk.Shards), float64(stages[2].Bytes), 0.5)
}

// What lies on the disk, and what the stages ask for, of a real dump with copies.
func TestAPlanOfARunWithAFilterIsNearWhatItTakes(t *testing.T) {
	out := t.TempDir()
	c := DemoConfig(out)
	c.Sources = []Source{{KindWiki, realdata.Path(t, "wiki/shintowiki-medium-pages-articles-multistream.xml.bz2")}}
	c.Examples.DupeFactor, c.VocabSize, c.Memory = 1, 3000, 600e6
	c.Filter.Dedup = filter.DedupMinHash
	plan := func(c RunConfig) *Plan {
		p, err := PlanRun(t.Context(), PlanConfig{Run: c, Workers: 2})
		if fit := (*FitError)(nil); err != nil && !errors.As(err, &fit) {
			t.Fatal(err)
		}
		return p
	}
	p := plan(c)
	if _, err := Run(t.Context(), stage.Runner{Name: "direct", Workers: 2}, c); err != nil {
		t.Fatal(err)
	}
	lies := func(folder string) (sum float64) {
		for name := range tree(t, filepath.Join(out, folder)) {
			info, err := os.Stat(filepath.Join(out, folder, name))
			if err != nil {
				t.Fatal(err)
			}
			sum += float64(info.Size())
		}
		return sum
	}
	within(t, "bytes of documents", float64(p.Disk.Documents), lies(sharding.DocumentsFolder), 0.33)
	within(t, "bytes of filtered documents and signatures", float64(p.Disk.Filtered), lies(filteredFolder), 0.33)
	within(t, "bytes of shards", float64(p.Disk.Shards), lies(sharding.ShardsFolder), 0.33)
	within(t, "bytes in all", float64(p.Disk.Peak-p.Disk.Scratch), lies("."), 0.33)
	if c.Filter.Dedup = filter.DedupNone; plan(c).Disk.Filtered != 0 {
		t.Errorf("without a filter: planned %d bytes for it", plan(c).Disk.Filtered)
	}

	small := filterConfig(filepath.Join(out, sharding.DocumentsFolder), filepath.Join(out, "other"))
	small.Filter.Dedup, small.Memory = filter.DedupMinHash, 1
	var refused *stage.MemoryError
	if _, err := Filter(t.Context(), stage.Runner{Name: "direct", Workers: 2}, small); !errors.As(err, &refused) {
		t.Fatalf("got %v, want the filter to say what it needs", err)
	}
	c.Filter.Dedup, c.Examples.Shards = filter.DedupMinHash, 64 // so that no other stage needs more
	within(t, "memory of the filter", float64(plan(c).Memory.Needed), float64(refused.Need), 0.33)
}

func TestAPlanOfManyDocumentsCountsWhatFindingTheirCopiesTakes(t *testing.T) {
	c := RunConfig{Target: stage.Target{Memory: 2e9}, TokenFile: TokenFile{Vocab: "given"}, Examples: sharding.DefaultExamplesOptions()}
	c.Filter.Dedup = filter.DedupMinHash
	const documents = 50e6
	f := PlanConfig{Run: c, Workers: 1}.foresee(filter.Corpus{TextBytes: 100e9, Documents: documents}, 0)
	if at := f.Memory.Needed; at < 9*documents {
		t.Errorf("got %d bytes of memory, want nine for each document", at)
	}
	if extra := f.Disk.Filtered - f.Disk.Documents; extra < 160*documents {
		t.Errorf("got %d bytes of disk beside the documents, want a signature of each", extra)
	}
}

func TestAPlanThatDoesNotFitSaysWhatItLacks(t *testing.T) {
	c := RunConfig{Target: stage.Target{Memory: 100e6, Out: t.TempDir()}, Examples: sharding.DefaultExamplesOptions(), Download: &DownloadConfig{Client: download.DefaultOptions(), Requests: []download.Request{{Kind: download.Wiki, Wiki: "hugewiki", Date: download.Latest, Layout: download.LayoutAuto}}}}
	c.Download.Client.Offline = true
	typical := func(download.Request) (TypicalSize, bool) { return TypicalSize{1e15, "made up"}, true }
	p, err := PlanRun(t.Context(), PlanConfig{Run: c, Workers: 1, Typical: typical})
	var fit *FitError
	if !errors.As(err, &fit) || len(fit.Problems) != 2 {
		t.Fatalf("got %v, want memory and disk to be too small", err)
	}
	if len(p.Notes) != 1 {
		t.Errorf("got notes %q, want one that says that the size is a recorded one", p.Notes)
	}
	none := func(download.Request) (TypicalSize, bool) { return TypicalSize{}, false }
	if _, err := PlanRun(t.Context(), PlanConfig{Run: c, Workers: 1, Typical: none}); !errors.Is(err, download.ErrOffline) {
		t.Errorf("got %v, want to hear that nobody could be asked", err)
	}
}

func TestDatesAreFoundInNamesOfDumps(t *testing.T) {
	for name, want := range map[string]string{
		"simplewiki-2026-08-01-p1p1277745.xml.bz2":     "2026-08-01",
		"enwiki-20260820-pages-articles1.xml-p1p2.bz2": "20260820",
		"bat_smgwiki-2026-08-01.xml.bz2":               "2026-08-01",
		"somewiki.xml.bz2":                             "latest",
	} {
		if got := dateOf(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestThePlanKnowsTheSizeOfWhatConsumersGet(t *testing.T) {
	for _, name := range consumers.Names() {
		consumer, _ := consumers.Get(name)
		c := PlanConfig{For: []string{name}, Run: RunConfig{Examples: sharding.RecipeOptions(consumer.Recipes[0])}}
		if got := c.converted(1e6); (got > 0) != (consumer.Format != "") {
			t.Errorf("%s: %d bytes", name, got)
		}
	}
	// Uncompressed int64 take four times the bytes of the ids in TFRecord.
	wide := PlanConfig{For: []string{"modernbert"}, Run: RunConfig{Examples: sharding.RecipeOptions("pieces")}}
	if got := wide.converted(1e6); got < 4e6 {
		t.Errorf("modernbert: %d bytes for 1 MB of records", got)
	}
}

func TestThePlanKnowsTheSizeOfEveryFormat(t *testing.T) {
	for _, name := range formats.Names() {
		format, _ := formats.Get(name)
		for recipe, form := range map[string]records.Form{"google": records.Pairs, "tokens": records.Tokens} {
			c := PlanConfig{Formats: []string{name}, Run: RunConfig{Examples: sharding.RecipeOptions(recipe)}}
			if got := c.converted(1e6); (got > 0) != columns.Holds(format, form) {
				t.Errorf("%s of %s: %d bytes", name, recipe, got)
			}
		}
	}
}
