package pipeline

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"pretext/internal/store"
	"pretext/sharding"
)

// A Spec is what a worker needs to do any task of a stage, wherever it runs:
// plain data that Beam ships as JSON. Exactly one of the stages' parts is set.
type Spec struct {
	Stage       string
	Out         string // location of the stage's folder
	Fingerprint string // of the plan
	Extract     *ExtractSpec
	Vocab       *VocabSpec
	Examples    *ExamplesSpec
}

// A worker does the tasks of one stage. Its methods are called from several
// goroutines at a time.
type worker interface {
	// do makes the files of a task, or finds that they are there already.
	do(ctx context.Context, task int) ([]Result, error)
	// finish writes what there is to write of all results, the manifest last.
	finish(ctx context.Context, results []Result) error
}

func (s Spec) worker(j *job) (worker, error) {
	folder, err := store.Open(s.Out)
	if err != nil {
		return nil, err
	}
	st := &stage{spec: s, folder: folder, job: j, meter: j.meter}
	switch {
	case s.Extract != nil:
		return &extractWorker{stage: st, ExtractSpec: *s.Extract}, nil
	case s.Vocab != nil:
		return &vocabWorker{stage: st, VocabSpec: *s.Vocab}, nil
	case s.Examples != nil:
		return &examplesWorker{stage: st, ExamplesSpec: *s.Examples}, nil
	}
	panic("BUG: spec without a stage")
}

// ErrFenced says that the folder now belongs to another plan: a worker that was
// thought dead must not write into it.
var ErrFenced = errors.New("the folder belongs to another plan by now")

// stage is what the workers of all stages share.
type stage struct {
	spec   Spec
	folder store.Folder
	job    *job
	meter  *Meter
}

// task reads the plan of a task.
func (s *stage) task(ctx context.Context, index int, to any) error {
	name := sharding.TaskFile(index)
	b, err := store.ReadFile(ctx, s.folder.Folder(sharding.PlanFolder), name)
	if err != nil {
		return fmt.Errorf("read plan of task %d: %w", index, err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("read plan of task %d: %s: %w", index, name, err)
	}
	return nil
}

// fence reports whether the folder still belongs to this worker's plan. It is
// asked just before every commit.
func (s *stage) fence(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	plan, err := sharding.ReadPlan(ctx, s.folder)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	if plan.Fingerprint != s.spec.Fingerprint {
		return fmt.Errorf("%w: %s", ErrFenced, s.folder)
	}
	return nil
}

// commit makes a file visible, behind the fence.
func (s *stage) commit(ctx context.Context, o *output) error {
	if err := o.flush(); err != nil {
		return err
	}
	if err := s.fence(ctx); err != nil {
		return err
	}
	return o.w.Commit()
}

// write creates a small file behind the fence and returns its entry.
func (s *stage) write(ctx context.Context, name string, data []byte) (sharding.FileEntry, error) {
	if err := s.fence(ctx); err != nil {
		return sharding.FileEntry{}, err
	}
	if err := store.WriteFile(ctx, s.folder, name, data); err != nil {
		return sharding.FileEntry{}, err
	}
	return sharding.FileEntry{Name: name, Bytes: int64(len(data)), SHA256: sharding.Hash(data)}, nil
}

// prove commits a side-car, the proof that its file is done.
func (s *stage) prove(ctx context.Context, name string, car sharding.SideCar) (Result, error) {
	car.FormatVersion, car.Stage, car.Fingerprint = sharding.FormatVersion, s.spec.Stage, s.spec.Fingerprint
	e, err := s.write(ctx, name, sharding.Compact(car))
	return Result{Task: car.Task, SideCar: name, SHA256: e.SHA256}, err
}

// proved returns the results of a task when all its side-cars prove it.
func (s *stage) proved(ctx context.Context, task int, sideCars ...string) (results []Result, ok bool, err error) {
	for _, name := range sideCars {
		_, sum, ok, err := sharding.Proved(ctx, s.folder, name, s.spec.Fingerprint)
		if err != nil || !ok {
			return nil, false, err
		}
		results = append(results, Result{Task: task, SideCar: name, SHA256: sum})
	}
	return results, true, nil
}

// manifest writes the manifest over the files that the side-cars speak of, and
// files beside them. Its counts are the sums of the files' and what is known of
// the whole alone.
func (s *stage) manifest(ctx context.Context, results []Result, whole sharding.Counts, more ...sharding.FileEntry) error {
	plan, err := sharding.ReadPlan(ctx, s.folder)
	if err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	m := sharding.Manifest{Recipe: plan.Recipe, Fingerprint: plan.Fingerprint, Counts: sharding.Counts{}, Files: more}
	m.Counts.Add(whole)
	for _, e := range more {
		m.Counts.Add(e.Counts)
	}
	for _, r := range results {
		raw, err := store.ReadFile(ctx, s.folder, r.SideCar)
		if err != nil {
			return err
		}
		if sharding.Hash(raw) != r.SHA256 {
			return fmt.Errorf("%s in %s changed while the stage ran", r.SideCar, s.folder)
		}
		car, err := sharding.ReadSideCar(ctx, s.folder, r.SideCar)
		if err != nil {
			return err
		}
		m.Counts.Add(car.File.Counts)
		m.Files = append(m.Files, car.File, sharding.FileEntry{Name: r.SideCar, Task: r.Task, Bytes: int64(len(raw)), SHA256: r.SHA256})
		if car.Index.Name != "" {
			m.Files = append(m.Files, car.Index)
		}
	}
	slices.SortFunc(m.Files, func(a, b sharding.FileEntry) int { return strings.Compare(a.Name, b.Name) })
	_, err = s.write(ctx, sharding.ManifestName, sharding.Marshal(m))
	return err
}

// An output is a file under construction that is hashed as it is written.
type output struct {
	name string
	w    store.Writer
	buf  *bufio.Writer
	sum  hash.Hash
	n    int64
}

func (s *stage) create(ctx context.Context, name string) (*output, error) {
	w, err := s.folder.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	o := &output{name: name, w: w, sum: sha256.New()}
	o.buf = bufio.NewWriterSize(hashed{o}, 256<<10)
	return o, nil
}

// hashed passes writes on and hashes them, in the large pieces that the buffer
// before it makes.
type hashed struct{ *output }

func (h hashed) Write(p []byte) (int, error) {
	n, err := h.w.Write(p)
	h.sum.Write(p[:n])
	h.n += int64(n)
	return n, err
}

// Write appends to the file.
func (o *output) Write(p []byte) (int, error) { return o.buf.Write(p) }

func (o *output) flush() error { return o.buf.Flush() }

// abort discards the file; after commit it does nothing.
func (o *output) abort() { o.w.Abort() }

// entry describes the file; the output is flushed.
func (o *output) entry(task int, counts sharding.Counts) sharding.FileEntry {
	return sharding.FileEntry{Name: o.name, Task: task, Bytes: o.n, SHA256: hex.EncodeToString(o.sum.Sum(nil)), Counts: counts}
}

// An OptionsError says that a folder holds something else than what was asked
// for. It is a usage error.
type OptionsError struct {
	Folder      string
	Differences []string
}

func (e *OptionsError) Error() string {
	return fmt.Sprintf("%s was made with other options or inputs (%s): give another --out, or --overwrite to make it anew",
		e.Folder, strings.Join(e.Differences, "; "))
}

// claim checks that a folder is free for a recipe, or holds work of the very
// same recipe. With overwrite, other work is removed.
func claim(ctx context.Context, folder store.Folder, recipe sharding.Recipe, overwrite bool) error {
	plan, err := sharding.ReadPlan(ctx, folder)
	var old sharding.Recipe
	switch {
	case err == nil:
		old = plan.Recipe
	case errors.Is(err, fs.ErrNotExist):
		m, err := sharding.ReadManifest(ctx, folder)
		if errors.Is(err, sharding.ErrUnfinished) {
			return nil
		}
		if err != nil && !overwrite {
			return err
		}
		if m != nil {
			old = m.Recipe
		}
	case !overwrite:
		return err
	}
	if old.Fingerprint() == recipe.Fingerprint() {
		return nil
	}
	if !overwrite {
		return &OptionsError{folder.String(), differences(old, recipe)}
	}
	return empty(ctx, folder)
}

// empty removes the files of a stage: the manifest first, so that the folder is
// at no moment taken for finished, and the plan last, so that a folder without
// a plan never holds files of an older one, wherever this is cut short. The
// tasks of the plan go when the next is written.
func empty(ctx context.Context, folder store.Folder) error {
	if err := folder.Remove(ctx, sharding.ManifestName); err != nil {
		return err
	}
	if err := removeOurs(ctx, folder, sharding.PlanName); err != nil {
		return err
	}
	return folder.Remove(ctx, sharding.PlanName)
}

// removeOurs removes the files of a folder that a stage may have written, but
// one.
func removeOurs(ctx context.Context, folder store.Folder, but string) error {
	files, err := folder.List(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, info := range files {
		if info.Name == but || !ours(info.Name) {
			continue
		}
		if err := folder.Remove(ctx, info.Name); err != nil {
			return err
		}
	}
	return nil
}

// ours reports whether a stage writes files of this name.
func ours(name string) bool {
	if _, ok := sharding.ParseShardName(name); ok {
		return true
	}
	switch name {
	case sharding.ManifestName, sharding.PlanName, sharding.RunName, sharding.VocabName:
		return true
	}
	stem, isTask := strings.CutSuffix(name, sharding.SideCarSuffix)
	isTask = isTask && strings.Trim(stem, "0123456789") == ""
	return isTask || strings.HasPrefix(name, documentsPrefix) || strings.HasPrefix(name, countsPrefix)
}

// differences names what two recipes differ in, for people.
func differences(old, new sharding.Recipe) (diffs []string) {
	if old.Stage != new.Stage {
		return []string{fmt.Sprintf("it holds the output of stage %q, not %q", old.Stage, new.Stage)}
	}
	if old.Algorithm != new.Algorithm {
		diffs = append(diffs, fmt.Sprintf("made by version %d of the stage, this program has %d", old.Algorithm, new.Algorithm))
	}
	a, b := flatten(old.Options), flatten(new.Options)
	for _, k := range slices.Sorted(maps.Keys(union(a, b))) {
		if a[k] != b[k] {
			diffs = append(diffs, fmt.Sprintf("%s was %s, now %s", k, orNone(a[k]), orNone(b[k])))
		}
	}
	if !slices.Equal(old.Inputs, new.Inputs) {
		diffs = append(diffs, fmt.Sprintf("inputs were %s, now %s", describe(old.Inputs), describe(new.Inputs)))
	}
	return diffs
}

func describe(inputs []sharding.Input) string {
	var names []string
	for _, in := range inputs {
		names = append(names, fmt.Sprintf("%s (%d bytes, %.8s)", in.Name, in.Bytes, in.SHA256))
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("… %d in all", len(inputs)))
	}
	return strings.Join(names, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

func union(a, b map[string]string) map[string]string {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// flatten turns nested JSON options into dotted names and values.
func flatten(raw json.RawMessage) map[string]string {
	var v any
	out := map[string]string{}
	if json.Unmarshal(raw, &v) != nil {
		return out
	}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			b, _ := json.Marshal(v)
			out[prefix] = string(b)
			return
		}
		for k, v := range m {
			walk(strings.TrimPrefix(prefix+"."+k, "."), v)
		}
	}
	walk("", v)
	return out
}

// driveConfig is what [drive] needs of a stage.
type driveConfig struct {
	spec      Spec
	recipe    sharding.Recipe
	tasks     []any // the plan of each task
	total     int64 // of the meter
	overwrite bool
	// prepare writes what all tasks read; it runs under the folder's lock,
	// before the first task. It may be nil.
	prepare func(context.Context, store.Folder) error
}

// drive locks a stage's folder and runs the stage there.
func drive(ctx context.Context, r Runner, c driveConfig) (*sharding.Manifest, error) {
	return locked(c.spec.Out, func(folder store.Folder) (*sharding.Manifest, error) { return driveIn(ctx, folder, r, c) })
}

// driveIn runs a stage in a locked folder: it claims the folder, writes the
// plan, runs the job and returns the manifest.
func driveIn(ctx context.Context, folder store.Folder, r Runner, c driveConfig) (*sharding.Manifest, error) {
	if err := claim(ctx, folder, c.recipe, c.overwrite); err != nil {
		return nil, err
	}
	if err := writePlan(ctx, folder, c.recipe, c.tasks); err != nil {
		return nil, err
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, folder); err != nil {
			return nil, err
		}
	}
	c.spec.Fingerprint = c.recipe.Fingerprint()
	start, cpu := time.Now(), cpuTime()
	meter := &Meter{Stage: c.spec.Stage, Total: c.total}
	if r.Watch != nil {
		defer r.Watch(meter)()
	}
	if err := runJob(ctx, r, c.spec, len(c.tasks), meter); err != nil {
		return nil, err
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	if m.Fingerprint != c.spec.Fingerprint {
		return nil, fmt.Errorf("%w: %s", ErrFenced, folder)
	}
	return m, writeRunInfo(ctx, folder, r, c.spec, start, cpu)
}

// writePlan sweeps what a killed run left and writes the tasks, plan.json last.
func writePlan(ctx context.Context, folder store.Folder, recipe sharding.Recipe, tasks []any) error {
	planFolder := folder.Folder(sharding.PlanFolder)
	for _, f := range []store.Folder{folder, planFolder} {
		if err := store.Sweep(f); err != nil {
			return err
		}
	}
	plan := sharding.StagePlan{Recipe: recipe, Tasks: len(tasks), Fingerprint: recipe.Fingerprint()}
	if old, err := sharding.ReadPlan(ctx, folder); err == nil && old.Fingerprint == plan.Fingerprint && old.Tasks == plan.Tasks {
		return nil // the same plan: its tasks were written before it
	}
	if err := removeOurs(ctx, planFolder, ""); err != nil { // of an older plan, or of one that was never finished
		return fmt.Errorf("write plan: %w", err)
	}
	for i, t := range tasks {
		if err := store.WriteFile(ctx, planFolder, sharding.TaskFile(i), sharding.Compact(t)); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
	}
	if err := store.WriteFile(ctx, folder, sharding.PlanName, sharding.Marshal(plan)); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}
