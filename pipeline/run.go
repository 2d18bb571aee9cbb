// Package pipeline contains and runs the stages of the data path: download and extract
// turn sources into documents, filter selects documents, vocab trains a vocabulary,
// examples writes shards. [Run] runs all stages. [PlanRun] predicts the output and
// resources of a run. Each stage consists of a worker and a driver built on package
// pipeline/stage.
package pipeline

import (
	"cmp"
	"context"
	"slices"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// Names of the stages' directories in the directory of a run.
const (
	filteredFolder = "filtered" // output of the filter stage
	VocabFolder    = "vocab"
)

// RunConfig configures [Run].
type RunConfig struct {
	stage.Target
	Reading
	TokenFile     // vocabulary or tokenizer to use; if empty, one is trained
	Sources       []Source
	Download      *DownloadConfig // downloads to OUT/sources, which are read after Sources; nil: none
	Filter        filter.Options  // the zero value keeps all documents
	Model         string          // tokenizer to train: "" or one of vocab.Models
	VocabSize     int             // number of tokens of a trained vocabulary
	LimitAlphabet int             // maximum number of characters in a trained vocabulary; 0 for the default
	FixedCase     bool            // the user chose Examples.DoLowerCase, see [VocabConfig] and [ExamplesConfig]
	Examples      sharding.ExamplesOptions
}

// DefaultRunConfig returns the settings of "prepare-data run --out out" without other
// flags. It contains no sources: the caller must set Sources or Download.
func DefaultRunConfig(out string) RunConfig {
	training := DefaultVocabOptions()
	return RunConfig{Target: stage.Target{Out: out, Memory: DefaultMemory}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1},
		VocabSize: training.VocabSize, LimitAlphabet: training.LimitAlphabet, Examples: sharding.DefaultExamplesOptions()}
}

// DefaultMemory is the default limit for the memory of a process, in bytes.
const DefaultMemory = 600e6

// Run runs all stages, each in its own directory below that of the run: sources (if any
// are downloaded), documents, filtered (if documents are filtered), vocab, shards. If a
// stage fails, Run returns the summaries of the stages before it.
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
	if err := c.checkMix(ctx); err != nil {
		return nil, err
	}
	if _, err := c.checkEffect(ctx, c.Sources, c.Download); err != nil {
		return nil, err // checked before a download
	}
	if c.given() {
		c.keepCase(ctx, &c.Examples, c.FixedCase)
		o := c.Examples
		tokens, err := c.read(&o)
		if err != nil {
			return nil, err // checked first, because it might otherwise fail after hours
		}
		c.last = tokens
	} else if err := c.training().Validate(); err != nil {
		return nil, failure.Usage(err)
	}
	return stage.Locked(c.Out, func(store.Folder) ([]StageSummary, error) { return runStages(ctx, r, c) })
}

// A runStage is one stage of a run: its name, its directory below the run's,
// and the function that runs it.
type runStage struct {
	name, folder string
	run          func(t stage.Target) (*sharding.Manifest, error)
}

// runStages runs the stages of a run. The caller must hold the lock of the
// run's directory.
func runStages(ctx context.Context, r stage.Runner, c RunConfig) (stages []StageSummary, err error) {
	if c.Overwrite && !c.Filter.Enabled() {
		if err := filter.Remove(ctx, c.In(filteredFolder).Out); err != nil {
			return nil, err
		}
	}
	for _, st := range c.stages(ctx, r) {
		t := c.In(st.folder)
		s, err := Summarize(st.name, t.Out, func() (*sharding.Manifest, error) { return st.run(t) })
		if err != nil {
			return stages, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// stages returns the stages of the run, in order.
func (c RunConfig) stages(ctx context.Context, r stage.Runner) (list []runStage) {
	documents := []string{c.In(sharding.DocumentsFolder).Out}
	if c.Download != nil {
		list = append(list, runStage{"download", sourcesFolder, func(t stage.Target) (*sharding.Manifest, error) {
			d := *c.Download
			d.Target = t
			return Download(ctx, r, d)
		}})
	}
	list = append(list, runStage{"extract", sharding.DocumentsFolder, func(t stage.Target) (*sharding.Manifest, error) {
		sources := slices.Clip(c.Sources)
		if c.Download != nil {
			downloaded, err := downloadSources(ctx, c.In(sourcesFolder).Out)
			if err != nil {
				return nil, err
			}
			sources = append(sources, downloaded...)
		}
		return Extract(ctx, r, ExtractConfig{Target: t, Reading: c.Reading, Sources: sources})
	}})
	if c.Filter.Enabled() {
		unfiltered := documents
		documents = []string{c.In(filteredFolder).Out}
		list = append(list, runStage{"filter", filteredFolder, func(t stage.Target) (*sharding.Manifest, error) {
			return Filter(ctx, r, FilterConfig{Config: filter.Config{Target: t, Documents: unfiltered, Filter: c.Filter}})
		}})
	}
	tokens := c.trained(c.In(VocabFolder).Out)
	return append(list, runStage{"vocab", VocabFolder, func(t stage.Target) (*sharding.Manifest, error) {
		return Vocab(ctx, r, VocabConfig{Target: t, TokenFile: c.TokenFile, Documents: documents, Training: c.training(), FixedCase: c.FixedCase})
	}}, runStage{"examples", sharding.ShardsFolder, func(t stage.Target) (*sharding.Manifest, error) {
		return Examples(ctx, r, ExamplesConfig{Target: t, TokenFile: tokens, Documents: documents, Examples: c.Examples, FixedCase: c.FixedCase})
	}})
}

// training returns the options of a trained vocabulary.
func (c RunConfig) training() VocabOptions {
	o := DefaultVocabOptions()
	o.VocabSize, o.DoLowerCase, o.Split = c.VocabSize, c.Examples.DoLowerCase, c.Examples.Split
	o.TokenizerProfile = c.Examples.TokenizerProfile
	o.LimitAlphabet = cmp.Or(c.LimitAlphabet, o.LimitAlphabet)
	if o.Model = c.Model; o.TokenizerFile() {
		o.DoLowerCase, o.TokenizerProfile = false, ""
	}
	return o
}

// trained returns the vocabulary or tokenizer in the folder of the vocab stage. It is the
// trained one or a copy of the user's.
func (c RunConfig) trained(folder string) TokenFile {
	if !c.given() && c.training().TokenizerFile() {
		return TokenFile{Tokenizer: store.Join(folder, sharding.TokenizerName)}
	}
	return c.TokenFile.in(folder)
}
