// Package filter is the stage that drops documents of low quality, duplicates and
// contained documents. Repeated lines and duplicates are found by three stages of their own, in directories
// inside the filter's directory:
//
//	lines       lines-NNNNN.bin: in how many documents each line is, and
//	            lines-repeated.bin: the lines that too many have
//	signatures  signatures-NNNNN.bin and, for containment, samples-NNNNN.bin: a
//	            sketch of every document, one task per run of blocks; then
//	            candidates-NNNNN.bin, pairs that may be similar
//	pairs       similar-NNNNN.bin: candidates whose texts are similar; then
//	            decisions-NNNNN.bin: for each task of the filter, the documents to
//	            drop, each with the document that it duplicates
//	filter      documents-SOURCE-NNNNN.jsonl.zst, and beside each the list of its
//	            rejects, .rejects
//
// Each is there if the options ask for it. If the filter searches only for exact duplicates, the stage signatures writes the
// decisions, and there is no stage pairs. These directories may be removed afterwards; the
// filter makes them again when needed.
package filter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/dedup"
	"pretext/extract/quality"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// algorithm is the version of the three stages. It is raised if different documents would
// be kept from the same documents with the same options.
const algorithm = 2

// Values of [Options].Dedup.
const (
	DedupNone    = "none"
	DedupExact   = "exact"   // equal words
	DedupMinHash = "minhash" // equal words, or nearly equal shingles
)

// Options decide which documents are kept. The zero value keeps all.
type Options struct {
	quality.Options
	Dedup  string         `json:"dedup"`            // [DedupNone], [DedupExact] or [DedupMinHash]
	Nearly *dedup.Options `json:"nearly,omitempty"` // only for [DedupMinHash]; nil: the defaults

	// LineDocuments is the maximum number of documents that may have the same line. Lines
	// that more documents have are removed from all of them, before anything else is
	// decided. 0: all lines are kept.
	LineDocuments int `json:"line_documents,omitempty"`
}

// WithDefaults returns the options with defaults filled in, as they are stored in the
// manifest.
func (o Options) WithDefaults() Options {
	if o.Dedup == "" {
		o.Dedup = DedupNone
	}
	if o.Dedup != DedupMinHash {
		o.Nearly = nil
		return o
	}
	var nearly dedup.Options
	if o.Nearly != nil {
		nearly = *o.Nearly
	}
	nearly = nearly.WithDefaults()
	o.Nearly = &nearly
	return o
}

// containment returns the threshold for contained documents: a document is dropped if
// another document contains at least this fraction of it. 0 means that contained
// documents are kept.
func (o Options) containment() float64 {
	if o.Nearly == nil {
		return 0
	}
	return o.Nearly.Containment
}

// Enabled reports whether the options can change or reject any document.
func (o Options) Enabled() bool {
	return len(o.Limits) > 0 || o.Dedup != "" && o.Dedup != DedupNone || o.LineDocuments > 0
}

// Validate returns all problems of the options. Call [Options.WithDefaults]
// first.
func (o Options) Validate() error {
	errs := []error{o.Options.Validate()}
	if o.LineDocuments < 0 || o.LineDocuments > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("line_documents %d: must be at least 0 and at most %d", o.LineDocuments, math.MaxInt32))
	}
	switch o.Dedup {
	case DedupNone, DedupExact:
	case DedupMinHash:
		errs = append(errs, o.Nearly.Validate())
	default:
		errs = append(errs, fmt.Errorf("dedup %q: must be none, exact or minhash", o.Dedup))
	}
	return errors.Join(errs...)
}

// Config configures one run of the filter stage.
type Config struct {
	stage.Target
	Documents []string // documents directories
	Filter    Options
}

// work contains the options of the workers of the stages filter, signatures and pairs.
type work struct {
	Options Options
	// Signatures and Decisions are the paths of the directories with signatures
	// and with decisions about duplicates; "" if there are none.
	Signatures, Decisions string
	Lines                 string // path of the directory with repeated lines; "" if all lines are kept
	Budget                int64  // size of the buffer for sorting duplicates, in bytes
}

// read is the number of input documents.
var read = counts.Declare("read", counts.About{Label: "documents read", In: counts.Summary, Meaning: "documents of the input"})

func init() {
	stage.Register(stage.Definition{
		Name:      "filter",
		Algorithm: algorithm,
		New:       stage.New(func(env *stage.Env, work work) stage.Worker { return &worker{env, work} }),
		Warnings:  sharding.Known.Warnings,
		Counts:    []counts.Count{read, extract.Documents, extract.TextBytes, extract.Blocks, extract.Rejects.Count, tiedDocuments, untiedDocuments, removedLines, removedBytes, sharding.LimitedDocuments.Count, sharding.EqualIDs},
	})
}

// A task is the plan of one output documents file: some blocks of one input file.
type task struct {
	Name       string             `json:"name"`        // name of the output file, without suffix
	BlockBytes int64              `json:"block_bytes"` // size of a full block, in bytes of text
	Blocks     sharding.BlockList `json:"blocks"`
}

// A plan lists the tasks of the filter stage.
type plan struct {
	locations []string
	inputs    []sharding.Input
	tasks     []task
	bytes     int64
	documents int64
}

// A source is the documents files with the same stem.
type source struct {
	bytes int64 // size of the text
	tasks int   // number of tasks so far
}

// stemOf returns the name of a documents file without its number. For the second folder
// and later ones, the result also contains the number of the folder, because files in
// different folders may have the same names.
func stemOf(folder int, name string) string {
	stem := strings.TrimSuffix(name, sharding.DocumentsSuffix)
	stem = stem[:max(0, strings.LastIndexByte(stem, '-'))]
	if folder > 0 {
		stem += fmt.Sprintf("-%d", folder+1)
	}
	return stem
}

// newPlan divides documents directories into tasks, each of consecutive blocks of
// one file, in source order.
func newPlan(ctx context.Context, locations []string) (*plan, error) {
	inputs, err := sharding.OpenDocuments(ctx, locations)
	if err != nil {
		return nil, err
	}
	p := new(plan)
	sources := map[string]*source{} // by the stem of its files
	for i, in := range inputs {
		p.locations, p.inputs = append(p.locations, in.Location), append(p.inputs, in.Input)
		for _, f := range in.Files {
			s := sources[stemOf(i, f.Name)]
			if s == nil {
				s = new(source)
				sources[stemOf(i, f.Name)] = s
			}
			for _, b := range f.Blocks {
				s.bytes += b.TextBytes
				p.bytes += b.TextBytes
				p.documents += b.Documents
			}
		}
	}
	if p.documents == 0 {
		return nil, fmt.Errorf("%w in %v", sharding.ErrNoDocuments, locations)
	}
	for i, in := range inputs {
		for _, f := range in.Files {
			stem := stemOf(i, f.Name)
			s := sources[stem]
			for _, blocks := range sharding.CutBlocks(f.Blocks) {
				p.tasks = append(p.tasks, task{Name: fmt.Sprintf("%s-%05d", stem, s.tasks), BlockBytes: extract.BlockBytes(s.bytes),
					Blocks: sharding.BlockList{{Folder: i, Name: f.Name, Blocks: blocks}}})
				s.tasks++
			}
		}
	}
	return p, nil
}

// Validate returns an error for invalid options, and for options that reject nothing.
func (c Config) Validate() error {
	o := c.Filter.WithDefaults()
	if err := o.Validate(); err != nil {
		return failure.Usage(err)
	}
	if !o.Enabled() {
		return failure.Usagef("nothing to filter by: give --dedup, --quality, --min-words, --min-script-share, --rule or --line-documents")
	}
	return nil
}

// RunIn runs the stage in its locked directory. It writes the documents that pass the
// quality rules and are not copies of earlier ones: OUT/documents-SOURCE-NNNNN.jsonl.zst,
// each with a list of its rejects.
func RunIn(ctx context.Context, folder store.Folder, r stage.Runner, c Config) (*sharding.Manifest, error) {
	c.Filter = c.Filter.WithDefaults()
	plan, err := newPlan(ctx, c.Documents)
	if err != nil {
		return nil, err
	}
	budget, err := plan.budget(c.Memory, r.Workers, c.Filter)
	if err != nil {
		return nil, err
	}
	work := work{Options: c.Filter, Budget: budget}
	run := stage.Config{Target: c.Target, Stage: "filter", Options: c.Filter, Inputs: plan.inputs, Paths: plan.locations,
		Tasks: stage.Tasks(plan.tasks), Total: plan.bytes}
	recipe, err := run.Recipe()
	if err != nil {
		return nil, err
	}
	// Claim the directory before the stages inside it write files: a directory with
	// output for other options is refused.
	if err := stage.Claim(ctx, folder, recipe, c.Overwrite); err != nil {
		return nil, err
	}
	if c.Overwrite {
		if err := dropUnused(ctx, folder, c.Filter); err != nil {
			return nil, err
		}
	}
	if c.Filter.LineDocuments > 0 {
		if err := work.findLines(ctx, r, run); err != nil {
			return nil, err
		}
	}
	if c.Filter.Dedup != DedupNone {
		if err := work.findDuplicates(ctx, r, run); err != nil {
			return nil, err
		}
	}
	run.Work = work
	m, err := stage.RunIn(ctx, folder, r, run)
	if err != nil {
		return nil, err
	}
	if extract.Documents.Of(m.Counts) == 0 {
		return nil, fmt.Errorf("%w are left of %d: %s", sharding.ErrNoDocuments, read.Of(m.Counts), sharding.RejectSummary(m.Counts))
	}
	return m, nil
}

// dropUnused empties the directories of signatures and pairs from an earlier run, if the
// options o do not need them.
func dropUnused(ctx context.Context, folder store.Folder, o Options) error {
	var unused []string
	if o.Dedup != DedupMinHash {
		unused = append(unused, sharding.PairsFolder)
	}
	if o.Dedup == DedupNone {
		unused = append(unused, sharding.SignaturesFolder)
	}
	if o.LineDocuments == 0 {
		unused = append(unused, sharding.LinesFolder)
	}
	for _, name := range unused {
		if err := stage.Empty(ctx, folder.Folder(name)); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes the output of the filter stage from the directory at location.
// It does nothing if the directory is not a filter's. A run without a filter
// calls it when it overwrites a run with a filter.
func Remove(ctx context.Context, location string) error {
	folder, err := store.Open(location)
	if err != nil {
		return err
	}
	if plan, err := sharding.ReadPlan(ctx, folder); err != nil || plan.Stage != "filter" {
		return nil // not a filter's
	}
	_, err = stage.Locked(location, func(folder store.Folder) (struct{}, error) {
		err := stage.Empty(ctx, folder)
		if err == nil {
			err = dropUnused(ctx, folder, Options{Dedup: DedupNone})
		}
		return struct{}{}, err
	})
	return err
}
