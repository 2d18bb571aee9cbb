package pipeline

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"pretext/counts"
	"pretext/extract/bzip2"
	"pretext/extract/wiki"
	"pretext/extract/wiki/definitions"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// templatesAlgorithm is the version of the stage that collects template definitions. It
// is raised if the same dumps would result in different definitions.
const templatesAlgorithm = 4

// Values of [ExtractOptions].ExpandTemplates.
const (
	ExpandAuto = ""    // if a dump has template pages, expand the templates in its sentences
	ExpandOff  = "off" // drop templates that are not in the data of package rendering
)

// A DefinitionsFile identifies the definitions of a dump's own templates. They are used
// to expand the templates in its sentences.
type DefinitionsFile struct {
	Source      string `json:"source"` // base name of the dump
	Definitions int64  `json:"definitions"`
	SHA256      string `json:"sha256"` // hash of the dump's file in the directory [sharding.TemplatesFolder]
}

// templatesWork contains the options of the workers that collect definitions.
type templatesWork struct {
	Sources []SourceSpec
	Spool   wiki.Options // options of the extract stage, which will read the spool
}

// templatesOptions are the options that determine which definitions are collected.
type templatesOptions struct {
	MaxBytes  int `json:"max_definition_bytes"`
	MaxSwitch int `json:"max_switch_bytes"`
}

// definitionsCount is the number of definitions in the directories of all dumps.
var definitionsCount = counts.Declare("definitions", counts.About{Label: "definitions", In: counts.Summary, Meaning: "definitions of all dumps"})

func init() {
	stage.Register(stage.Definition{
		Name:      sharding.TemplatesFolder,
		Algorithm: templatesAlgorithm,
		New: stage.New(func(env *stage.Env, work templatesWork) stage.Worker {
			return &templatesWorker{env, work}
		}),
		Counts: []counts.Count{wiki.TemplatePages, wiki.Modules, definitionsCount, wiki.LeftOutPages.Count},
	})
}

// templatesWorker collects the definitions of templates.
type templatesWorker struct {
	*stage.Env
	templatesWork
}

// SideCars names the side-car of a task, for helpers on a cluster.
func (w *templatesWorker) SideCars(index int, plan func(to any) error) ([]string, error) {
	var t extractTask
	if err := plan(&t); err != nil {
		return nil, err
	}
	if problem := t.check(w.Sources); problem != "" {
		return nil, stage.BadPlan(index, problem)
	}
	return []string{stage.SideCarOf(t.definitionsName(w.Sources[t.Source]))}, nil
}

// Do writes the definitions of a range, sorted.
func (w *templatesWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t extractTask
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	if problem := t.check(w.Sources); problem != "" || t.Range == nil {
		return nil, stage.BadPlan(index, problem)
	}
	source := w.Sources[t.Source]
	file := stage.TaskFile{Task: index, Name: t.definitionsName(source), Size: t.bytes(source)}
	return w.WriteFile(ctx, file, func(out *stage.Output) (sharding.Counts, error) {
		counts, err := w.collect(ctx, source, t, out)
		if err != nil {
			return nil, explainSource(ctx, source, err)
		}
		return counts, nil
	})
}

// definitionsName returns the name of the file with a task's sorted definitions.
func (t extractTask) definitionsName(s SourceSpec) string {
	return fmt.Sprintf("%s-%s-%05d.range", sharding.TemplatesFolder, s.Stem, t.Number)
}

// collect writes the definitions from a task's range to out.
func (w *templatesWorker) collect(ctx context.Context, s SourceSpec, t extractTask, out *stage.Output) (sharding.Counts, error) {
	rng := *t.Range
	f, err := store.OpenPath(ctx, s.Paths[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	store.Sequential(f, rng.Start, rng.End-rng.Start)
	metered := &meteredReaderAt{ctx: ctx, r: f, meter: w.Meter, next: rng.Start, end: rng.End}
	dump := wiki.Dump{File: metered, Size: f.Size(), Name: store.Base(s.Paths[0]), Head: s.Head}
	hash := wiki.NewRangeHash(metered, rng)
	pages := w.spool(s, t)
	if pages != nil {
		dump.File = hash
	}
	r, ok := w.Take().(*wiki.Reader)
	if ok {
		r.Reset(dump, rng)
	} else {
		r = wiki.NewReader(dump, rng, wiki.DefaultOptions())
	}
	defer w.Give(r)
	sorter := definitions.NewSorter(func() (definitions.Spill, error) { return w.TempFile() })
	defer sorter.Close()
	var stats wiki.DefinitionStats
	var end wiki.SpoolEnd
	for d, err := range r.Definitions(&stats, pages) {
		if errors.Is(err, bzip2.ErrTrailing) {
			end.Trailing = err.Error() // padding after the last page
			break
		}
		if err == nil {
			err = sorter.Add(d)
		}
		if err != nil {
			return nil, err
		}
	}
	if pages != nil {
		if end.SHA256, err = hash.Sum(); err != nil {
			return nil, err
		}
		pages.Close(r, end)
	}
	if _, err := writeDefinitions(out, sorter.Sorted()); err != nil {
		return nil, err
	}
	return stats.Counts(), nil
}

// spool returns a writer that stores the task's pages in the spool. It returns nil if
// there is no spool, which only the driver's process has, or if the dump is not
// compressed, so that reading it again costs nothing.
func (w *templatesWorker) spool(s SourceSpec, t extractTask) *wiki.SpoolWriter {
	spool, _ := w.Loaded().(*wiki.Spool)
	if spool == nil || s.Head.Compression == wiki.CompressionNone {
		return nil
	}
	return spool.Create(s.fileName(t.Number), w.templatesWork.Spool)
}

// Finish writes a directory for each dump's definitions, and the manifest.
func (w *templatesWorker) Finish(ctx context.Context, results []stage.Result) error {
	parts := make([][]definitions.Part, len(w.Sources))
	for _, r := range results {
		var t extractTask
		if err := w.Task(ctx, r.Task, &t); err != nil {
			return err
		}
		if problem := t.check(w.Sources); problem != "" {
			return stage.BadPlan(r.Task, problem)
		}
		part, err := w.part(ctx, r)
		if err != nil {
			return err
		}
		parts[t.Source] = append(parts[t.Source], part)
	}
	var files []sharding.FileEntry
	for k, s := range w.Sources {
		e, err := w.Write(ctx, sharding.DefinitionsFile(s.Stem), definitions.AppendDirectory(nil, parts[k]))
		if err != nil {
			return err
		}
		e.Counts = sharding.Counts{definitionsCount.Key: 0}
		for _, p := range parts[k] {
			definitionsCount.Add(e.Counts, p.File.Len())
		}
		files = append(files, e)
	}
	return w.Manifest(ctx, results, sharding.Manifest{Files: files})
}

// part returns the definitions written by a task, for the directory of the dump.
func (w *templatesWorker) part(ctx context.Context, r stage.Result) (p definitions.Part, err error) {
	car, err := r.Car()
	if err != nil {
		return p, err
	}
	f, err := w.Folder.Open(ctx, car.File.Name)
	if err != nil {
		return p, err
	}
	defer f.Close() // the directory needs only the index, which definitions.Open reads
	p.Name = car.File.Name
	if n, err := hex.Decode(p.SHA256[:], []byte(car.File.SHA256)); err != nil || n != len(p.SHA256) {
		return p, fmt.Errorf("side-car %s in %s: %w: invalid SHA-256 %q", r.SideCar, w.Folder, sharding.ErrFormat, car.File.SHA256)
	}
	if p.File, err = definitions.Open(f, f.Size()); err != nil {
		return p, fmt.Errorf("%s: %w", store.Join(w.Out(), p.Name), err)
	}
	return p, nil
}

// writeDefinitions writes sorted definitions to out and returns their number.
func writeDefinitions(out io.Writer, sorted iter.Seq2[definitions.Definition, error]) (int64, error) {
	w, err := definitions.NewWriter(out)
	if err != nil {
		return 0, err
	}
	for d, err := range sorted {
		if err == nil {
			err = w.Add(d)
		}
		if err != nil {
			return 0, err
		}
	}
	return w.Count(), w.Close()
}

// openDefinitions opens the directory of a dump's definitions.
func openDefinitions(ctx context.Context, folder store.Folder, name string) (*definitions.Directory, error) {
	raw, err := store.ReadFile(ctx, folder, name)
	if err != nil {
		return nil, err
	}
	d, err := definitions.OpenDirectory(raw, func(part string) (definitions.PartFile, error) { return folder.Open(ctx, part) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", store.Join(folder.String(), name), err)
	}
	return d, nil
}

// explainSource returns a [*ChangedError] if the source s has changed. Otherwise it
// returns err, the error of reading s.
func explainSource(ctx context.Context, s SourceSpec, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if changed := checkUnchanged(ctx, s); changed != nil {
		return changed
	}
	return err
}

// mayHaveTemplates returns the indices of the dumps in the plan whose template
// definitions are collected. If the stage's directory has a plan with these options, the
// result is taken from that plan. Otherwise mayHaveTemplates probes the dumps.
func (c *ExtractConfig) mayHaveTemplates(ctx context.Context, plan *sourcePlan) (dumps []int, err error) {
	if c.Extract.ExpandTemplates == ExpandOff {
		return nil, nil
	}
	decided := c.decided(ctx, plan)
	for k, s := range plan.sources {
		if s.Kind != KindWiki {
			continue
		}
		may := decided != nil && slices.ContainsFunc(decided.Definitions, func(d DefinitionsFile) bool { return d.Source == s.Stem })
		if decided == nil {
			if may, err = probeDump(ctx, s); err != nil {
				return nil, err
			}
		}
		if may {
			dumps = append(dumps, k)
		}
	}
	return dumps, nil
}

// decided returns the options of an interrupted or finished run in the stage's directory,
// if they equal those of c except for the definitions. Otherwise it returns nil.
func (c *ExtractConfig) decided(ctx context.Context, plan *sourcePlan) *ExtractOptions {
	folder, err := store.Open(c.Out)
	if err != nil {
		return nil
	}
	old, err := sharding.ReadPlan(ctx, folder)
	if err != nil || old.Stage != "extract" {
		return nil
	}
	var options ExtractOptions
	if json.Unmarshal(old.Options, &options) != nil {
		return nil
	}
	same := c.Extract
	same.Definitions = options.Definitions
	recipe, err := stage.Config{Stage: "extract", Options: same, Inputs: plan.inputs}.Recipe()
	if err != nil || recipe.Fingerprint() != old.Fingerprint {
		return nil
	}
	return &options
}

// probeDump reports whether a dump may contain template pages, see [wiki.Probe].
func probeDump(ctx context.Context, s SourceSpec) (bool, error) {
	f, err := store.OpenPath(ctx, s.Paths[0])
	if err != nil {
		return false, err
	}
	defer f.Close()
	dump := wiki.Dump{File: f, Size: f.Size(), Name: store.Base(s.Paths[0]), Head: s.Head}
	may, err := wiki.Probe(ctx, dump)
	if err != nil {
		return false, fmt.Errorf("%s: %w", s.Paths[0], explainSource(ctx, s, err))
	}
	return may, nil
}

// collect runs the stage that collects template definitions, in OUT/templates. dumps are
// indices of dumps in the plan. collect stores the definitions in the plan and the
// options. The caller must hold the lock of the extract stage's directory.
func (c *ExtractConfig) collect(ctx context.Context, r stage.Runner, plan *sourcePlan, dumps []int) error {
	target := c.In(sharding.TemplatesFolder)
	target.Overwrite = isStage(ctx, target.Out, sharding.TemplatesFolder) // definitions of other dumps may be replaced, but never files that are not pretext's
	run := stage.Config{Target: target, Stage: sharding.TemplatesFolder, Options: templatesOptions{wiki.MaxDefinition, wiki.MaxSwitch}}
	var work templatesWork
	var tasks []extractTask
	for _, k := range dumps {
		s := plan.sources[k]
		for _, t := range plan.tasks {
			if t.Source == k {
				t.Source = len(work.Sources)
				tasks, run.Sizes = append(tasks, t), append(run.Sizes, t.bytes(s))
			}
		}
		work.Sources = append(work.Sources, s)
		run.Inputs, run.Paths = append(run.Inputs, s.Inputs...), append(run.Paths, s.Paths...)
		run.Total += s.Bytes
	}
	work.Spool, run.Loaded = c.Extract.Wiki, c.spool
	run.Work, run.Tasks = work, stage.Tasks(tasks)
	m, err := stage.Run(ctx, r, run)
	if err != nil {
		return err
	}
	c.Extract.Definitions = nil
	for _, k := range dumps {
		s := &plan.sources[k]
		for _, e := range m.Files {
			if n := definitionsCount.Of(e.Counts); n > 0 && e.Name == sharding.DefinitionsFile(s.Stem) {
				s.Definitions = e.Name
				c.Extract.Definitions = append(c.Extract.Definitions, DefinitionsFile{s.Stem, n, e.SHA256})
			}
		}
	}
	return nil
}

// isStage reports whether a directory contains the plan of the named stage.
func isStage(ctx context.Context, location, name string) bool {
	folder, err := store.Open(location)
	if err != nil {
		return false
	}
	plan, err := sharding.ReadPlan(ctx, folder)
	return err == nil && plan.Stage == name
}

// removeBelow removes the output of a stage in a subdirectory, left by an earlier run:
// template definitions, or the token counts of a mix.
func removeBelow(ctx context.Context, folder store.Folder, name string) error {
	below := folder.Folder(name)
	if !isStage(ctx, below.String(), name) {
		return nil
	}
	return stage.Empty(ctx, below)
}

// sharedDefinitions are the template definitions that all tasks of a process share.
type sharedDefinitions struct {
	mu     sync.Mutex
	caches map[string]*definitions.Cache // by file
}

// definitions returns the definitions of the source's own templates, or nil if templates
// are not expanded.
func (w *extractWorker) definitions(ctx context.Context, s SourceSpec) (*definitions.Cache, error) {
	if s.Definitions == "" {
		return nil, nil
	}
	loaded, err := w.Share(func() (any, error) { return &sharedDefinitions{caches: map[string]*definitions.Cache{}}, nil })
	if err != nil {
		return nil, err
	}
	shared := loaded.(*sharedDefinitions)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if c := shared.caches[s.Definitions]; c != nil {
		return c, nil
	}
	f, err := openDefinitions(context.WithoutCancel(ctx), w.Folder.Folder(sharding.TemplatesFolder), s.Definitions)
	if err != nil {
		return nil, err
	}
	c := definitions.NewCache(f)
	shared.caches[s.Definitions] = c
	return c, nil
}
