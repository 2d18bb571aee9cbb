package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// extractAlgorithm is raised when the same sources give other documents.
const extractAlgorithm = 3

// The kinds of sources.
const (
	KindWiki  = "wiki"  // a MediaWiki XML dump
	KindBooks = "books" // a book, a folder or an archive of books
	KindText  = "text"  // BERT text: a sentence a line, a blank line between documents
	KindJSONL = "jsonl" // a JSON object a line
)

// A Source is something documents are made from, in the order of the command
// line.
type Source struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
}

// ExtractOptions are the options that decide what documents are made.
type ExtractOptions struct {
	Wiki  wiki.Options  `json:"wiki"`
	Books books.Options `json:"books"`
	Text  text.Options  `json:"text"`
}

// DefaultExtractOptions returns the options for English or any other language
// that the sources name themselves.
func DefaultExtractOptions() ExtractOptions {
	return ExtractOptions{Wiki: wiki.DefaultOptions()}
}

// Validate returns all that is wrong with the options.
func (o ExtractOptions) Validate() error {
	return errors.Join(o.Wiki.Validate(), o.Books.Validate(), o.Text.Validate())
}

// ExtractConfig says what the extract stage makes of what, and where.
type ExtractConfig struct {
	Sources []Source
	Options ExtractOptions
	// MaxRejects is the share of pages, books and lines that may be
	// unreadable; above it the finished stage is an error.
	MaxRejects float64
	Out        string
	Overwrite  bool
}

// extractWork is what an extract worker needs beyond its task.
type extractWork struct {
	Sources []SourceSpec
	Options ExtractOptions
}

func init() {
	stage.Register(stage.Definition{
		Name:     "extract",
		New:      stage.New(func(env *stage.Env, work extractWork) stage.Worker { return &extractWorker{env, work} }),
		Warnings: sharding.DeriveWarnings,
		Counts: [][2]string{{"pages", "pages"}, {"files", "files read"}, {"lines", "lines"}, {"documents", "documents"},
			{"text_bytes", "bytes of text"}},
	})
}

// A SourceSpec is a source as the plan found it.
type SourceSpec struct {
	Kind  string
	Paths []string // one, but for text: there all files are one stream
	Stem  string   // of the documents files
	Bytes int64
	Head  wiki.Head // of a dump
	// Inputs describe Paths as the plan found them; none for a folder of books.
	Inputs []sharding.Input
}

// An extractTask is the plan of one documents file.
type extractTask struct {
	Source int         `json:"source"`
	Number int         `json:"number"` // of the documents file of its source
	Range  *wiki.Range `json:"range,omitempty"`
	Books  *books.Task `json:"books,omitempty"`
}

func (s SourceSpec) fileName(number int) string {
	return fmt.Sprintf("%s%s-%05d", sharding.DocumentsPrefix, s.Stem, number)
}

// Extract makes documents of sources: OUT/documents-SOURCE-NNNNN.jsonl.zst.
func Extract(ctx context.Context, r Runner, c ExtractConfig) (*sharding.Manifest, error) {
	if err := c.Options.Validate(); err != nil {
		return nil, &ConfigError{Err: err}
	}
	plan, err := planSources(ctx, c, r.Tell)
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(c.Options)
	if err != nil {
		return nil, err
	}
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "extract", Algorithm: extractAlgorithm,
		Options: options, Inputs: plan.inputs}
	spec := stage.NewSpec("extract", c.Out, plan.paths(), extractWork{plan.sources, c.Options})
	m, err := stage.Run(ctx, r, stage.Config{Spec: spec, Recipe: recipe, Tasks: plan.tasks, Sizes: plan.sizes(), Total: plan.bytes, Overwrite: c.Overwrite})
	if err != nil {
		return nil, err
	}
	if m.Counts["documents"] == 0 {
		return nil, fmt.Errorf("%w in %s: %s", ErrNoDocuments, plan.names(), rejectSummary(m.Counts))
	}
	return m, checkRejects(m.Counts, c.MaxRejects)
}

// unreadable are the rejects that tell of bad data, not of a choice.
var unreadable = []extract.Reject{extract.RejectMalformed, extract.RejectUnterminated, extract.RejectTooLarge, extract.RejectBinary, extract.RejectEncoding}

func checkRejects(c sharding.Counts, allowed float64) error {
	bad := sharding.Counts{}
	var rejected int64
	for _, reason := range unreadable {
		key := "reject." + string(reason)
		if n := c[key]; n > 0 {
			bad[key] = n
			rejected += n
		}
	}
	seen := c["documents"]
	for _, reason := range c.RejectReasons() {
		seen += c["reject."+reason]
	}
	if float64(rejected) > allowed*float64(seen) {
		return &RejectsError{Rejected: rejected, Seen: seen, Allowed: allowed, Reasons: rejectSummary(bad)}
	}
	return nil
}

// extractWorker makes documents files.
type extractWorker struct {
	*stage.Env
	extractWork
}

func (w *extractWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t extractTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	if problem := t.check(w.Sources); problem != "" {
		return nil, stage.BadPlan(index, problem)
	}
	source := w.Sources[t.Source]
	name := source.fileName(t.Number)
	sideCar := name + sharding.SideCarSuffix
	if results, ok, err := w.Proved(ctx, index, sideCar); err != nil || ok {
		w.Meter.Add(t.bytes(source))
		return results, err
	}
	out, err := w.Create(ctx, name+sharding.DocumentsSuffix)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	documents, err := extract.NewWriter(out, extract.BlockBytes(source.Bytes))
	if err != nil {
		return nil, err
	}
	reading, err := w.open(ctx, source, t)
	if err != nil {
		return nil, w.explain(ctx, source, err)
	}
	defer reading.close()
	var ids sharding.IDList
	for doc, err := range reading.documents {
		if err != nil {
			return nil, w.explain(ctx, source, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := documents.Write(doc); err != nil {
			return nil, err
		}
		ids.Add(doc.ID)
	}
	counts, body, err := reading.summary()
	if err != nil {
		return nil, w.explain(ctx, source, err)
	}
	if body.Blocks, err = documents.Close(); err != nil {
		return nil, err
	}
	if err := w.Commit(ctx, out); err != nil {
		return nil, err
	}
	for _, b := range body.Blocks {
		counts["text_bytes"] += b.TextBytes
	}
	counts["blocks"] = int64(len(body.Blocks))
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	idsEntry, err := w.Write(ctx, name+sharding.IDsSuffix, ids.Bytes())
	if err != nil {
		return nil, err
	}
	idsEntry.Task = index
	result, err := w.Prove(ctx, sideCar, sharding.SideCar{Task: index, File: out.Entry(index, counts), Index: idsEntry, Body: raw})
	return []stage.Result{result}, err
}

func (w *extractWorker) Finish(ctx context.Context, results []stage.Result) error {
	if err := w.checkSources(ctx); err != nil {
		return err
	}
	var lists, sideCars []string
	for _, r := range results {
		sideCars = append(sideCars, r.SideCar)
		lists = append(lists, strings.TrimSuffix(r.SideCar, sharding.SideCarSuffix)+sharding.IDsSuffix)
	}
	equal, err := sharding.CountEqualIDs(ctx, w.Folder, lists)
	if err != nil {
		return err
	}
	dropped, err := sharding.SumDropped(ctx, w.Folder, sideCars)
	if err != nil {
		return err
	}
	return w.Manifest(ctx, results, sharding.Manifest{Counts: sharding.Counts{"equal_ids": equal}, Dropped: dropped})
}

// check says what is wrong with a task that no driver made of these sources, ""
// where nothing is.
func (t extractTask) check(sources []SourceSpec) string {
	if t.Source < 0 || t.Source >= len(sources) || t.Number < 0 {
		return fmt.Sprintf("file %d of source %d, of %d", t.Number, t.Source, len(sources))
	}
	source := sources[t.Source]
	switch {
	case source.Kind == KindWiki && t.Range == nil, source.Kind == KindBooks && t.Books == nil:
		return "says nothing of its source of kind " + source.Kind
	case t.Range != nil && (t.Range.Start < 0 || t.Range.End < t.Range.Start):
		return fmt.Sprintf("bytes %d to %d of a dump", t.Range.Start, t.Range.End)
	}
	return ""
}

// bytes returns what a task reads of its source.
func (t extractTask) bytes(s SourceSpec) int64 {
	switch {
	case t.Range != nil:
		return t.Range.End - t.Range.Start
	case t.Books != nil:
		return t.Books.Bytes
	}
	return s.Bytes
}

// A reading is an opened source: its documents, then what was counted.
type reading struct {
	documents iter.Seq2[*extract.Document, error]
	summary   func() (sharding.Counts, sharding.DocumentsBody, error)
	close     func()
}

func (w *extractWorker) open(ctx context.Context, s SourceSpec, t extractTask) (*reading, error) {
	switch s.Kind {
	case KindWiki:
		return w.openWiki(ctx, s, *t.Range)
	case KindBooks:
		return w.openBooks(ctx, s, *t.Books)
	case KindText, KindJSONL:
		return w.openText(ctx, s)
	}
	panic("BUG: source of kind " + s.Kind)
}
