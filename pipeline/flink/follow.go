//go:build cluster

package flink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"pretext/internal/failure"
)

// Times for following a job; variables, so that tests can shorten them.
var (
	// tick is the interval between two requests about a job's state. The first ones follow
	// each other faster, because a stage may end soon.
	tick = 300 * time.Millisecond
	// patience is how long Flink's REST interface may fail to answer. It is long enough
	// to replace a JobManager.
	patience = 2 * time.Minute
	// dialing is the maximum time for connecting to a job server, or from a worker to
	// its TaskManager.
	dialing = 10 * time.Second
	// arrival is the maximum time until a job appears in Flink, after the connection to
	// the job server was lost.
	arrival = 20 * time.Second
	// rounds is the interval at which a worker asks whether its job is still running.
	rounds = 20 * time.Second
	// held is how long a step's subtasks may run without a change after all tasks are
	// done. A worker that answers needs it only to read the side-cars of tasks that
	// others took.
	held = 5 * time.Second
	// stopping is the maximum time for a cancelled job to end.
	stopping = 30 * time.Second
	// leaving is the maximum time for those workers of a cancelled job to end that answer.
	leaving = 2 * time.Second
)

// Supported returns nil: this program supports clusters.
func Supported() error { return nil }

// Run runs a pipeline as the job named j.Name and returns when the job has ended. If
// Flink is already running a job with this name, Run follows that job instead. When ctx
// ends, Run cancels the job. It returns the cause after Flink has confirmed that the job
// has ended.
func (c Cluster) Run(ctx context.Context, p *beam.Pipeline, j Job) error {
	r, err := newREST(c.REST)
	if err != nil {
		return err
	}
	jobs, err := r.jobs(ctx, j.Name)
	if err != nil {
		return err
	}
	f := &follower{rest: r, job: j}
	if id := live(jobs); id != "" {
		j.note("Flink already runs this stage, as job %s: following it", id)
		return f.follow(ctx, id)
	}
	if err := c.warn(ctx, r, j); err != nil {
		return err
	}
	told, err := c.submit(ctx, p, j.Name)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	id, err := f.arrive(ctx, jobs, told)
	if err != nil {
		return err
	}
	return f.follow(ctx, id)
}

func (j Job) note(format string, args ...any) {
	if j.Note != nil {
		j.Note(fmt.Sprintf(format, args...))
	}
}

// Live reports whether Flink is running a job of the given name.
func (c Cluster) Live(ctx context.Context, name string) (bool, error) {
	r, err := newREST(c.REST)
	if err != nil {
		return false, err
	}
	jobs, err := r.jobs(ctx, name)
	return live(jobs) != "", err
}

// live returns the id of a running job in jobs, or "".
func live(jobs []restJob) string {
	i := slices.IndexFunc(jobs, func(j restJob) bool { return !terminal(j.State) })
	if i < 0 {
		return ""
	}
	return jobs[i].ID
}

// warn warns the user about cluster settings that cause avoidable failures of jobs.
func (c Cluster) warn(ctx context.Context, r *rest, j Job) error {
	settings, err := r.settings(ctx)
	if err != nil {
		return err
	}
	switch strategy(settings) {
	case "", "none", "off", "disable":
		j.note("Flink has no restart strategy: the stage fails when one worker or TaskManager is lost; set restart-strategy.type: fixed-delay in Flink's configuration")
	}
	if n, err := r.slots(ctx); err == nil && n < c.Parallelism {
		j.note("Flink has %d task slots, --parallelism asks for %d: the stage waits until there are as many", n, c.Parallelism)
	}
	return nil
}

// strategy returns Flink's restart strategy from the settings, or "" if none is set.
func strategy(settings map[string]string) string {
	for _, key := range []string{"restart-strategy.type", "restart-strategy"} {
		if s := settings[key]; s != "" {
			return strings.ToLower(s)
		}
	}
	return ""
}

// A follower follows one job through Flink's REST interface.
type follower struct {
	rest    *rest
	job     Job
	pause   time.Duration // before the latest request
	missing time.Time     // time since which the interface has not answered; zero: it answers
	noted   int64         // time of the latest failure that was reported to the user
	running int           // subtasks that were running when all tasks were done
	since   time.Time     // time since which there are as many; zero: tasks are left
}

// arrive waits until Flink has a new job with the follower's name, and returns its id.
// old are the jobs that existed before the submission. arrive also waits for some time
// after ctx has ended: the job server has accepted the job, so it may still appear and
// must then be cancelled. told receives the outcome if the submission fails.
func (f *follower) arrive(ctx context.Context, old []restJob, told <-chan outcome) (string, error) {
	ask := context.WithoutCancel(ctx)
	var deadline <-chan time.Time
	for {
		jobs, err := f.rest.jobs(ask, f.job.Name)
		if err := f.answered(err); err != nil {
			return "", err
		}
		for _, j := range jobs {
			if !slices.ContainsFunc(old, func(o restJob) bool { return o.ID == j.ID }) {
				return j.ID, nil
			}
		}
		if deadline == nil && ctx.Err() != nil {
			deadline = time.After(arrival)
		}
		select {
		case <-deadline:
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			return "", fmt.Errorf("%w was lost before the job reached Flink: run the same command again", errServer)
		case o := <-told:
			told = nil
			if o.lost == nil {
				return "", jobError(o.failed)
			}
			f.job.note("Beam's job server was lost (%v): asking Flink about the job", firstLine(o.lost.Error()))
			if deadline == nil {
				deadline = time.After(arrival)
			}
		case <-time.After(f.next()):
		}
	}
}

// next returns the time to wait before the next request about the job.
func (f *follower) next() time.Duration {
	f.pause = min(tick, max(tick/8, f.pause*5/4))
	return f.pause
}

// answered checks the error of a request to the REST interface. If the interface has not
// answered for longer than patience, it returns an error; otherwise nil.
func (f *follower) answered(err error) error {
	if err == nil || errors.Is(err, errUnknownJob) {
		f.missing = time.Time{}
		return nil
	}
	if f.missing.IsZero() {
		f.missing = time.Now()
		f.job.note("%v: the job may go on; asking again for %v", err, patience)
	}
	if time.Since(f.missing) > patience {
		return fmt.Errorf("%w: %w: run the same command again to follow it", err, ErrUnknown)
	}
	return nil
}

// follow waits until the job has ended and returns its error.
func (f *follower) follow(ctx context.Context, id string) error {
	for {
		if err := wait(ctx, f.next()); err != nil {
			return f.stop(ctx, id, err)
		}
		state, err := f.rest.state(ctx, id)
		if ctx.Err() != nil {
			continue
		}
		if errors.Is(err, errUnknownJob) {
			return fmt.Errorf("job %s is unknown to Flink, whose JobManager was restarted: run the same command again to resume", id)
		}
		if err := f.answered(err); err != nil {
			return err
		}
		switch {
		case err != nil:
			continue
		case state == finished:
			return nil
		case state == canceled:
			return fmt.Errorf("the Flink job %s was cancelled by somebody else: run the same command again to resume", id)
		}
		list, err := f.rest.exceptions(ctx, id)
		if err != nil && state != failed {
			continue // retried after the next tick
		}
		if state == failed {
			return ended(list)
		}
		if permanent := f.failures(list); permanent != nil {
			return f.stop(ctx, id, permanent)
		}
		if f.isHeld(ctx, id) {
			f.job.note("all tasks are done, but %d of Flink's subtasks do not end, whose workers do not answer: ending the job without them", f.running)
			return f.stop(ctx, id, ErrHeld)
		}
	}
}

// isHeld reports whether all tasks are done, but subtasks of their step have been running
// since, without a change, for longer than [held].
func (f *follower) isHeld(ctx context.Context, id string) bool {
	if f.job.Done == nil || !f.job.Done() {
		f.since = time.Time{}
		return false
	}
	n, err := f.rest.running(ctx, id, f.job.Step)
	if err != nil {
		return false // asked again after the next tick
	}
	if f.since.IsZero() || n != f.running {
		f.running, f.since = n, time.Now()
	}
	return n > 0 && time.Since(f.since) > held
}

// failures tells the user about failures after which Flink repeats the stage. It returns
// the first failure that is permanent, so that repeating is useless; nil if there is
// none.
func (f *follower) failures(list []restException) error {
	for _, e := range slices.Backward(list) {
		if e.At <= f.noted {
			continue
		}
		f.noted = e.At
		for _, text := range e.texts() {
			for _, r := range failure.Find(text) {
				if r.Permanent {
					return r.Err()
				}
			}
		}
		f.job.note("a part of the stage failed, Flink repeats it: %v", jobError(e.Stacktrace))
	}
	return nil
}

func (e restException) texts() []string {
	texts := []string{e.Stacktrace}
	for _, c := range e.Concurrent {
		texts = append(texts, c.Stacktrace)
	}
	return texts
}

// ended returns the error of a failed job: the latest error from a worker or, if there is
// none, Flink's error.
func ended(list []restException) error {
	for _, e := range list {
		for _, text := range e.texts() {
			for _, r := range failure.Find(text) {
				return r.Err()
			}
		}
	}
	if len(list) == 0 {
		return errors.New("the Flink job failed, and Flink reports no reason: see the JobManager's log")
	}
	return jobError(list[0].Stacktrace)
}

// jobError returns the error described by a text of Flink or of the job server.
func jobError(text string) error {
	if reports := failure.Find(text); len(reports) > 0 {
		return reports[0].Err()
	}
	return fmt.Errorf("the Flink job failed: %s", rootCause(text))
}

// rootCause returns the last cause in a Java stack trace.
func rootCause(text string) string {
	cause := firstLine(text)
	for line := range strings.Lines(text) {
		if c, ok := strings.CutPrefix(strings.TrimSpace(line), "Caused by: "); ok {
			cause = c
		}
	}
	return cause
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// stop cancels a job, waits for its end, and returns cause. For a job that is held it
// waits only for the workers that answer: Flink needs more than a minute to give up the
// others.
func (f *follower) stop(ctx context.Context, id string, cause error) error {
	limit := stopping
	if errors.Is(cause, ErrHeld) {
		limit = leaving
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	asked := false
	for {
		if !asked {
			err := f.rest.cancel(ctx, id)
			asked = err == nil || errors.Is(err, errUnknownJob)
		}
		state, err := f.rest.state(ctx, id)
		if err == nil && terminal(state) || errors.Is(err, errUnknownJob) {
			return cause
		}
		switch {
		case wait(ctx, tick/3) == nil:
		case asked && errors.Is(cause, ErrHeld):
			return cause
		default:
			f.job.note("Flink did not confirm that job %s ended: see %s and cancel it there", id, f.rest.base.Redacted())
			return cause
		}
	}
}

// wait sleeps for d. If ctx ends earlier, wait returns the cause at once.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(cmp.Or(d, time.Millisecond)):
		return nil
	}
}
