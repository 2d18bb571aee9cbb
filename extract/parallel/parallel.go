// Package parallel divides the work of one task among processors that have no task of
// their own.
//
// A task starts jobs on its [Team]. A helper, which is a goroutine, runs them while fewer
// tasks are running than the process may run at once. The task's own goroutine runs the
// jobs for which there is no helper, when it waits for their results:
//
//	job := team.Start(func() { result = convert(book) })
//	... // start more jobs
//	team.Wait(job)
//	use(result)
//
// So nothing depends on the number of helpers, and a task without helpers does its work
// alone, in the order in which it waits. Only the task's goroutine may call the methods of
// a Team, its jobs and its [Ahead].
package parallel

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"pretext/internal/usage"
)

// A Team runs the jobs of one task.
type Team struct {
	slots chan struct{} // one value for each running task and helper of the process; nil: no helpers

	mu      sync.Mutex
	changed *sync.Cond // a job has ended, or an Ahead has more bytes
	first   []*Job     // waiting jobs that go before those in later; the oldest first
	later   []*Job
	helpers int
	spent   Spent
}

// Spent is the time that the jobs of a team took, in elapsed and in processor time. The
// latter is that of the process, so it says nothing if another task is running.
type Spent struct {
	Jobs, JobsCPU   time.Duration // jobs that are independent of each other
	Ahead, AheadCPU time.Duration // reading of an [Ahead], which is serial
}

// NewTeam returns the team of a task. slots has a value for each running task of the
// process, this one included, and the capacity for as many as may run at once. A helper
// holds a slot while it runs a job. If slots is nil, there are no helpers.
func NewTeam(slots chan struct{}) *Team {
	t := &Team{slots: slots}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// Alone reports whether the team can never have a helper.
func (t *Team) Alone() bool { return cap(t.slots) <= 1 }

// Helped reports whether a helper is running a job.
func (t *Team) Helped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.helpers > 0
}

// A Job is a part of a task that runs once.
type Job struct {
	run    func()
	done   bool
	ahead  bool // reads an Ahead
	failed any  // value of a panic
}

// Start starts a job. It may run at any time until [Team.Wait] returns for it.
func (t *Team) Start(run func()) *Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.start(&Job{run: run}, &t.later)
}

// StartFirst is [Team.Start] for a job that helpers run before those of Start, because the
// task will wait for it sooner.
func (t *Team) StartFirst(run func()) *Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.start(&Job{run: run}, &t.first)
}

// start adds a job to a queue and lets helpers run it and others that are waiting.
func (t *Team) start(j *Job, queue *[]*Job) *Job {
	*queue = append(*queue, j)
	for len(t.first)+len(t.later) > 0 && t.takeSlot() {
		t.helpers++
		go t.help(t.next())
	}
	return j
}

// takeSlot takes a slot for a helper if one is free.
func (t *Team) takeSlot() bool {
	select {
	case t.slots <- struct{}{}: // never, if slots is nil
		return true
	default:
		return false
	}
}

// next removes the waiting job that runs next from its queue; nil: none.
func (t *Team) next() *Job {
	for _, queue := range []*[]*Job{&t.first, &t.later} {
		if len(*queue) > 0 {
			return t.remove(queue, 0)
		}
	}
	return nil
}

func (t *Team) remove(queue *[]*Job, i int) *Job {
	j := (*queue)[i]
	*queue = slices.Delete(*queue, i, i+1)
	return j
}

// help runs j and then other waiting jobs. After each it returns its slot, so that a task
// that waits for one has it.
func (t *Team) help(j *Job) {
	for {
		t.do(j)
		t.mu.Lock()
		<-t.slots
		if len(t.first)+len(t.later) == 0 || !t.takeSlot() {
			t.helpers--
			t.changed.Broadcast()
			t.mu.Unlock()
			return
		}
		j = t.next()
		t.mu.Unlock()
	}
}

// do runs a job that was removed from its queue.
func (t *Team) do(j *Job) {
	begun, cpu := time.Now(), usage.CPU()
	defer func() {
		if value := recover(); value != nil { // of a helper it would end the process
			j.failed = fmt.Sprintf("%v\n%s", value, debug.Stack())
		}
		took, tookCPU := time.Since(begun), usage.CPU()-cpu
		t.mu.Lock()
		defer t.mu.Unlock()
		if j.ahead {
			t.spent.Ahead += took
			t.spent.AheadCPU += tookCPU
		} else {
			t.spent.Jobs += took
			t.spent.JobsCPU += tookCPU
		}
		j.done = true
		t.changed.Broadcast()
	}()
	j.run()
}

// Done reports whether a job has ended.
func (t *Team) Done(j *Job) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return j.done
}

// Wait waits until a job has ended. If no helper has begun it, it runs now. If one has,
// other jobs run in the meantime. If the job panicked, Wait panics.
func (t *Team) Wait(j *Job) {
	t.mu.Lock()
	if t.withdraw(j) {
		t.runHere(j)
	}
	t.until(func() bool { return j.done })
	t.mu.Unlock()
	if j.failed != nil {
		panic(j.failed)
	}
}

// runHere runs a job on the task's goroutine. It is called and returns with t.mu locked.
func (t *Team) runHere(j *Job) {
	t.mu.Unlock()
	defer t.mu.Lock()
	t.do(j)
}

// until runs waiting jobs, or waits, until reached returns true. It is called and returns
// with t.mu locked, as is reached.
func (t *Team) until(reached func() bool) {
	for !reached() {
		if j := t.next(); j != nil {
			t.runHere(j)
			continue
		}
		t.changed.Wait()
	}
}

// End drops the jobs that are waiting and waits for the helpers. No job can be started
// afterwards.
func (t *Team) End() Spent {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first, t.later = nil, nil
	for t.helpers > 0 {
		t.changed.Wait()
	}
	return t.spent
}
