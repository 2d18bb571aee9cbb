package stage

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"pretext/internal/store"
	"pretext/pipeline/flink"
)

// A Task is one element of a stage's job: an index into its plan.
type Task struct {
	Index int
}

// A Result names a side-car that a task has committed. It also contains the parts of the
// side-car that the manifest needs, so that the file need not be read again. SideCar is
// empty for a task without side-car.
type Result struct {
	Task    int
	SideCar string // file name; "" for none
	Bytes   int64  // size of the side-car
	SHA256  string // hash of the side-car
	// Head is the side-car as JSON. Its body contains only [sharding.SideCar.Facts]. It is
	// a string because no field of an element may be nil: Beam's Java coder drops the mark
	// of a missing field when it sorts elements, and then reads bytes of other elements.
	Head string
}

// same reports whether two results come from two runs of the same task.
func (r Result) same(other Result) bool { return r.Task == other.Task && r.SideCar == other.SideCar }

// DoFns are registered by reflection. The alternative, package register, generates code
// for every signature: 3 MB of binary and ten seconds of compilation each, to save a
// microsecond per element.
func init() {
	beam.RegisterDoFn(&taskFn{})
	beam.RegisterDoFn(&manifestFn{})
}

// taskFn runs the tasks of a stage. Beam sends exported fields as JSON; StartBundle
// initializes the other fields.
type taskFn struct {
	Job    string
	Limits Limits
	Spec   Spec

	worker Worker
	pool   *pool[[]Result]
}

func (fn *taskFn) StartBundle(ctx context.Context, _ func(int, Result)) error {
	j, err := findJob(ctx, fn.Job, fn.Limits, fn.Spec)
	if err != nil {
		return report(err)
	}
	w, err := fn.Spec.worker(j)
	if err != nil {
		return report(err)
	}
	fn.worker, fn.pool = w, newPool[[]Result](ctx, j)
	if !flink.IsWorker() {
		return nil
	}
	folder, err := store.Open(fn.Spec.Out)
	if err == nil {
		err = j.hands.remember(ctx, folder)
	}
	if err != nil {
		return report(err)
	}
	j.hands.join()
	j.watch(folder, w)
	return nil
}

func (fn *taskFn) ProcessElement(_ context.Context, task Task, _ func(int, Result)) error {
	w, hands := fn.worker, &fn.pool.job.hands
	return report(fn.pool.Go(func(ctx context.Context) ([]Result, error) { return hands.do(ctx, w, task.Index) }))
}

func (fn *taskFn) FinishBundle(ctx context.Context, emit func(int, Result)) error {
	if flink.IsWorker() {
		fn.pool.wg.Wait()
		if fn.pool.job.hands.leave() && fn.pool.failure() == nil {
			if err := fn.help(ctx); err != nil {
				fn.pool.job.cancel(err)
			}
		}
	}
	return report(fn.pool.Wait(func(results []Result) {
		for _, r := range results {
			emit(0, r)
		}
	}))
}

// manifestFn receives the results of all tasks under one key and writes the manifest. It
// may run twice and writes the same bytes each time.
type manifestFn struct {
	Job    string
	Limits Limits
	Spec   Spec
}

func (fn *manifestFn) ProcessElement(ctx context.Context, _ int, next func(*Result) bool) error {
	var results []Result
	for r := (Result{}); next(&r); r = (Result{}) {
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.SideCar, b.SideCar))
	})
	results = slices.CompactFunc(results, Result.same) // a task may have run twice
	j, err := findJob(ctx, fn.Job, fn.Limits, fn.Spec)
	if err != nil {
		return report(err)
	}
	if !j.begin() {
		return report(j.err())
	}
	defer j.wg.Done()
	w, err := fn.Spec.worker(j)
	if err == nil {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(j.ctx, cancel)()
		err = w.Finish(ctx, results)
	}
	if err == nil && flink.IsWorker() {
		err = fn.Spec.removeClaims(ctx)
	}
	if err != nil {
		j.cancel(err)
		return report(err)
	}
	return nil
}

// run runs the tasks of a stage in the given order, and writes its manifest, as one Beam
// job. It returns the error of the first task that failed, with its original type. When
// run returns, no task of the job is running in this process.
func (j *job) run(r Runner, spec Spec, order []int) error {
	name, limits := jobName(spec.Stage), Limits{Workers: r.Workers, Memory: r.Memory}
	if r.name() != Direct {
		limits.Build = build() // needed by workers in other processes
	}
	if r.name() == Flink {
		name, limits.Peers = spec.clusterName(), r.Cluster.Parallelism
		key, err := r.Cluster.Key()
		if err != nil {
			return err
		}
		if key != nil {
			if limits.Seal, err = seal(key, name, limits, spec); err != nil {
				return err
			}
		}
	} else {
		jobs.Store(name, j)
		defer jobs.Delete(name)
	}
	err := r.execute(j.ctx, graph(name, limits, spec, order), name, j.meter.allDone)
	j.end() // stop the remaining tasks, whatever ended the job
	if cause := j.err(); !errors.Is(cause, errDone) {
		return cause // the typed error; Beam only has its text
	}
	if err != nil && r.name() != Flink { // on Flink, err already is the typed error of a worker
		return fmt.Errorf("%s: %w", spec.Stage, err)
	}
	return err
}

// graph returns the Beam pipeline of a job. All stages use the same graph. The four
// parameters become fields of the DoFns.
func graph(name string, limits Limits, spec Spec, order []int) *beam.Pipeline {
	startBeam()
	p, s := beam.NewPipelineWithRoot()
	var elements []Task
	for _, i := range order {
		elements = append(elements, Task{Index: i})
	}
	in := beam.Reshuffle(s, beam.CreateList(s, elements))
	results := beam.ParDo(s.Scope(spec.Stage), &taskFn{Job: name, Limits: limits, Spec: spec}, in)
	beam.ParDo0(s.Scope("manifest"), &manifestFn{Job: name, Limits: limits, Spec: spec}, beam.GroupByKey(s, results))
	return p
}

var errDone = errors.New("job done")

// jobName returns a unique name for a job. It consists of lower-case letters and digits,
// because Java job services replace all other characters.
func jobName(stage string) string {
	return "pretext" + stage + fmt.Sprintf("%x", rand.Text()[:8])
}
