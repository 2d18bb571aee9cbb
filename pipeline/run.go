package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// The folders of a run, below its own.
const (
	DocumentsFolder = sharding.DocumentsFolder
	FilteredFolder  = "filtered" // where documents are filtered
	VocabFolder     = "vocab"
	ShardsFolder    = sharding.ShardsFolder
)

// Manifest is what a stage returns.
type Manifest = sharding.Manifest

// RunConfig says what the whole line makes of what, and where.
type RunConfig struct {
	Sources   []Source
	Download  *DownloadConfig // what to bring to OUT/sources and read after Sources; nil for nothing
	Extract   ExtractOptions
	Filter    FilterOptions // keeps all where it is zero
	Vocab     string        // path of a vocab.txt; without it and Tokenizer one is trained
	Tokenizer string        // path of a tokenizer.json, in place of Vocab
	VocabSize int           // of a trained one
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
func Run(ctx context.Context, r Runner, c RunConfig) (stages []StageSummary, err error) {
	if err := c.Examples.Validate(); err != nil {
		return nil, &ConfigError{Err: err}
	}
	if c.Filter.Enabled() {
		if err := c.Filter.WithDefaults().Validate(); err != nil {
			return nil, &ConfigError{Err: err}
		}
	}
	if c.Download != nil {
		if err := c.Download.validate(); err != nil {
			return nil, &ConfigError{Err: err}
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
func runStages(ctx context.Context, r Runner, c RunConfig) (stages []StageSummary, err error) {
	below := func(name string) string { return filepath.Join(c.Out, name) }
	documents := []string{below(DocumentsFolder)}
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
		run          func(out string) (*Manifest, error)
	}
	plan := []step{
		{"download", SourcesFolder, c.download(ctx, r)},
		{"extract", DocumentsFolder, func(out string) (*Manifest, error) {
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
		plan = append(plan, step{"filter", FilteredFolder, func(out string) (*Manifest, error) {
			return Filter(ctx, r, FilterConfig{Documents: unfiltered, Options: c.Filter, Memory: c.Memory, Out: out, Overwrite: c.Overwrite})
		}})
	}
	plan = append(plan, []step{
		{"vocab", VocabFolder, func(out string) (*Manifest, error) {
			return Vocab(ctx, r, VocabConfig{Documents: documents, Given: c.Vocab, Tokenizer: c.Tokenizer, Options: vocabOptions, Out: out, Overwrite: c.Overwrite})
		}},
		{"examples", ShardsFolder, func(out string) (*Manifest, error) {
			return Examples(ctx, r, ExamplesConfig{Documents: documents, Vocab: tokens.vocab, Tokenizer: tokens.tokenizer,
				Options: c.Examples, Memory: c.Memory, Out: out, Overwrite: c.Overwrite})
		}},
	}...)
	if c.Overwrite && !c.Filter.Enabled() {
		if err := dropFiltered(ctx, below(FilteredFolder)); err != nil {
			return nil, err
		}
	}
	for _, st := range plan {
		if st.run == nil {
			continue
		}
		s, err := Summarize(st.name, below(st.folder), func() (*Manifest, error) { return st.run(below(st.folder)) })
		if err != nil {
			return stages, err
		}
		stages = append(stages, s)
	}
	return stages, nil
}

// download returns the stage that brings sources, nil where none are wanted.
func (c RunConfig) download(ctx context.Context, r Runner) func(out string) (*Manifest, error) {
	if c.Download == nil {
		return nil
	}
	return func(out string) (*Manifest, error) {
		d := *c.Download
		d.Out, d.Overwrite = out, c.Overwrite
		return Download(ctx, r, d)
	}
}

// A StageSummary is what a person wants to know of a stage that was run.
type StageSummary struct {
	Stage   string          `json:"stage"`
	Folder  string          `json:"folder"`
	Files   int             `json:"files"`
	Bytes   int64           `json:"bytes"`
	Counts  sharding.Counts `json:"counts"`
	Notes   []string        `json:"notes,omitempty"` // what to know though all is well
	Seconds float64         `json:"seconds"`
	CPU     float64         `json:"cpu_seconds"`
	Elapsed time.Duration   `json:"-"`

	// Warnings are those of the stage's manifest, and of the documents that the
	// stage imported.
	Warnings []sharding.DescribedWarning `json:"warnings,omitempty"`
}

// Summarize runs a stage and describes what came of it.
func Summarize(stage, folder string, run func() (*Manifest, error)) (StageSummary, error) {
	start, cpu := time.Now(), usage.CPU()
	m, err := run()
	if err != nil {
		return StageSummary{}, err
	}
	s := StageSummary{Stage: stage, Folder: folder, Files: len(m.Files), Counts: m.Counts, Elapsed: time.Since(start)}
	s.Seconds, s.CPU = s.Elapsed.Seconds(), (usage.CPU() - cpu).Seconds()
	for _, f := range m.Files {
		s.Bytes += f.Bytes
	}
	s.Notes = notes(m)
	if s.Warnings, err = folderWarnings(folder, m); err != nil {
		return StageSummary{}, err
	}
	return s, nil
}

// notes are what a person should know of data that is as it should be.
func notes(m *Manifest) (list []string) {
	switch m.Stage {
	case "download":
		return downloadNotes(m)
	case "extract":
	default:
		return nil
	}
	if n := m.Counts["invalid_utf8_bytes"]; n > 0 {
		list = append(list, fmt.Sprintf("%d bytes of invalid UTF-8 were dropped (see \"notes\" in the side-cars)", n))
	}
	if m.Counts["trailing_garbage"] > 0 {
		list = append(list, "bytes after the end of a dump were ignored (see \"notes\" in the side-cars)")
	}
	if n := m.Counts["equal_ids"]; n > 0 {
		list = append(list, fmt.Sprintf("%d documents have the ID of another one; all are kept", n))
	}
	return list
}

// A SummaryLine is one count of a summary.
type SummaryLine struct {
	Name  string
	Count int64
}

// Lines returns the counts in the order in which a person wants them.
func (s StageSummary) Lines() (lines []SummaryLine) {
	for _, c := range stage.Counts(s.Stage) {
		if n, ok := s.Counts[c[0]]; ok {
			lines = append(lines, SummaryLine{c[1], n})
		}
	}
	for _, reason := range s.Counts.RejectReasons() {
		lines = append(lines, SummaryLine{"rejected: " + reason, s.Counts["reject."+reason]})
	}
	return lines
}
