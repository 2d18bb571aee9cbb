package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// codesOf returns the codes of all warnings of a run.
func codesOf(stages []StageSummary) (codes []string) {
	for _, s := range stages {
		for _, w := range s.Warnings {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

// warned is a run with a warning in two stages: a vocabulary with lower-casing that
// has capitals, too few predictions, and a source given twice.
func warned(t *testing.T, out string) RunConfig {
	c := config(t, out)
	c.Sources = append(c.Sources, c.Sources[0])
	c.Examples.MaxPredictionsPerSeq = 1
	return c
}

func TestWarningsAreTheSameForAnyRunnerWorkersAndHistory(t *testing.T) {
	want := filepath.Join(t.TempDir(), "run")
	c := warned(t, want)
	stages := run(t, testRunner, c)
	codes := []string{sharding.WarnSameInput, sharding.WarnFewPredictions}
	if got := codesOf(stages); !slices.Equal(got, codes) {
		t.Fatalf("got warnings %v, want %v", got, codes)
	}
	var strict *WarningsError
	if err := CheckWarnings(stages); !errors.As(err, &strict) || len(strict.Codes) != 2 {
		t.Errorf("strict: got %v", err)
	}
	for _, r := range []stage.Runner{{Name: "direct", Workers: 1}, {Name: "direct", Workers: 3}} {
		c.Out = filepath.Join(t.TempDir(), "run")
		run(t, r, c)
		if diff := cmp.Diff(tree(t, want), tree(t, c.Out)); diff != "" {
			t.Errorf("%s with %d workers: %s", r.Name, r.Workers, diff)
		}
		// As after a crash before the manifest, and half way through the tasks.
		for _, name := range []string{"documents/manifest.json", "shards/manifest.json", "shards/train-00001-of-00003.json"} {
			if err := os.Remove(filepath.Join(c.Out, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
		if got := codesOf(run(t, r, c)); !slices.Equal(got, codes) {
			t.Errorf("resumed: got warnings %v, want %v", got, codes)
		}
		if diff := cmp.Diff(tree(t, want), tree(t, c.Out)); diff != "" {
			t.Errorf("resumed: %s", diff)
		}
	}
	if v := verify(t, want); !v.OK() {
		t.Error(v.Problems)
	}
}

// The output of an earlier version has no warnings, and is valid. Warnings that
// do not follow from the files are corrupt.
func TestVerifyDerivesTheWarningsAgain(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	run(t, testRunner, warned(t, out))
	path := filepath.Join(out, sharding.ShardsFolder, sharding.ManifestName)
	for _, test := range []struct {
		change func(*sharding.Manifest)
		ok     bool
	}{
		{func(m *sharding.Manifest) { m.Warnings = nil }, true},
		{func(m *sharding.Manifest) { m.Warnings[0].Count++ }, false},
		{func(m *sharding.Manifest) { m.Warnings[0].Subject = "x" }, false},
		{func(m *sharding.Manifest) { m.Warnings = append(m.Warnings, m.Warnings[0]) }, false},
	} {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var m sharding.Manifest
		if err := json.Unmarshal(whole, &m); err != nil {
			t.Fatal(err)
		}
		test.change(&m)
		writeFile(t, filepath.Dir(path), sharding.ManifestName, sharding.Marshal(m))
		if v := verify(t, out); v.OK() != test.ok || !test.ok && v.Problems[0].File != path {
			t.Errorf("%+v: ok %v, problems %v", m.Warnings, v.OK(), v.Problems)
		}
		writeFile(t, filepath.Dir(path), sharding.ManifestName, whole)
	}
}

// Real data under vocabularies that fit has no warnings; under others it has those
// that a person would want, and no more.
func TestRealDataIsWarnedAboutWhereItIsWrong(t *testing.T) {
	vocab := func(name string) string { return realdata.Path(t, "vocab/bert-base-"+name+"-vocab.txt") }
	wiki := func(name string) Source { return Source{KindWiki, realdata.Path(t, "wiki/"+name+".xml.bz2")} }
	english, greek := wiki("enwiki-small-pages-articles"), wiki("elwikivoyage-medium-pages-articles")
	japanese, chinese := wiki("jawiki-articles-multistream"), wiki("zhwiki-sample")
	cased := func(o *sharding.ExamplesOptions) { o.DoLowerCase = false }
	long := func(predictions int) func(*sharding.ExamplesOptions) {
		return func(o *sharding.ExamplesOptions) { o.MaxSeqLength, o.MaxPredictionsPerSeq = 512, predictions }
	}
	unknown, dir := sharding.WarnUnknownTokens, fastDir(t)
	for _, test := range []struct {
		name   string
		source Source
		vocab  string
		change func(*sharding.ExamplesOptions)
		want   []string
	}{
		{"english", english, vocab("uncased"), nil, nil},
		{"english, cased", english, vocab("cased"), cased, nil},
		{"english, 76 of 512", english, vocab("uncased"), long(76), nil},
		{"greek, own vocabulary", greek, "", func(o *sharding.ExamplesOptions) { o.Fraction = 0.05 }, nil},
		{"books", Source{KindBooks, realdata.Path(t, "books/txt")}, vocab("uncased"), nil, nil},
		{"german, multilingual", wiki("dewiki-20170701-sample"), vocab("multilingual-cased"), cased, nil},
		{"japanese, multilingual", japanese, vocab("multilingual-cased"), cased, nil},
		{"chinese", chinese, vocab("chinese"), nil, nil},

		{"greek, multilingual", greek, vocab("multilingual-cased"), cased, nil},
		{"greek, English vocabulary", greek, vocab("uncased"), nil, []string{sharding.WarnLostMarks, sharding.WarnSpelled}},
		{"greek, cased English vocabulary", greek, vocab("cased"), cased, []string{sharding.WarnSpelled}},
		{"chinese, English vocabulary", chinese, vocab("uncased"), nil, []string{unknown}},
		{"chinese, not lower-cased", chinese, vocab("chinese"), cased, []string{sharding.WarnUncasedVocab, unknown}},
		{"english, not lower-cased", english, vocab("uncased"), cased, []string{sharding.WarnUncasedVocab, unknown}},
		{"english, cased and lower-cased", english, vocab("cased"), nil, []string{sharding.WarnCasedVocab}},
		{"japanese, lower-cased", japanese, vocab("multilingual-cased"), nil, []string{sharding.WarnCasedVocab, sharding.WarnLostMarks}},
		{"english, 20 of 512", english, vocab("uncased"), long(20), []string{sharding.WarnFewPredictions}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := filepath.Join(dir, filepath.Base(test.source.Path)) // a source is extracted once
			c := RunConfig{Target: stage.Target{Memory: 600e6, Out: out, Overwrite: true}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, TokenFile: TokenFile{Vocab: test.vocab}, Sources: []Source{test.source}, VocabSize: 30522, Examples: sharding.DefaultExamplesOptions()}
			c.Examples.DupeFactor = 1
			if test.change != nil {
				test.change(&c.Examples)
			}
			stages, err := Run(context.Background(), testRunner, c)
			if err != nil {
				t.Fatal(err)
			}
			if got := codesOf(stages); !slices.Equal(got, test.want) {
				t.Errorf("got warnings %v, want %v", got, test.want)
			}
		})
	}
}
