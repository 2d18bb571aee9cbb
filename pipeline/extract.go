package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/extract/wiki/facts"
	"pretext/extract/wiki/rendering"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// extractAlgorithm is the version of the extract stage. It is raised if the same sources
// would result in different documents.
const extractAlgorithm = 15

// The kinds of sources.
const (
	KindWiki     = "wiki"      // a MediaWiki XML dump
	KindWikiHTML = "wiki-html" // a snapshot of a wiki's pages as HTML, or a directory of such pages
	KindBooks    = "books"     // a book, a folder or an archive of books
	kindText     = "text"      // BERT text: one sentence per line, a blank line between documents
	kindJSONL    = "jsonl"     // one JSON object per line
)

// A Source is one input of the extract stage. Sources are in the order of the command
// line.
type Source struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
}

// ExtractOptions are the options that determine the documents.
type ExtractOptions struct {
	Wiki  wiki.Options  `json:"wiki"`
	Books books.Options `json:"books"`
	Text  text.Options  `json:"text"`

	// Level is the compression of the documents files; nil: [extract.DefaultLevel].
	Level *extract.Level `json:"documents_level,omitempty"`

	// ExpandTemplates selects whether templates in sentences are expanded with the wiki's
	// own definitions: [ExpandAuto] or [ExpandOff].
	ExpandTemplates string `json:"expand_templates,omitempty"`
	// Definitions are the files with the wikis' own template definitions. [Extract] sets
	// them.
	Definitions []DefinitionsFile `json:"definitions,omitempty"`
}

// DocumentsLevel returns the compression of the documents files.
func (o ExtractOptions) DocumentsLevel() extract.Level {
	if o.Level == nil {
		return extract.DefaultLevel
	}
	return *o.Level
}

// SetLevel sets the compression of the documents files. The default level is not
// stored, so that it does not change the options.
func (o *ExtractOptions) SetLevel(l extract.Level) {
	if o.Level = &l; l == extract.DefaultLevel {
		o.Level = nil
	}
}

// TemplateFiles are the paths of files of rendering data (package rendering),
// in the order of the command line; later ones take precedence.
type TemplateFiles []string

// A templateFile is the content of a file of rendering data.
type templateFile struct {
	*rendering.File
	text string
}

// read reads the files. Errors name file and line.
func (f TemplateFiles) read(ctx context.Context) (files []templateFile, err error) {
	for _, path := range f {
		text, err := readSmall(ctx, path)
		if err != nil {
			return nil, err
		}
		file, err := rendering.Parse(filepath.Base(path), text)
		if err != nil {
			return nil, failure.Usage(err)
		}
		files = append(files, templateFile{file, string(text)})
	}
	return files, nil
}

// readSmall reads a file of rendering data.
func readSmall(ctx context.Context, path string) ([]byte, error) {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Size() > rendering.MaxFile {
		return nil, failure.Usagef("%s: %d bytes, want at most %d", path, f.Size(), rendering.MaxFile)
	}
	text := make([]byte, f.Size())
	if _, err := f.ReadAt(text, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return text, nil
}

// DefaultExtractOptions returns the default options, in which the language is taken from
// the sources.
func DefaultExtractOptions() ExtractOptions {
	return ExtractOptions{Wiki: wiki.DefaultOptions()}
}

// Validate returns all problems of the options.
func (o ExtractOptions) Validate() error {
	var expand error
	if o.ExpandTemplates != ExpandAuto && o.ExpandTemplates != ExpandOff {
		expand = fmt.Errorf("expand_templates %q: want auto or off", o.ExpandTemplates)
	}
	return errors.Join(o.Wiki.Validate(), o.Books.Validate(), o.Text.Validate(), o.DocumentsLevel().Validate(), expand)
}

// Reading configures how sources become documents. The stages after extract use
// it to import third-party documents.
type Reading struct {
	Extract ExtractOptions
	// Templates are files of rendering data, which define how templates of wikis are
	// shown.
	Templates TemplateFiles
	// MaxRejects is the maximum fraction of unreadable pages, books and lines. If it is
	// exceeded, the stage still finishes, but returns a [*RejectsError].
	MaxRejects float64
}

// ExtractConfig configures [Extract].
type ExtractConfig struct {
	stage.Target
	Reading
	Sources []Source

	spool *wiki.Spool // decoded pages of the dumps; nil: none
}

// extractWork contains the options of extract workers.
type extractWork struct {
	Sources   []SourceSpec
	Options   ExtractOptions
	Templates []string // contents of the files in Options.Wiki.Templates
}

func init() {
	stage.Register(stage.Definition{
		Name:      "extract",
		Algorithm: extractAlgorithm,
		New:       stage.New(func(env *stage.Env, work extractWork) stage.Worker { return &extractWorker{env, work} }),
		Warnings:  sharding.Known.Warnings,
		Counts: []counts.Count{facts.Pages, extract.Files, extract.Lines, extract.Documents, extract.TextBytes, wiki.Expanded, wiki.ModuleCalls, wiki.ModuleFailures.Count, wiki.ModuleAssumptions.Count,
			extract.Blocks, wiki.XMLBytes, facts.HTMLBytes, facts.Footers, wiki.Trailing, extract.InvalidUTF8,
			books.Skipped, books.Recoded, books.Trimmed, books.Apparatus, extract.Wikitext, extract.HTML, extract.Rejects.Count, sharding.EqualIDs},
	})
}

// A SourceSpec describes a source at the time of planning.
type SourceSpec struct {
	Kind  string
	Paths []string // one path; for text, all files: they form one stream of lines
	Stem  string   // identifies the source in the names of its documents files
	Bytes int64
	Head  wiki.Head // facts from the beginning of a dump
	// Definitions is the name of the file in [sharding.TemplatesFolder] with the
	// definitions of the dump's own templates; "": templates are not expanded.
	Definitions string `json:",omitempty"`
	// Inputs describe the files in Paths as they were at the time of planning;
	// empty for a directory of books.
	Inputs []sharding.Input
}

// An extractTask is the plan of one documents file. Its input is a range of bytes of a
// dump, some books, or some files of pages. For text and snapshots the input is the whole
// source, and the fields for the other kinds are empty.
type extractTask struct {
	Source int         `json:"source"`
	Number int         `json:"number"` // index of the documents file within its source
	Range  *wiki.Range `json:"range,omitempty"`
	Books  *books.Task `json:"books,omitempty"`
	Pages  []string    `json:"pages,omitempty"`      // files of pages in the source's directory; [""]: the source itself is the file
	Bytes  int64       `json:"page_bytes,omitempty"` // total size of the files in Pages
}

func (s SourceSpec) fileName(number int) string {
	return fmt.Sprintf("%s%s-%05d", sharding.DocumentsPrefix, s.Stem, number)
}

// Extract extracts documents from sources to OUT/documents-SOURCE-NNNNN.jsonl.zst.
func Extract(ctx context.Context, r stage.Runner, c ExtractConfig) (*sharding.Manifest, error) {
	if err := c.Extract.Validate(); err != nil {
		return nil, failure.Usage(err)
	}
	files, err := c.checkEffect(ctx, c.Sources, nil)
	if err != nil {
		return nil, err
	}
	var templates []string
	c.Extract.Wiki.Templates = nil
	for _, f := range files {
		c.Extract.Wiki.Templates = append(c.Extract.Wiki.Templates, wiki.TemplateFile{Name: f.Name, SHA256: f.SHA256})
		templates = append(templates, f.text)
	}
	plan, err := planSources(ctx, c, r.Tell)
	if err != nil {
		return nil, err
	}
	m, err := c.run(ctx, r, plan, templates)
	if err != nil {
		return nil, err
	}
	if extract.Documents.Of(m.Counts) == 0 {
		return nil, fmt.Errorf("%w in %s: %s%s", sharding.ErrNoDocuments, plan.names(), sharding.RejectSummary(m.Counts), sharding.RejectCure(m.Counts))
	}
	return m, checkRejects(m.Counts, c.MaxRejects)
}

// run runs the stage. If dumps may contain templates, it first runs the stage that
// collects the template definitions. templates are the contents of the user's files.
func (c *ExtractConfig) run(ctx context.Context, r stage.Runner, plan *sourcePlan, templates []string) (*sharding.Manifest, error) {
	dumps, err := c.mayHaveTemplates(ctx, plan)
	if err != nil {
		return nil, err
	}
	if len(dumps) == 0 {
		return stage.Run(ctx, r, c.config(plan, templates))
	}
	return stage.Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		if err := c.claim(ctx, folder, plan); err != nil {
			return nil, err
		}
		defer c.openSpool(folder, r, plan, dumps)()
		if err := c.collect(ctx, r, plan, dumps); err != nil {
			return nil, err
		}
		if c.Extract.Definitions == nil {
			if err := removeBelow(ctx, folder, sharding.TemplatesFolder); err != nil {
				return nil, err
			}
		}
		return stage.RunIn(ctx, folder, r, c.config(plan, templates))
	})
}

// claim claims the directory before definitions are collected. If the directory has a
// plan, claim uses the definitions in that plan.
func (c *ExtractConfig) claim(ctx context.Context, folder store.Folder, plan *sourcePlan) error {
	options := c.Extract
	if old, err := sharding.ReadPlan(ctx, folder); err == nil && old.Stage == "extract" {
		var have ExtractOptions
		if json.Unmarshal(old.Options, &have) == nil {
			options.Definitions = have.Definitions
		}
	}
	recipe, err := stage.Config{Stage: "extract", Options: options, Inputs: plan.inputs}.Recipe()
	if err != nil {
		return err
	}
	if err := stage.Claim(ctx, folder, recipe, c.Overwrite); err != nil || c.Overwrite || options.Definitions == nil {
		return err
	}
	// Definitions collected by another version would overwrite those of the existing
	// documents, and only afterwards the documents would be refused.
	old, err := sharding.ReadPlan(ctx, folder.Folder(sharding.TemplatesFolder))
	if err == nil && old.Stage == sharding.TemplatesFolder && old.Algorithm != templatesAlgorithm {
		return &stage.OptionsError{Folder: folder.String(), Differences: []string{fmt.Sprintf("definitions of templates made by version %d of their stage, this program has %d", old.Algorithm, templatesAlgorithm)}}
	}
	return nil
}

// config returns the configuration of the stage.
func (c *ExtractConfig) config(plan *sourcePlan, templates []string) stage.Config {
	return stage.Config{Target: c.Target, Stage: "extract", Options: c.Extract, Inputs: plan.inputs, Paths: plan.paths(),
		Work: extractWork{plan.sources, c.Extract, templates}, Tasks: stage.Tasks(plan.tasks), Sizes: plan.sizes(), Total: plan.bytes,
		Loaded: c.spool,
		Prepare: func(ctx context.Context, folder store.Folder) error {
			if c.Extract.Definitions == nil && c.Overwrite {
				return removeBelow(ctx, folder, sharding.TemplatesFolder)
			}
			return nil
		}}
}

// A RejectsError reports that the fraction of unreadable pages, books and lines exceeds
// [Reading].MaxRejects.
type RejectsError struct {
	Rejected, Seen int64
	Allowed        float64
	Reasons        string
}

func (e *RejectsError) Error() string {
	return fmt.Sprintf("%d of %d pages, books or lines are unreadable (%s), more than --max-rejects %g allows",
		e.Rejected, e.Seen, e.Reasons, e.Allowed)
}

// OverLimit marks the error for exit codes.
func (e *RejectsError) OverLimit() bool { return true }

// unreadable lists the reject reasons that mean bad data. All other reasons depend on the
// options.
var unreadable = []extract.Reject{extract.RejectMalformed, extract.RejectUnterminated, extract.RejectTooLarge, extract.RejectBinary, extract.RejectEncoding}

func checkRejects(c sharding.Counts, allowed float64) error {
	bad := sharding.Counts{}
	var rejected int64
	for _, reason := range unreadable {
		key := extract.Rejects.Member(reason)
		if n := c[key]; n > 0 {
			bad[key] = n
			rejected += n
		}
	}
	seen := extract.Documents.Of(c)
	for _, n := range extract.Rejects.Members(c) {
		seen += n
	}
	if float64(rejected) > allowed*float64(seen) {
		return &RejectsError{Rejected: rejected, Seen: seen, Allowed: allowed, Reasons: sharding.RejectSummary(bad)}
	}
	return nil
}
