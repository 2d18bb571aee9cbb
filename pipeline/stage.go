package pipeline

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"slices"
	"strings"

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
	Signatures  *FilterSpec
	Pairs       *FilterSpec
	Filter      *FilterSpec
	Download    *DownloadSpec
}

// paths are the locations in it.
func (s Spec) paths() (list []string) {
	list = append(list, s.Out)
	if s.Extract != nil {
		for _, source := range s.Extract.Sources {
			list = append(list, source.Paths...)
		}
	}
	if s.Vocab != nil {
		list = append(list, s.Vocab.Documents...)
	}
	if s.Examples != nil {
		list = append(list, s.Examples.Documents...)
	}
	for _, filter := range []*FilterSpec{s.Signatures, s.Pairs, s.Filter} {
		if filter != nil {
			list = append(list, filter.Documents...)
		}
	}
	return list
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
	case s.Signatures != nil:
		return &signaturesWorker{stage: st, FilterSpec: *s.Signatures}, nil
	case s.Pairs != nil:
		return &pairsWorker{stage: st, FilterSpec: *s.Pairs}, nil
	case s.Filter != nil:
		return &filterWorker{stage: st, FilterSpec: *s.Filter}, nil
	case s.Download != nil:
		return &downloadWorker{stage: st, DownloadSpec: *s.Download}, nil
	}
	panic("BUG: spec without a stage")
}

// ErrFenced says that the folder now belongs to another plan: a worker that was
// thought dead must not write into it.
var ErrFenced = errors.New("the folder belongs to another plan by now")

// ErrNoPlan says that the plan of a running stage was removed from its folder.
var ErrNoPlan = errors.New("the plan of this run is gone")

// stage is what the workers of all stages share.
type stage struct {
	spec   Spec
	folder store.Folder
	job    *job
	meter  *Meter
}

// task reads the plan of a task.
func (s *stage) task(ctx context.Context, index int, to any) error {
	return sharding.ReadTask(ctx, s.folder, index, to)
}

// badPlan is the error of a task's plan that was written by somebody else than
// the driver: it is sound JSON, but speaks of what there is not.
func badPlan(index int, problem string) error {
	return fmt.Errorf("plan of task %d: %w: %s", index, sharding.ErrFormat, problem)
}

// fence reports whether the folder still belongs to this worker's plan. It is
// asked just before every commit.
func (s *stage) fence(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	plan, err := sharding.ReadPlan(ctx, s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrNoPlan, err)
	}
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
	s.meter.kept.Add(1)
	return results, true, nil
}

// manifest writes the manifest over the files that the side-cars speak of, and
// files beside them. Its counts are the sums of the files' and what is known of
// the whole alone.
func (s *stage) manifest(ctx context.Context, results []Result, whole sharding.Counts, more ...sharding.FileEntry) error {
	return s.manifestOf(ctx, results, sharding.Manifest{Counts: whole, Files: more})
}

// manifestOf is manifest with all that is known of the whole alone in m.
func (s *stage) manifestOf(ctx context.Context, results []Result, m sharding.Manifest) error {
	plan, err := sharding.ReadPlan(ctx, s.folder)
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
		proof := sharding.FileEntry{Name: r.SideCar, Task: r.Task, Bytes: int64(len(raw)), SHA256: r.SHA256}
		if car.File.Name == "" {
			proof.Counts = car.File.Counts // it proves that there is no file
		} else {
			m.Files = append(m.Files, car.File)
		}
		m.Files = append(m.Files, proof)
		if car.Index.Name != "" {
			m.Files = append(m.Files, car.Index)
		}
		m.Files = append(m.Files, car.More...)
	}
	slices.SortFunc(m.Files, func(a, b sharding.FileEntry) int { return strings.Compare(a.Name, b.Name) })
	if m.Warnings, err = sharding.DeriveWarnings(ctx, s.folder, &m); err != nil {
		return err
	}
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
