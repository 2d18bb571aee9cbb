package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"pretext/extract"
	"pretext/extract/parallel"
	"pretext/internal/store"
	"pretext/sharding"
)

// An Env is the environment of a worker: the stage's directory, and functions for writing
// files to it. Workers embed an Env.
type Env struct {
	Folder store.Folder // the stage's directory
	Meter  *Meter
	// Facts returns the facts that the stage's warnings need from the body of a side-car;
	// nil if there are none. It is used for results of an earlier run. The worker sets
	// it.
	Facts func(body json.RawMessage) (*sharding.Facts, error)
	// Known contains facts that the worker's Finish already has and the warnings need.
	// [Env.Manifest] adds Known.Facts.
	Known sharding.Known
	spec  Spec
	job   *job
}

// Documents yields the documents in the given blocks, and at most one error. The blocks
// refer to the documents directories in [Config].Paths. Documents adds the size of the
// text to the meter.
func (s *Env) Documents(ctx context.Context, blocks sharding.BlockList) iter.Seq2[*extract.Document, error] {
	return blocks.Documents(ctx, s.spec.Paths, s.Meter.Add)
}

// Paths returns [Config].Paths, the paths of the stage's input.
func (s *Env) Paths() []string { return s.spec.Paths }

// Out returns the location of the stage's directory.
func (s *Env) Out() string { return s.spec.Out }

// TempFile creates an unnamed temporary file, which disappears when it is closed.
func (s *Env) TempFile() (store.Scratch, error) { return store.NewScratch(s.Folder, s.spec.Temp) }

// Share returns the result of the first call of load in this job. Use Share for large
// data that all tasks read, because a runner may create many workers.
func (s *Env) Share(load func() (any, error)) (any, error) { return s.job.share(load) }

// Loaded returns [Config].Loaded in the driver's process, and nil in other processes.
func (s *Env) Loaded() any { return s.job.loaded }

// Take returns buffers that an earlier task passed to [Env.Give], or nil.
func (s *Env) Take() any { return s.job.take() }

// Give stores large buffers for a later task. So a job has no more buffers than
// concurrent tasks.
func (s *Env) Give(spare any) { s.job.give(spare) }

// Team returns the team for the jobs of a task, see [parallel.Team]. Its helpers are counted
// as running tasks. end must be called when the task ends.
func (s *Env) Team() (team *parallel.Team, end func()) {
	team = parallel.NewTeam(s.job.gate)
	return team, func() { s.Meter.watch.divide(team.End()) }
}

// Task decodes the plan of the task with this index into to, which must be a pointer.
func (s *Env) Task(ctx context.Context, index int, to any) error {
	raw, err := s.job.plan(s.Folder, index)
	if errors.Is(err, fs.ErrNotExist) { // a plan of an earlier version
		return sharding.ReadTask(ctx, s.Folder, index, to)
	}
	if err != nil {
		return fmt.Errorf("read plan of task %d: %w", index, err)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return BadPlan(index, err.Error())
	}
	return nil
}

// BadPlan returns the error for a task whose plan is valid JSON but refers to
// something that does not exist.
func BadPlan(index int, problem string) error {
	return fmt.Errorf("plan of task %d: %w: %s", index, sharding.ErrFormat, problem)
}

// Fence returns an error if the directory no longer belongs to this worker's plan. Every
// commit calls Fence, see [Env.Settle].
func (s *Env) Fence(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	asked := time.Now()
	plan, err := sharding.ReadPlan(ctx, s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errNoPlan, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	if plan.Fingerprint != s.spec.Fingerprint {
		return fmt.Errorf("%w: %s", ErrFenced, s.Folder)
	}
	if s.job != nil {
		s.job.fenced.Store(&asked)
	}
	return nil
}

// fenceLife is the time for which the result of a fence counts for other tasks of the
// process.
const fenceLife = 30 * time.Second

// recentFence is [Env.Fence], but makes no request if any task of this process has passed
// a fence lately. So most tasks make one request less. A worker that was suspended for
// longer makes the request before it writes anything.
func (s *Env) recentFence(ctx context.Context) error {
	if s.job != nil {
		if last := s.job.fenced.Load(); last != nil && time.Since(*last) < fenceLife {
			return ctx.Err()
		}
	}
	return s.Fence(ctx)
}

// Commit completes an output file and gives it its final name, see [Env.Settle].
func (s *Env) Commit(ctx context.Context, o *Output) error {
	if err := o.Wait(); err != nil {
		return err
	}
	return s.Settle(ctx, o.name, o.w)
}

// Settle commits the file with the given name, if the directory still belongs to this
// worker's plan. A worker may be suspended at any point, and another plan may then take
// over the directory. Therefore a commit never replaces an unknown file: if the name
// exists, Settle calls [Env.Fence] again and replaces only the file that existed before
// this call. After the commit Settle calls Fence once more. If the directory then belongs
// to another plan, Settle removes its file.
func (s *Env) Settle(ctx context.Context, name string, file store.Committer) error {
	if err := s.Fence(ctx); err != nil {
		return err
	}
	return s.settle(ctx, unsettled{name, file})
}

// An unsettled is a complete file that does not have its name yet.
type unsettled struct {
	name string
	file store.Committer
}

// settle is Settle for several files after the first fence. The files get their names in
// the order given. Fence is called once after all of them, because each call is a request
// to an object store.
func (s *Env) settle(ctx context.Context, files ...unsettled) error {
	for _, f := range files {
		err := f.file.Commit()
		for errors.Is(err, fs.ErrExist) {
			err = s.replace(ctx, f.name, f.file)
		}
		if err != nil {
			return err
		}
	}
	err := s.Fence(context.WithoutCancel(ctx))
	if errors.Is(err, ErrFenced) || errors.Is(err, errNoPlan) {
		for _, f := range slices.Backward(files) { // the proof first
			err = errors.Join(err, f.file.Withdraw())
		}
	}
	return err
}

// A Small is a file that is in memory.
type Small struct {
	Name string
	Data []byte
}

// Entry returns the manifest entry of the file.
func (f Small) Entry() sharding.FileEntry {
	return sharding.FileEntry{Name: f.Name, Bytes: int64(len(f.Data)), SHA256: sharding.Hash(f.Data)}
}

// Publish commits the output of a task: its files, small files, and last the side-car car
// with the given name, which proves that the others are complete. It returns the result of
// the task. See [Env.Settle]; the first fence may be that of another task, because a
// worker of another plan can tell by the fingerprint in the side-car that it proves nothing.
func (s *Env) Publish(ctx context.Context, outs []*Output, more []Small, name string, car sharding.SideCar) (Result, error) {
	var files []unsettled
	for _, o := range outs {
		if err := o.Wait(); err != nil {
			return Result{}, err
		}
		files = append(files, unsettled{o.name, o.w})
	}
	car = s.proof(car)
	proof := Small{name, car.Compact()}
	for _, f := range append(slices.Clone(more), proof) {
		w, err := s.create(ctx, f)
		if err != nil {
			return Result{}, err
		}
		defer w.Abort()
		files = append(files, unsettled{f.Name, w})
	}
	if err := s.recentFence(ctx); err != nil {
		return Result{}, err
	}
	return newResult(proof.Entry(), car), s.settle(ctx, files...)
}

// create writes a small file, without its name.
func (s *Env) create(ctx context.Context, f Small) (store.Writer, error) {
	w, err := s.Folder.Create(ctx, f.Name)
	if err != nil {
		return nil, err
	}
	written := false
	defer func() {
		if !written { // also after a panic
			w.Abort()
		}
	}()
	if _, err := w.Write(f.Data); err != nil {
		return nil, err
	}
	written = true
	return w, nil
}

// replace replaces the file with the given name, if the directory still belongs to this
// worker's plan.
func (s *Env) replace(ctx context.Context, name string, file store.Committer) error {
	old, err := s.Folder.Stat(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.Fence(ctx); err != nil { // after Stat: a file that a newer plan writes after this check differs from old
		return err
	}
	if old == nil {
		return file.Commit()
	}
	return file.Replace(old)
}

// Write creates a small file, commits it with [Env.Settle], and returns its manifest
// entry.
func (s *Env) Write(ctx context.Context, name string, data []byte) (sharding.FileEntry, error) {
	f := Small{name, data}
	w, err := s.create(ctx, f)
	if err != nil {
		return sharding.FileEntry{}, err
	}
	defer w.Abort()
	if err := s.Settle(ctx, name, w); err != nil {
		return sharding.FileEntry{}, err
	}
	return f.Entry(), nil
}

// WriteTokenizer writes the files that make the folder of a vocab.txt or tokenizer.json one
// that AutoTokenizer of the library transformers loads, and returns their entries. raw is
// the content of [sharding.ExamplesOptions.TokenFile].
func (s *Env) WriteTokenizer(ctx context.Context, o sharding.ExamplesOptions, raw []byte) (entries []sharding.FileEntry, err error) {
	files, err := o.TokenizerFiles(raw)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		e, err := s.Write(ctx, f.Name, f.Data)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Prove writes the side-car car, which proves that the files of a task are complete. It
// returns the result of the task.
func (s *Env) Prove(ctx context.Context, name string, car sharding.SideCar) (Result, error) {
	car = s.proof(car)
	e, err := s.Write(ctx, name, car.Compact())
	return newResult(e, car), err
}

// proof returns car as a side-car of this stage.
func (s *Env) proof(car sharding.SideCar) sharding.SideCar {
	car.FormatVersion, car.Stage, car.Fingerprint = sharding.FormatVersion, s.spec.Stage, s.spec.Fingerprint
	return car
}

// newResult returns the result of a task. car is the task's side-car, e its file.
func newResult(e sharding.FileEntry, car sharding.SideCar) Result {
	car.Body = nil
	if car.Facts != nil {
		car.Body = sharding.Compact(car.Facts)
	}
	return Result{Task: car.Task, SideCar: e.Name, Bytes: e.Bytes, SHA256: e.SHA256, Head: string(sharding.Compact(car))}
}

// Car returns the side-car in a result, with its Facts but without its Body.
func (r Result) Car() (car sharding.SideCar, err error) {
	if err = json.Unmarshal([]byte(r.Head), &car); err == nil && car.Body != nil {
		err = json.Unmarshal(car.Body, &car.Facts)
	}
	car.Body = nil
	return car, err
}

// A TaskFile describes the output of a task that writes a single file.
type TaskFile struct {
	Task int
	Name string
	Size int64 // size of the task in units of the meter
}

// SideCarOf returns the name of the side-car of the file with the given name: STEM.json
// for STEM.SUFFIX.
func SideCarOf(file string) string {
	stem, _, _ := strings.Cut(file, ".")
	return stem + sharding.SideCarSuffix
}

// WriteFile runs a task that writes a single file. It creates the file, calls write,
// commits the file and writes the side-car, see [SideCarOf]. If a side-car
// already proves that the file is complete, WriteFile does nothing.
func (s *Env) WriteFile(ctx context.Context, f TaskFile, write func(*Output) (sharding.Counts, error)) ([]Result, error) {
	sideCar := SideCarOf(f.Name)
	if results, ok, err := s.Proved(ctx, f.Task, sideCar); err != nil || ok {
		s.Meter.Add(f.Size)
		return results, err
	}
	out, err := s.Create(ctx, f.Name)
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	counts, err := write(out)
	if err != nil {
		return nil, err
	}
	if err := out.Wait(); err != nil {
		return nil, err
	}
	result, err := s.Publish(ctx, []*Output{out}, nil, sideCar, sharding.SideCar{Task: f.Task, File: out.Entry(f.Task, counts)})
	return []Result{result}, err
}

// Finish writes the manifest. It is the default Finish of workers that embed an Env.
func (s *Env) Finish(ctx context.Context, results []Result) error {
	return s.Manifest(ctx, results, sharding.Manifest{})
}

// Proved reports whether an earlier run has finished a task: all its side-cars exist and
// prove that its files are complete. If so, ok is true, and Proved returns the results.
func (s *Env) Proved(ctx context.Context, task int, sideCars ...string) (results []Result, ok bool, err error) {
	if s.job.fresh {
		return nil, false, nil // saves a request to an object store
	}
	for _, name := range sideCars {
		prove := sharding.Proved
		if s.job.hands.new(name) {
			prove = sharding.ReadProof // a worker of this job has just written the files
		}
		car, e, ok, err := prove(ctx, s.Folder, name, s.spec.Fingerprint)
		if err != nil || !ok || car.Task != task {
			return nil, false, err
		}
		if s.Facts != nil {
			if car.Facts, err = s.Facts(car.Body); err != nil {
				return nil, false, nil // a corrupt body proves nothing
			}
		}
		results = append(results, newResult(e, *car))
	}
	s.Meter.kept.Add(1)
	return results, true, nil
}

// Manifest writes the manifest for the files of all results. m must contain only facts
// about the whole stage: files without a side-car, counts, dropped templates. Manifest
// adds the counts of all files.
func (s *Env) Manifest(ctx context.Context, results []Result, m sharding.Manifest) error {
	plan, err := sharding.ReadPlan(ctx, s.Folder)
	if err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	m.Recipe, m.Fingerprint = plan.Recipe, plan.Fingerprint
	whole := m.Counts
	m.Counts = sharding.Counts{}
	m.Counts.Add(whole)
	for _, e := range m.Files {
		m.Counts.Add(e.Counts)
	}
	s.Known.Facts = new(sharding.Facts)
	for _, r := range results {
		car, err := r.Car()
		if err != nil {
			return fmt.Errorf("result of task %d: %w", r.Task, err)
		}
		m.Counts.Add(car.File.Counts)
		if car.Facts != nil {
			s.Known.Facts.Add(car.Facts)
		}
		m.Files = append(m.Files, entries(r, car)...)
	}
	slices.SortFunc(m.Files, func(a, b sharding.FileEntry) int { return strings.Compare(a.Name, b.Name) })
	if err := s.present(ctx, m.Files); err != nil {
		return err
	}
	if warnings := definitions[m.Stage].Warnings; warnings != nil {
		if m.Warnings, err = warnings(s.Known, ctx, s.Folder, &m); err != nil {
			return err
		}
	}
	return m.Write(func(name string, data []byte) error {
		_, err := s.Write(ctx, name, data)
		return err
	})
}

// entries returns the manifest entries for a result. car is the side-car of the result.
func entries(r Result, car sharding.SideCar) (list []sharding.FileEntry) {
	proof := sharding.FileEntry{Name: r.SideCar, Task: r.Task, Bytes: r.Bytes, SHA256: r.SHA256}
	if car.File.Name == "" {
		proof.Counts = car.File.Counts // this side-car proves that there is no file
	} else {
		list = append(list, car.File)
	}
	list = append(list, proof)
	if car.Index.Name != "" {
		list = append(list, car.Index)
	}
	return append(list, car.More...)
}

// present returns an error if any file is missing or has a different size, because
// somebody may have removed or changed files while the stage ran. files must be sorted by
// name.
func (s *Env) present(ctx context.Context, files []sharding.FileEntry) error {
	infos, err := s.Folder.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range files {
		if strings.HasPrefix(e.Name, ".") { // List omits hidden files
			info, err := s.Folder.Stat(ctx, e.Name)
			if err != nil || info.Size() != e.Bytes {
				return fmt.Errorf("%s in %s changed while the stage ran (%v)", e.Name, s.Folder, err)
			}
			continue
		}
		for len(infos) > 0 && infos[0].Name() < e.Name {
			infos = infos[1:]
		}
		if len(infos) == 0 || infos[0].Name() != e.Name || infos[0].Size() != e.Bytes {
			return fmt.Errorf("%s in %s changed while the stage ran", e.Name, s.Folder)
		}
	}
	return nil
}
