package stage

import (
	"context"
	crypto "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pretext/internal/store"
	"pretext/sharding"
)

// On a cluster the runner assigns the tasks to its workers before the first one starts. A
// worker that is slow or stopped would keep its part until the end of the stage.
// Therefore a worker that has no tasks left helps: it runs tasks of the plan that have no
// side-car yet, whoever has them. The store is all that workers share:
//
//   - A side-car proves that a task is done. The first worker that commits it wins; a
//     worker that runs the same task sees the side-car and stops.
//   - Helpers claim a task before they run it: they create a file in the folder of plans.
//     Only one of them can create it. A claim whose task makes no progress is followed by
//     a second claim, and so on.
//
// With many workers a look at a large directory is many requests. So only some of the
// helpers look at a time, and the first that finds all tasks done leaves a mark for the others.
//
// A worker needs no claim for the tasks assigned to it, so they take no more requests than
// without helpers. A helper may therefore run a task that its worker has in hand. As long
// as more tasks are open than workers can have in hand, most of those that it takes are
// not. Later it waits for [helpTimes.patience].

// helpTimes are the times of helpers; a variable, so that tests can shorten them.
var helpTimes = struct {
	tick  time.Duration // interval between two looks at the directory
	least time.Duration // patience with a task that takes no time
	first time.Duration // patience of a worker that has not run any task
}{time.Second, 2 * time.Second, 20 * time.Second}

// A sideCarNamer is a [Worker] whose tasks may be run by any worker of a cluster.
type sideCarNamer interface {
	// SideCars returns the names of the side-cars that prove that a task is done. plan
	// decodes the plan of the task. A task without side-cars has nothing to do.
	SideCars(task int, plan func(to any) error) ([]string, error)
}

// A hand is a task that this process is running.
type hand struct {
	since  time.Time
	cancel context.CancelFunc
	taken  bool // another worker has finished the task
}

// hands are the running tasks of a job in a worker process.
type hands struct {
	mu      sync.Mutex
	running map[int]*hand
	longest time.Duration   // of the tasks that this process has finished
	bundles int             // bundles that still have tasks of their own
	before  map[string]bool // side-cars that existed when this process joined the job; nil: not known
	watched bool
}

// patience returns the time after which a task without a side-car is given to another
// worker: twice the longest task of this process. The tasks of a stage are assigned in the
// order of their size, so that the tasks in other workers' hands are similar to those
// that this process has finished, or smaller.
func (h *hands) patience() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.longest == 0 {
		return helpTimes.first
	}
	return helpTimes.least + 2*h.longest
}

// join registers a bundle with tasks of its own.
func (h *hands) join() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bundles++
}

// leave ends a bundle's own tasks. It reports whether no other bundle of the process has
// any left, so that this one helps.
func (h *hands) leave() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bundles--
	return h.bundles == 0
}

// do runs a task, until another worker has finished it.
func (h *hands) do(ctx context.Context, w Worker, index int) ([]Result, error) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	mine := &hand{since: time.Now(), cancel: cancel}
	h.mu.Lock()
	h.running[index] = mine
	h.mu.Unlock()
	results, err := w.Do(own, index)
	h.mu.Lock()
	delete(h.running, index)
	if err == nil {
		h.longest = max(h.longest, time.Since(mine.since))
	}
	taken := mine.taken
	h.mu.Unlock()
	if err != nil && taken && ctx.Err() == nil {
		return w.Do(ctx, index) // finds the proof of the other worker
	}
	return results, err
}

// now returns the number of tasks that this process is running, and for how long it has
// run the oldest.
func (h *hands) now() (running int, oldest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.running {
		oldest = max(oldest, time.Since(r.since))
	}
	return len(h.running), oldest
}

// mine returns the tasks that this process is running.
func (h *hands) mine() (tasks []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for task, r := range h.running {
		if !r.taken {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// pace is the interval at which a worker looks whether others run its tasks: an eighth of
// a task's time, so that the looks of many workers are few requests.
func (h *hands) pace() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return helpTimes.tick + h.longest/8
}

// take stops this process's work at a task that another worker has finished.
func (h *hands) take(task int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.running[task]; r != nil {
		r.taken = true
		r.cancel()
	}
}

// names returns the files of a directory.
func names(ctx context.Context, folder store.Folder) (map[string]bool, error) {
	files, err := folder.List(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	set := make(map[string]bool, len(files))
	for _, f := range files {
		set[f.Name()] = true
	}
	return set, err
}

// remember records the side-cars that exist. Side-cars that appear later were written by a
// worker of this job, so that [Env.Proved] need not hash their files.
func (h *hands) remember(ctx context.Context, folder store.Folder) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.before != nil {
		return nil
	}
	set, err := names(ctx, folder)
	if err != nil {
		return err
	}
	h.before = map[string]bool{}
	for name := range set {
		if strings.HasSuffix(name, sharding.SideCarSuffix) {
			h.before[name] = true
		}
	}
	return nil
}

// new reports whether a side-car was written since this process joined the job.
func (h *hands) new(sideCar string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.before != nil && !h.before[sideCar]
}

// watch stops tasks that other workers have finished, until the job ends. Only a task with
// a claim can be one.
func (j *job) watch(folder store.Folder, w Worker) {
	namer, ok := w.(sideCarNamer)
	j.hands.mu.Lock()
	watched := j.hands.watched
	j.hands.watched = true
	j.hands.mu.Unlock()
	if !ok || watched || !j.begin() {
		return
	}
	go func() {
		defer j.wg.Done()
		for {
			select {
			case <-j.ctx.Done():
				return
			case <-time.After(j.hands.pace()):
			}
			for _, task := range claimed(j.ctx, folder, j.hands.mine()) {
				if j.isDone(folder, namer, task) {
					j.hands.take(task)
				}
			}
		}
	}()
}

// claimed returns those of the tasks that have a claim; none if the store does not answer.
func claimed(ctx context.Context, folder store.Folder, tasks []int) (found []int) {
	if len(tasks) == 0 {
		return nil
	}
	claims, err := names(ctx, folder.Folder(sharding.PlanFolder))
	if err != nil {
		return nil
	}
	for name := range claims {
		if task, number, ok := parseClaim(name); ok && number == 0 && slices.Contains(tasks, task) {
			found = append(found, task)
		}
	}
	return found
}

// isDone reports whether the side-cars of a task exist.
func (j *job) isDone(folder store.Folder, namer sideCarNamer, task int) bool {
	cars, err := namer.SideCars(task, func(to any) error { return j.decode(folder, task, to) })
	for _, name := range cars {
		if err == nil {
			_, err = folder.Stat(j.ctx, name)
		}
	}
	return err == nil && len(cars) > 0
}

// decode decodes the plan of a task.
func (j *job) decode(folder store.Folder, index int, to any) error {
	raw, err := j.plan(folder, index)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

func contains(set map[string]bool, list []string) bool {
	return !slices.ContainsFunc(list, func(name string) bool { return !set[name] })
}

// A helper runs tasks that were assigned to other workers.
type helper struct {
	folder store.Folder
	hands  *hands
	slots  int              // tasks that all workers may have in hand
	open   map[int][]string // tasks without a proof, and the names of their side-cars
	begun  time.Time
	claims map[int]claim
	mine   map[int]bool // tasks that this helper is running
	marks  bool         // it marks the end of the tasks for other helpers
}

// A claim is the latest claim of a task.
type claim struct {
	number int
	seen   time.Time // when this helper saw it first
}

// claimPrefix begins the names of claims in the folder of plans.
const claimPrefix = "claim-"

func claimName(task, number int) string { return fmt.Sprintf("%s%05d-%d", claimPrefix, task, number) }

// parseClaim returns the task and the number of a claim.
func parseClaim(name string) (task, number int, ok bool) {
	rest, ok := strings.CutPrefix(name, claimPrefix)
	a, b, two := strings.Cut(rest, "-")
	task, err1 := strconv.Atoi(a)
	number, err2 := strconv.Atoi(b)
	return task, number, ok && two && err1 == nil && err2 == nil
}

// removeClaims removes the claims of a stage.
func (s Spec) removeClaims(ctx context.Context) error {
	folder, err := store.Open(s.Out)
	if err != nil {
		return err
	}
	return remove(ctx, folder.Folder(sharding.PlanFolder), func(name string) bool { return strings.HasPrefix(name, claimPrefix) })
}

// newHelper returns a helper that knows all open tasks. It reads the plans in order, as
// far as the stage needs them for the names.
func newHelper(ctx context.Context, folder store.Folder, h *hands, namer sideCarNamer, limits Limits) (*helper, error) {
	peers, slots := limits.Peers, limits.Peers*max(1, limits.Workers)
	have, err := names(ctx, folder)
	if err != nil {
		return nil, err
	}
	plans, err := sharding.OpenTasks(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer plans.Close()
	if err := plans.Load(); err != nil {
		return nil, err
	}
	helper := &helper{folder: folder, hands: h, slots: slots, open: map[int][]string{}, begun: time.Now(), claims: map[int]claim{}, mine: map[int]bool{},
		marks: peers > lookers && !have[sharding.ManifestName]}
	sequential := false
	for task := range plans.Len() {
		cars, err := namer.SideCars(task, func(to any) error {
			if !sequential {
				store.Sequential(plans.File, 0, plans.Size())
				sequential = true
			}
			raw, err := plans.Raw(task)
			if err != nil {
				return err
			}
			return json.Unmarshal(raw, to)
		})
		if err != nil {
			return nil, err
		}
		if !contains(have, cars) {
			helper.open[task] = cars
		}
	}
	return helper, helper.learn(ctx)
}

// refresh removes the tasks that are done now, if this helper looks, and learns the claims of
// other helpers.
func (h *helper) refresh(ctx context.Context, look bool) error {
	if look {
		have, err := names(ctx, h.folder)
		if err != nil {
			return err
		}
		h.marks = h.marks && !have[sharding.ManifestName]
		for task, cars := range h.open {
			if contains(have, cars) {
				delete(h.open, task)
			}
		}
	}
	return h.learn(ctx)
}

// next returns a task to claim and the number of the claim; ok is false if there is none
// at present.
func (h *helper) next() (task, number int, ok bool) {
	patience := h.hands.patience()
	var free []int
	for t := range h.open {
		c, claimed := h.claims[t]
		switch {
		case h.mine[t]:
		case claimed && time.Since(c.seen) < patience:
		case !claimed && len(h.open) <= h.slots && time.Since(h.begun) < patience:
		default:
			free = append(free, t)
		}
	}
	if len(free) == 0 {
		return 0, 0, false
	}
	task = free[rand.IntN(len(free))] //nolint:gosec // helpers should choose differently; any choice results in the same bytes
	if c, claimed := h.claims[task]; claimed {
		number = c.number + 1
	}
	return task, number, true
}

// claim claims a task for this helper. It returns false if another helper was first.
func (h *helper) claim(ctx context.Context, task, number int) (bool, error) {
	w, err := h.folder.Folder(sharding.PlanFolder).Create(ctx, claimName(task, number))
	if err != nil {
		return false, err
	}
	defer w.Abort()
	if _, err := w.Write([]byte(crypto.Text())); err != nil {
		return false, err
	}
	err = w.Commit()
	h.claims[task] = claim{number, time.Now()}
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// help runs tasks of other workers until all tasks of the stage are done.
func (fn *taskFn) help(ctx context.Context) error {
	namer, ok := fn.worker.(sideCarNamer)
	if !ok || fn.Limits.Peers < 2 {
		return nil
	}
	j := fn.pool.job
	folder, err := store.Open(fn.Spec.Out)
	if err != nil {
		return err
	}
	if done, err := fn.waitToLook(ctx, folder); err != nil || done {
		return err
	}
	h, err := newHelper(ctx, folder, &j.hands, namer, fn.Limits)
	if err != nil {
		return err
	}
	ended := make(chan int, cap(j.gate))
	looked := time.Now()
	for len(h.open) > 0 {
		for len(h.mine) < cap(j.gate) {
			task, number, ok := h.next()
			if !ok {
				break
			}
			if ok, err = h.claim(ctx, task, number); err != nil {
				return err
			} else if !ok {
				continue
			}
			h.mine[task] = true
			err := fn.pool.Go(func(ctx context.Context) ([]Result, error) {
				defer func() { ended <- task }()
				_, err := j.hands.do(ctx, fn.worker, task)
				return nil, err // the worker that has the task emits its result
			})
			if err != nil {
				return err
			}
		}
		select {
		case <-fn.pool.ctx.Done():
			return fn.pool.failure()
		case task := <-ended:
			delete(h.mine, task)
			delete(h.open, task)
		case <-time.After(helpTimes.tick):
		}
		if time.Since(looked) < helpTimes.tick {
			continue
		}
		if err := h.refresh(ctx, looks(fn.Limits.Peers)); err != nil {
			return err
		}
		looked = time.Now()
	}
	return nil
}
