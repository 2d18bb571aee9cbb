// Package pipeline holds the stages of the data path and runs them: download and
// extract turn sources into documents, filter selects documents, vocab trains a
// vocabulary, examples writes shards. [Run] runs all of them, [PlanRun] predicts
// what a run takes. Each stage is a worker and a driver on package pipeline/stage.
package pipeline

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// The folders of a run, below its own.
const (
	FilteredFolder = "filtered" // where documents are filtered
	VocabFolder    = "vocab"
)

// RunConfig says what the whole line makes of what, and where.
type RunConfig struct {
	Sources   []Source
	Download  *DownloadConfig // what to bring to OUT/sources and read after Sources; nil for nothing
	Extract   ExtractOptions
	Filter    filter.Options // keeps all where it is zero
	Vocab     string         // path of a vocab.txt; without it and Tokenizer one is trained
	Tokenizer string         // path of a tokenizer.json, in place of Vocab
	VocabSize int            // of a trained one
	// LimitAlphabet is the most characters of a trained one; 0: the default.
	LimitAlphabet int
	Examples      sharding.ExamplesOptions
	Memory        int64
	MaxRejects    float64
	Out           string
	Overwrite     bool
}

// Run runs all stages below one folder: sources, where some are downloaded, documents, vocab, shards. It returns
// the summaries of the stages that ended well, whatever came after.
func Run(ctx context.Context, r stage.Runner, c RunConfig) (stages []StageSummary, err error) {
	if err := c.Examples.Validate(); err != nil {
		return nil, failure.Usage(err)
	}
	if c.Filter.Enabled() {
		if err := c.Filter.WithDefaults().Validate(); err != nil {
			return nil, failure.Usage(err)
		}
	}
	if c.Download != nil {
		if err := c.Download.validate(); err != nil {
			return nil, failure.Usage(err)
		}
	}
	if file := (tokenFile{c.Vocab, c.Tokenizer}); file.given() {
		tokens, err := file.read(c.Examples)
		if err != nil {
			return nil, err // before hours of work, not after
		}
		r.Tell(tokens.tokenizer.Warning)
		r.Note = nil // the examples stage would say it again
	}
	return stage.Locked(c.Out, func(store.Folder) ([]StageSummary, error) { return runStages(ctx, r, c) })
}

// runStages is Run with the folder locked.
func runStages(ctx context.Context, r stage.Runner, c RunConfig) (stages []StageSummary, err error) {
	below := func(name string) string { return filepath.Join(c.Out, name) }
	documents := []string{below(sharding.DocumentsFolder)}
	vocabOptions := DefaultVocabOptions()
	vocabOptions.VocabSize, vocabOptions.DoLowerCase, vocabOptions.Split = c.VocabSize, c.Examples.DoLowerCase, c.Examples.Split
	vocabOptions.TokenizerProfile = c.Examples.TokenizerProfile
	vocabOptions.LimitAlphabet = cmp.Or(c.LimitAlphabet, vocabOptions.LimitAlphabet)
	tokens := tokenFile{vocab: filepath.Join(below(VocabFolder), sharding.VocabName)}
	if c.Tokenizer != "" {
		tokens = tokenFile{tokenizer: filepath.Join(below(VocabFolder), sharding.TokenizerName)}
	}
	type step struct {
		name, folder string
		run          func(out string) (*sharding.Manifest, error)
	}
	plan := []step{
		{"download", SourcesFolder, c.download(ctx, r)},
		{"extract", sharding.DocumentsFolder, func(out string) (*sharding.Manifest, error) {
			if c.Download != nil {
				sources, err := downloadSources(ctx, below(SourcesFolder))
				if err != nil {
					return nil, err
				}
				c.Sources = append(slices.Clip(c.Sources), sources...)
			}
			return Extract(ctx, r, ExtractConfig{Sources: c.Sources, Options: c.Extract, MaxRejects: c.MaxRejects, Out: out, Overwrite: c.Overwrite})
		}},
	}
	if c.Filter.Enabled() {
		unfiltered := documents
		documents = []string{below(FilteredFolder)}
		plan = append(plan, step{"filter", FilteredFolder, func(out string) (*sharding.Manifest, error) {
			return Filter(ctx, r, FilterConfig{Config: filter.Config{Documents: unfiltered, Options: c.Filter, Memory: c.Memory, Out: out, Overwrite: c.Overwrite}})
		}})
	}
	plan = append(plan, []step{
		{"vocab", VocabFolder, func(out string) (*sharding.Manifest, error) {
			return Vocab(ctx, r, VocabConfig{Documents: documents, Given: c.Vocab, Tokenizer: c.Tokenizer, Options: vocabOptions, Out: out, Overwrite: c.Overwrite})
		}},
		{"examples", sharding.ShardsFolder, func(out string) (*sharding.Manifest, error) {
			return Examples(ctx, r, ExamplesConfig{Documents: documents, Vocab: tokens.vocab, Tokenizer: tokens.tokenizer,
				Options: c.Examples, Memory: c.Memory, Out: out, Overwrite: c.Overwrite})
		}},
	}...)
	if c.Overwrite && !c.Filter.Enabled() {
		if err := filter.Remove(ctx, below(FilteredFolder)); err != nil {
			return nil, err
		}
	}
	for _, st := range plan {
		if st.run == nil {
			continue
		}
		s, err := Summarize(st.name, below(st.folder), func() (*sharding.Manifest, error) { return st.run(below(st.folder)) })
		if err != nil {
			return stages, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// download returns the stage that brings sources, nil where none are wanted.
func (c RunConfig) download(ctx context.Context, r stage.Runner) func(out string) (*sharding.Manifest, error) {
	if c.Download == nil {
		return nil
	}
	return func(out string) (*sharding.Manifest, error) {
		d := *c.Download
		d.Out, d.Overwrite = out, c.Overwrite
		return Download(ctx, r, d)
	}
}
