package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pretext/extract"
	"pretext/extract/dedup"
	"pretext/extract/quality"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// filterAlgorithm is raised when the same documents and options leave other
// documents.
const filterAlgorithm = 1

// What [FilterOptions].Dedup may be.
const (
	DedupNone    = "none"
	DedupExact   = "exact"   // equal words
	DedupMinHash = "minhash" // and nearly equal shingles
)

// Folders below that of the filter stage, in which duplicates are found. They
// are stages of their own; when the stage is done they may be removed, and are
// made again if it is run again.
const (
	SignaturesFolder = sharding.SignaturesFolder
	PairsFolder      = sharding.PairsFolder
)

// FilterOptions are the options that decide which documents stay. The zero
// value keeps all.
type FilterOptions struct {
	quality.Options
	Dedup  string         `json:"dedup"`            // [DedupNone], [DedupExact] or [DedupMinHash]
	Nearly *dedup.Options `json:"nearly,omitempty"` // of [DedupMinHash]
}

// WithDefaults returns the options in the form in which they are recorded.
func (o FilterOptions) WithDefaults() FilterOptions {
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

// containment is the share from which documents are contained in others, 0 where
// such are not looked for.
func (o FilterOptions) containment() float64 {
	if o.Nearly == nil {
		return 0
	}
	return o.Nearly.Containment
}

// Enabled reports whether the options could reject anything.
func (o FilterOptions) Enabled() bool {
	return len(o.Limits) > 0 || o.Dedup != "" && o.Dedup != DedupNone
}

// Validate returns all that is wrong with options that have their defaults.
func (o FilterOptions) Validate() error {
	errs := []error{o.Options.Validate()}
	switch o.Dedup {
	case DedupNone, DedupExact:
	case DedupMinHash:
		errs = append(errs, o.Nearly.Validate())
	default:
		errs = append(errs, fmt.Errorf("dedup %q: must be none, exact or minhash", o.Dedup))
	}
	return errors.Join(errs...)
}

// FilterConfig says what the filter stage makes of what, and where.
type FilterConfig struct {
	Documents []string // documents folders, or JSON lines of others
	Options   FilterOptions
	Import    ExtractOptions // for what is not ours
	// MaxRejects is the share of the lines of others that may be unreadable.
	MaxRejects float64
	Memory     int64 // bytes that the process may use
	Out        string
	Overwrite  bool
}

// filterWork is what the workers of the filter stage and of the two before it
// need beyond their tasks.
type filterWork struct {
	Documents []string // locations of the documents folders
	Options   FilterOptions
	// Signatures and Decisions are the locations of the folders of signatures
	// and of decisions about duplicates; "" where there are none.
	Signatures, Decisions string
	Budget                int64 // bytes that finding duplicates may sort at a time
}

func init() {
	stage.Register(stage.Definition{
		Name:     "filter",
		New:      stage.New(func(env *stage.Env, work filterWork) stage.Worker { return &filterWorker{env, work} }),
		Warnings: sharding.DeriveWarnings,
		Counts:   [][2]string{{"read", "documents read"}, {"documents", "documents"}, {"text_bytes", "bytes of text"}},
	})
}

// A filterTask is the plan of one documents file: some blocks of one file.
type filterTask struct {
	Name       string             `json:"name"`        // of the file that is written, without suffix
	BlockBytes int64              `json:"block_bytes"` // text at which its blocks are closed
	Blocks     sharding.BlockList `json:"blocks"`
}

func (t filterTask) documents() (n int64) {
	for _, f := range t.Blocks {
		for _, b := range f.Blocks {
			n += b.Documents
		}
	}
	return n
}

// Limits of a task.
const (
	filterTaskBytes     = 32 << 20 // of text
	filterTaskDocuments = 1 << 16
)

// A filterPlan is what the filter stage will do.
type filterPlan struct {
	locations []string
	inputs    []sharding.Input
	tasks     []filterTask
	bytes     int64
	documents int64
}

// planFilter cuts documents folders into tasks, each of consecutive blocks of
// one file, in source order.
func planFilter(ctx context.Context, locations []string) (*filterPlan, error) {
	inputs, err := sharding.OpenDocuments(ctx, locations)
	if err != nil {
		return nil, err
	}
	p := new(filterPlan)
	type source struct {
		bytes int64
		tasks int
	}
	sources := map[string]*source{} // by the stem of its files
	stemOf := func(folder int, name string) string {
		stem := strings.TrimSuffix(name, sharding.DocumentsSuffix)
		stem = stem[:max(0, strings.LastIndexByte(stem, '-'))]
		if folder > 0 {
			stem += fmt.Sprintf("-%d", folder+1) // files of another folder may have the same names
		}
		return stem
	}
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
		return nil, fmt.Errorf("%w in %v", ErrNoDocuments, locations)
	}
	for i, in := range inputs {
		for _, f := range in.Files {
			stem := stemOf(i, f.Name)
			s := sources[stem]
			for _, blocks := range cutBlocks(f.Blocks) {
				p.tasks = append(p.tasks, filterTask{Name: fmt.Sprintf("%s-%05d", stem, s.tasks), BlockBytes: extract.BlockBytes(s.bytes),
					Blocks: sharding.BlockList{{Folder: i, Name: f.Name, Blocks: blocks}}})
				s.tasks++
			}
		}
	}
	return p, nil
}

// cutBlocks cuts the blocks of a file into runs that are a task each.
func cutBlocks(blocks []extract.Block) (runs [][]extract.Block) {
	var bytes, documents int64
	start := 0
	for i, b := range blocks {
		if i > start && (bytes+b.TextBytes > filterTaskBytes || documents+b.Documents > filterTaskDocuments) {
			runs, start, bytes, documents = append(runs, blocks[start:i]), i, 0, 0
		}
		bytes, documents = bytes+b.TextBytes, documents+b.Documents
	}
	if start < len(blocks) {
		runs = append(runs, blocks[start:])
	}
	return runs
}

func (p *filterPlan) any() (tasks []any) {
	for _, t := range p.tasks {
		tasks = append(tasks, t)
	}
	return tasks
}

// Filter keeps the documents that pass the rules of quality and are not copies
// of earlier ones: OUT/documents-SOURCE-NNNNN.jsonl.zst, and beside each the
// list of its rejects.
func Filter(ctx context.Context, r Runner, c FilterConfig) (*sharding.Manifest, error) {
	c.Options = c.Options.WithDefaults()
	if err := c.Options.Validate(); err != nil {
		return nil, &ConfigError{Err: err}
	}
	if !c.Options.Enabled() {
		return nil, &ConfigError{Err: errors.New("nothing to filter by: give --dedup, --quality, --min-words, --min-script-share or --rule")}
	}
	folders, foreign, err := sortDocuments(c.Documents, nil)
	if err != nil {
		return nil, err
	}
	return stage.Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		if len(foreign) > 0 {
			imported := filepath.Join(c.Out, sharding.ImportedFolder)
			if _, err := Extract(ctx, r, ExtractConfig{Sources: foreign, Options: c.Import, MaxRejects: c.MaxRejects, Out: imported, Overwrite: c.Overwrite}); err != nil {
				return nil, err
			}
			folders = append(folders, imported)
		}
		return filterIn(ctx, folder, r, c, folders)
	})
}

// filterIn runs the stage in its locked folder.
func filterIn(ctx context.Context, folder store.Folder, r Runner, c FilterConfig, folders []string) (*sharding.Manifest, error) {
	plan, err := planFilter(ctx, folders)
	if err != nil {
		return nil, err
	}
	budget, err := plan.memory(c.Memory, r.Workers, c.Options)
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(c.Options)
	if err != nil {
		return nil, err
	}
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "filter", Algorithm: filterAlgorithm, Options: options, Inputs: plan.inputs}
	// Before anything is put below it: a folder of other options is refused.
	if err := stage.Claim(ctx, folder, recipe, c.Overwrite); err != nil {
		return nil, err
	}
	if c.Overwrite {
		if err := dropUnused(ctx, folder, c.Options); err != nil {
			return nil, err
		}
	}
	work := filterWork{Documents: plan.locations, Options: c.Options, Budget: budget}
	if c.Options.Dedup != DedupNone {
		if err := findDuplicates(ctx, r, c, plan, &work, options); err != nil {
			return nil, err
		}
	}
	m, err := stage.RunIn(ctx, folder, r, stage.Config{Spec: stage.NewSpec("filter", c.Out, work.Documents, work), Recipe: recipe,
		Tasks: plan.any(), Total: plan.bytes, Overwrite: c.Overwrite})
	if err != nil {
		return nil, err
	}
	if m.Counts["documents"] == 0 {
		return nil, fmt.Errorf("%w are left of %d: %s", ErrNoDocuments, m.Counts["read"], rejectSummary(m.Counts))
	}
	return m, nil
}

// dropUnused empties the folders below the stage's that the options have no use
// for, but an earlier run had.
func dropUnused(ctx context.Context, folder store.Folder, o FilterOptions) error {
	var unused []string
	if o.Dedup != DedupMinHash {
		unused = append(unused, PairsFolder)
	}
	if o.Dedup == DedupNone {
		unused = append(unused, SignaturesFolder)
	}
	for _, name := range unused {
		if err := stage.Empty(ctx, folder.Folder(name)); err != nil {
			return err
		}
	}
	return nil
}

// dropFiltered empties what a filter of an earlier run wrote, which a run without
// one leaves beside what is not made of it.
func dropFiltered(ctx context.Context, location string) error {
	folder, err := store.Open(location)
	if err != nil {
		return err
	}
	if plan, err := sharding.ReadPlan(ctx, folder); err != nil || plan.Stage != "filter" {
		return nil // nothing of ours
	}
	_, err = stage.Locked(location, func(folder store.Folder) (struct{}, error) {
		err := stage.Empty(ctx, folder)
		if err == nil {
			err = dropUnused(ctx, folder, FilterOptions{Dedup: DedupNone})
		}
		return struct{}{}, err
	})
	return err
}

// memory returns what finding duplicates may sort at a time, or a [MemoryError]
// where the plan does not fit.
func (p *filterPlan) memory(have int64, workers int, o FilterOptions) (budget int64, err error) {
	var tasks []int64
	for _, t := range p.tasks {
		tasks = append(tasks, o.taskMemory(sizeOf(t.Blocks).document, t.documents()))
	}
	need := int64(baseMemory) + mostAtWork(tasks, workers)
	if need > have {
		return 0, &stage.MemoryError{Need: need, Have: have, Why: "filtering documents", Less: " or fewer --workers"}
	}
	if o.Dedup == DedupNone {
		return 0, nil
	}
	fixed := o.decideMemory(p.documents)
	if fixed+minFilterBudget > have {
		return 0, &stage.MemoryError{Need: fixed + minFilterBudget, Have: have, Why: fmt.Sprintf("finding duplicates among %d documents", p.documents)}
	}
	return (have - fixed) / 2, nil
}

// taskMemory is what a task of the filter takes with documents of which the
// largest has so many bytes of text, which passes through as a compressed frame,
// JSON, text and plain text at once.
func (o FilterOptions) taskMemory(largest, documents int64) int64 {
	perDocument := int64(0)
	if o.Dedup != DedupNone {
		perDocument = 64 // digest, state, ID
		if o.Nearly != nil {
			perDocument += 8 * int64(o.Nearly.Bands)
		}
	}
	return filterTaskMemory + 4*largest + min(8*largest, repetitionMemory) + perDocument*documents
}

// decideMemory is what deciding about duplicates takes beside what is sorted:
// clusters, similarities and a bit for each document, and numbers of samples. No
// task is at work then.
func (o FilterOptions) decideMemory(documents int64) int64 {
	perDocument := int64(9)
	if o.containment() > 0 {
		perDocument += 8
	}
	return int64(baseMemory) + perDocument*documents
}

// What a task of the filter takes beside its documents: sets of shingles, block
// and output buffers; the tables of repetition at their largest; and the least
// that duplicates are sorted in.
const (
	filterTaskMemory = 24 << 20
	repetitionMemory = 48 << 20
	minFilterBudget  = 32 << 20
)
