package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/wiki"
	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/sharding"
)

// A StageSummary describes a finished stage for the user.
type StageSummary struct {
	Stage   string          `json:"stage"`
	Folder  string          `json:"folder"`
	Files   int             `json:"files"`
	Bytes   int64           `json:"bytes"`
	Counts  sharding.Counts `json:"counts"`
	Notes   []string        `json:"notes,omitempty"` // remarks on data within the expected range
	Seconds float64         `json:"seconds"`
	CPU     float64         `json:"cpu_seconds"`
	Elapsed time.Duration   `json:"-"`

	Mix []sharding.MixRow `json:"mix,omitempty"` // how often the examples stage has read each source

	// Warnings are the warnings about imported documents, followed by those in the
	// stage's manifest.
	Warnings []sharding.DescribedWarning `json:"warnings,omitempty"`
}

// Summarize calls run, which must run a stage in folder, and returns a summary of the
// stage.
func Summarize(stage, folder string, run func() (*sharding.Manifest, error)) (StageSummary, error) {
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
	if m.Stage == sharding.StageExamples {
		s.Mix = sharding.MixTable(m.Options)
	}
	if s.Warnings, err = folderWarnings(folder, m); err != nil {
		return StageSummary{}, err
	}
	return s, nil
}

// notes returns remarks on data within the expected range.
func notes(m *sharding.Manifest) (list []string) {
	switch m.Stage {
	case "download":
		return downloadNotes(m)
	case "vocab":
		return vocabNotes(m)
	case sharding.StageExamples:
		return mixNotes(m)
	case "extract":
	default:
		return nil
	}
	if n := extract.InvalidUTF8.Of(m.Counts); n > 0 {
		list = append(list, fmt.Sprintf("%d bytes of invalid UTF-8 were dropped (see \"notes\" in the side-cars)", n))
	}
	if wiki.Trailing.Of(m.Counts) > 0 {
		list = append(list, "bytes after the end of a dump were ignored (see \"notes\" in the side-cars)")
	}
	if n := sharding.EqualIDs.Of(m.Counts); n > 0 {
		list = append(list, fmt.Sprintf("%d documents have the ID of another one; all are kept", n))
	}
	return list
}

// mixNotes returns a note for each source whose number of tokens differs by more than a
// thousandth from the number required by the mix.
func mixNotes(m *sharding.Manifest) (list []string) {
	for _, r := range sharding.MixTable(m.Options) {
		if miss := r.MixedTokens - r.Wanted; 1000*max(miss, -miss) > r.Wanted {
			list = append(list, fmt.Sprintf("%d tokens of source %s are read, the mix asks for %d: its documents, %d in all, are too few or too long to come closer",
				r.MixedTokens, r.Source, r.Wanted, r.Documents))
		}
	}
	return list
}

// A SummaryLine is a line of a summary with one count.
type SummaryLine struct {
	Name  string
	Count int64
}

// Lines returns the counts in the order of display.
func (s StageSummary) Lines() (lines []SummaryLine) {
	for _, c := range counts.OfStage(s.Stage) {
		if n, ok := s.Counts[c.Key]; ok && c.In&counts.Summary != 0 {
			lines = append(lines, SummaryLine{c.Name(), n})
		}
	}
	for reason, n := range extract.Rejects.Members(s.Counts) {
		lines = append(lines, SummaryLine{"rejected: " + string(reason), n})
	}
	return lines
}

// A WarningsError reports that a run has warnings, although the user allowed none. The
// output is nevertheless complete and valid.
type WarningsError struct {
	Codes []string // stage and code, such as "examples: unknown-tokens", in the order of the stages
}

func (e *WarningsError) Error() string {
	return fmt.Sprintf("finished, but --strict allows no warnings: %s", strings.Join(e.Codes, ", "))
}

// OverLimit marks the error for exit codes.
func (e *WarningsError) OverLimit() bool { return true }

// CheckWarnings returns a [*WarningsError] if any stage has a warning.
func CheckWarnings(stages []StageSummary) error {
	var codes []string
	for _, s := range stages {
		for _, w := range s.Warnings {
			codes = append(codes, s.Stage+": "+w.Code)
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return &WarningsError{codes}
}

// folderWarnings returns the warnings about documents that a stage imported, followed by
// those in the stage's manifest m.
func folderWarnings(location string, m *sharding.Manifest) ([]sharding.DescribedWarning, error) {
	ctx := context.Background()
	imported := store.Join(location, sharding.ImportedFolder)
	folder, err := store.Open(imported)
	if err != nil {
		return nil, err
	}
	in, err := sharding.ManifestInput(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Contains(m.Inputs, in) {
		return m.Describe(), nil
	}
	if err != nil {
		return nil, err
	}
	above, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	return append(above.Describe(), m.Describe()...), nil
}
