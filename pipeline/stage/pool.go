package stage

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/internal/sumpair"
	"pretext/sharding"
)

// A job is the state of a running Beam job in this process. The runner creates DoFns from
// JSON, so they find their job by name. In a worker process of a cluster, which did not
// start the job, [findJob] creates it.
type job struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	gate   chan struct{} // one slot per running task
	mu     sync.Mutex    // guards spares; hold it while adding work to wg
	wg     sync.WaitGroup
	meter  *Meter
	spares []any           // buffers of finished tasks, to be reused
	sums   sumpair.Meeting // of the files that the tasks write

	once      sync.Once
	shared    any // data that all tasks read, loaded once
	sharedErr error
	loaded    any  // data loaded by the driver; nil in other processes
	fresh     bool // no task had finished when the job started; false in other processes

	fenced atomic.Pointer[time.Time] // when the last fence began that found this job's plan

	hands hands // running tasks, in a worker process of a cluster

	planning sync.Mutex
	tasks    *sharding.TaskFile // the plans of the tasks, once a task has read its plan
}

// plan returns the plan of a task as JSON. All tasks of a job share an open file, so that
// each takes one request to an object store. folder is that of the stage.
func (j *job) plan(folder store.Folder, index int) ([]byte, error) {
	j.planning.Lock()
	defer j.planning.Unlock()
	if j.tasks == nil {
		t, err := sharding.OpenTasks(j.ctx, folder)
		if err != nil {
			return nil, err
		}
		if err := t.Load(); err != nil {
			return nil, errors.Join(err, t.Close())
		}
		j.tasks = t
		context.AfterFunc(j.ctx, func() { t.Close() }) //nolint:errcheck // it was only read
	}
	return j.tasks.Raw(index)
}

// share returns the result of the first call of make. It exists because a runner may
// start many bundles, and each bundle's worker would otherwise load the same large data.
func (j *job) share(make func() (any, error)) (any, error) {
	j.once.Do(func() { j.shared, j.sharedErr = make() })
	return j.shared, j.sharedErr
}

// take returns buffers that a finished task passed to give, or nil.
func (j *job) take() any {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.spares) == 0 {
		return nil
	}
	last := j.spares[len(j.spares)-1]
	j.spares = j.spares[:len(j.spares)-1]
	return last
}

// give stores large buffers of a finished task for a later task.
func (j *job) give(spare any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spares = append(j.spares, spare)
}

// jobs contains the jobs of this process by name. This global state is necessary, because
// Beam gives DoFns no reference to the code that started them.
var jobs sync.Map // string → *job

func newJob(ctx context.Context, workers int, meter *Meter) *job {
	ctx, cancel := context.WithCancelCause(ctx)
	return &job{ctx: ctx, cancel: cancel, gate: make(chan struct{}, workers), meter: meter,
		hands: hands{running: map[int]*hand{}}}
}

// begin registers work that must finish before the job ends. If it returns true, the
// caller must call wg.Done after the work. It returns false if the job has already ended:
// later work would be interrupted when the process exits, and would leave temporary
// files.
func (j *job) begin() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ctx.Err() != nil {
		return false
	}
	j.wg.Add(1)
	return true
}

// end ends the job and waits for registered work.
func (j *job) end() {
	j.mu.Lock()
	j.cancel(errDone) // prevents new work
	j.mu.Unlock()
	j.wg.Wait()
}

// err returns the reason why the job has ended, or nil while it is running.
func (j *job) err() error { return context.Cause(j.ctx) }

// A pool runs the tasks of one bundle. Only the bundle's own goroutine emits results, in
// the order of the tasks, because Beam's emitters are not safe for concurrent use.
type pool[R any] struct {
	job    *job
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	outs   []*R
}

// newPool returns a pool for a bundle. Its tasks are cancelled when the bundle's context
// or the job ends.
func newPool[R any](ctx context.Context, j *job) *pool[R] {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(j.ctx, cancel)
	return &pool[R]{job: j, ctx: ctx, cancel: cancel}
}

// Go waits for a free slot in the process and then starts the task. It returns an error
// if the job or the bundle has ended. While Go waits, the remaining tasks stay with the
// runner.
func (p *pool[R]) Go(task func(context.Context) (R, error)) error {
	select {
	case p.job.gate <- struct{}{}:
	case <-p.ctx.Done():
		return p.failure()
	}
	if !p.job.begin() { // the job ended while a slot became free
		<-p.job.gate
		return p.failure()
	}
	out := new(R)
	p.outs = append(p.outs, out)
	p.wg.Add(1)
	go func() {
		defer func() {
			if r := recover(); r != nil { // without recover, a panic outside Beam's goroutines would end the process
				p.job.cancel(failure.Lasting(fmt.Sprintf("BUG: panic in a task: %v\n%s", r, debug.Stack())))
			}
			<-p.job.gate
			p.wg.Done()
			p.job.wg.Done()
		}()
		stop := p.job.meter.watch.start()
		r, err := task(p.ctx)
		stop()
		if err != nil {
			p.job.cancel(err) // the first failure ends all bundles
			return
		}
		p.job.meter.ran.Add(1)
		*out = r
	}()
	return nil
}

// Wait waits for all tasks and emits their results.
func (p *pool[R]) Wait(emit func(R)) error {
	p.wg.Wait()
	defer p.cancel()
	if err := p.failure(); err != nil {
		return err
	}
	for _, out := range p.outs {
		emit(*out)
	}
	return nil
}

func (p *pool[R]) failure() error {
	if err := p.job.err(); err != nil {
		return err
	}
	return p.ctx.Err()
}
