package pipeline

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 deprecated upstream in favour of Prism, but it alone opens no port
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct" // runner "direct"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"  // runner "prism"

	"pretext/internal/store"
)

// A Runner says where and how wide jobs run. It decides no byte of any output.
type Runner struct {
	Name    string // "prism" (default), "direct"
	Workers int    // tasks at work at a time, at least 1
	// Watch is called at the beginning of each stage with its meter, and the
	// function that it returns at the end. It may be nil.
	Watch func(*Meter) (stop func())
	// Note is told what a person should know before the work begins. It may be
	// nil.
	Note func(string)
}

// note tells a person something, if there is anyone to tell and anything to say.
func (r Runner) note(text string) {
	if r.Note != nil && text != "" {
		r.Note(text)
	}
}

// Runners are the names that [Runner] takes.
var Runners = []string{"prism", "direct"}

// A Task is one element of a stage's job: an index into its plan.
type Task struct {
	Index int
}

// A Result names a side-car that a task committed, and its content's hash.
type Result struct {
	Task    int
	SideCar string
	SHA256  string
}

// Registered by reflection: package register makes code for every signature, 3 MB
// of binary and ten seconds of compiling each, to save a microsecond an element.
func init() {
	beam.RegisterDoFn(&taskFn{})
	beam.RegisterDoFn(&manifestFn{})
	beam.RegisterDoFn(&consumeFn{})
}

// taskFn does the tasks of a stage. Beam ships it as JSON: exported fields
// travel, the rest is rebuilt in StartBundle.
type taskFn struct {
	Job     string
	Workers int
	Spec    Spec

	worker worker
	pool   *pool[[]Result]
}

func (fn *taskFn) StartBundle(ctx context.Context, _ func(int, Result)) error {
	j := findJob(fn.Job, fn.Workers)
	w, err := fn.Spec.worker(j)
	if err != nil {
		return err
	}
	fn.worker, fn.pool = w, newPool[[]Result](ctx, j)
	return nil
}

func (fn *taskFn) ProcessElement(_ context.Context, task Task, _ func(int, Result)) error {
	w := fn.worker
	return fn.pool.Go(func(ctx context.Context) ([]Result, error) { return w.do(ctx, task.Index) })
}

func (fn *taskFn) FinishBundle(_ context.Context, emit func(int, Result)) error {
	return fn.pool.Wait(func(results []Result) {
		for _, r := range results {
			emit(0, r)
		}
	})
}

// manifestFn gathers the results of all tasks under one key and writes the
// manifest. It may run twice and writes the same bytes each time.
type manifestFn struct {
	Job     string
	Workers int
	Spec    Spec
}

func (fn *manifestFn) ProcessElement(ctx context.Context, _ int, next func(*Result) bool, emit func(int, string)) error {
	var results []Result
	for r := (Result{}); next(&r); r = (Result{}) {
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.SideCar, b.SideCar))
	})
	results = slices.Compact(results) // a task may have run twice
	j := findJob(fn.Job, fn.Workers)
	if !j.begin() {
		return j.err()
	}
	defer j.wg.Done()
	w, err := fn.Spec.worker(j)
	if err == nil {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(j.ctx, cancel)()
		err = w.finish(ctx, results)
	}
	if err != nil {
		j.cancel(err)
		return err
	}
	emit(0, fn.Job)
	return nil
}

// consumeFn reads the manifest DoFn's output. Without a consumer Prism keeps a
// core busy for as long as the stage before runs; and since it takes out a
// Reshuffle and fuses what stands around it, only a GroupByKey makes the two
// stages of its own.
type consumeFn struct{}

func (*consumeFn) ProcessElement(int, func(*string) bool) {}

// runJob runs a stage's tasks and its manifest as one Beam job and returns the
// error of the task that failed first, with its type. When it returns, no task
// of the job is at work in this process.
func runJob(ctx context.Context, r Runner, spec Spec, tasks int, meter *Meter) error {
	name := jobName(spec.Stage)
	j := newJob(ctx, max(1, r.Workers), meter)
	jobs.Store(name, j)
	defer jobs.Delete(name)

	p, s := beam.NewPipelineWithRoot()
	elements := make([]Task, tasks)
	for i := range elements {
		elements[i].Index = i
	}
	in := beam.Reshuffle(s, beam.CreateList(s, elements))
	results := beam.ParDo(s.Scope(spec.Stage), &taskFn{Job: name, Workers: r.Workers, Spec: spec}, in)
	manifest := beam.ParDo(s.Scope("manifest"), &manifestFn{Job: name, Workers: r.Workers, Spec: spec}, beam.GroupByKey(s, results))
	beam.ParDo0(s.Scope("consume"), &consumeFn{}, beam.GroupByKey(s, manifest))

	restore, err := privateTemp(spec.Out)
	if err != nil {
		return err
	}
	defer restore()
	// Beam's own context is not cancelled: Prism panics when that happens while it
	// starts its worker. The job's is, and ends the tasks, and so the run.
	_, err = beam.Run(context.WithoutCancel(j.ctx), cmp.Or(r.Name, "prism"), p)
	j.end() // whatever ended the job, its tasks stop now
	if cause := j.err(); !errors.Is(cause, errDone) {
		return cause // the typed error; Beam's is text that went over gRPC
	}
	if err != nil {
		return fmt.Errorf("%s: run Beam job: %w", spec.Stage, err)
	}
	return nil
}

var errDone = errors.New("job done")

// jobName returns a name that no other job has, of lower-case letters and
// digits alone since Java job services rewrite everything else.
func jobName(stage string) string {
	return "pretext" + stage + fmt.Sprintf("%x", rand.Text()[:8])
}

// privateTemp gives the runner a temporary folder of its own, below the stage's,
// and returns the function that removes it: each loopback job leaves an empty
// folder behind, and that of a killed one is swept by the next run.
func privateTemp(out string) (restore func(), err error) {
	folder, err := store.Open(out)
	if err != nil {
		return nil, err
	}
	dir, remove, err := store.TempFolder(folder)
	if err != nil {
		return nil, err
	}
	old, set := os.LookupEnv("TMPDIR")
	os.Setenv("TMPDIR", absolute(dir))
	return func() {
		if set {
			os.Setenv("TMPDIR", old)
		} else {
			os.Unsetenv("TMPDIR")
		}
		remove()
	}, nil
}
