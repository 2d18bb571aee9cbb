package stage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/pipeline/flink"
	"pretext/sharding"
)

// A Target is the directory that a stage writes to and the memory that it may use.
type Target struct {
	Out       string // directory
	Overwrite bool   // remove output of other options or inputs
	Memory    int64  // bytes that the process may use
	Temp      string // local directory for temporary files; "": Out if it is local, else the system's temporary directory
}

// In returns a copy of t for the subdirectory name of t.Out.
func (t Target) In(name string) Target {
	t.Out = store.Join(t.Out, name)
	return t
}

// A Config configures one run of a stage.
type Config struct {
	Target
	Stage string // name of the registered stage
	// Algorithm is the version of the stage with these options; 0: the version in its
	// [Definition].
	Algorithm int
	Options   any              // all options that determine the bytes; written as JSON
	Inputs    []sharding.Input // in source order
	Paths     []string         // paths of the input: sources, or the documents directories to which blocks refer
	Work      any              // options of the workers, sent as JSON, see [Definition.New]
	Tasks     sharding.TaskList
	Sizes     []int64 // sizes of the tasks in any unit, so that the largest start first; nil if they are similar
	Total     int64   // see [Meter]
	Unit      string  // see [Meter]
	Reads     int64   // see [Meter]
	// Loaded is data for the tasks in this process, see [Env.Loaded]. Other processes do
	// not receive it.
	Loaded any
	// Prepare writes files that all tasks read. It is called before the first task, while
	// the directory is locked. It may be nil.
	Prepare func(context.Context, store.Folder) error
	// Refit allows a stage to be run again with other options if the first ones do not
	// fit the input. After a usage error, the directory is emptied, so that it accepts
	// other options.
	Refit bool

	fresh bool // see [isFresh]
}

// Tasks converts list to the type of [Config].Tasks.
func Tasks[T any](list []T) sharding.TaskList {
	return sharding.TaskList{Len: len(list), Plan: func(i int) any { return list[i] }}
}

// Recipe returns everything that determines the bytes of the output.
func (c Config) Recipe() (sharding.Recipe, error) {
	options, err := json.Marshal(c.Options)
	if err != nil {
		return sharding.Recipe{}, fmt.Errorf("options of stage %s: %w", c.Stage, err)
	}
	return sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: c.Stage, Algorithm: cmp.Or(c.Algorithm, definitions[c.Stage].Algorithm),
		Options: options, Inputs: c.Inputs}, nil
}

// Spec returns the spec for the workers. fingerprint is that of the plan.
func (c Config) Spec(fingerprint string) (Spec, error) {
	work, err := json.Marshal(c.Work)
	if err != nil {
		return Spec{}, fmt.Errorf("options of the workers of stage %s: %w", c.Stage, err)
	}
	return Spec{Stage: c.Stage, Out: store.Absolute(c.Out), Fingerprint: fingerprint, Paths: c.Paths, Temp: c.Temp, Work: work}, nil
}

// Locked locks the directory at location and calls do. It creates the directory if
// necessary.
func Locked[R any](location string, do func(store.Folder) (R, error)) (result R, err error) {
	if err := checkPath(location); err != nil {
		return result, err
	}
	folder, err := store.Open(location)
	if err != nil {
		return result, err
	}
	err = store.Hold(folder, func() (err error) {
		result, err = do(folder)
		return err
	})
	return result, err
}

// checkPath returns a usage error for a path that is not valid UTF-8, because tasks are
// sent to workers as JSON.
func checkPath(path string) error {
	if utf8.ValidString(store.Absolute(path)) {
		return nil
	}
	return failure.Usagef("path %q: not UTF-8: give the file or folder another name", path)
}

// Run locks a stage's directory and runs the stage there.
func Run(ctx context.Context, r Runner, c Config) (*sharding.Manifest, error) {
	return Locked(c.Out, func(folder store.Folder) (*sharding.Manifest, error) { return RunIn(ctx, folder, r, c) })
}

// RunIn runs a stage in a directory that the caller has locked: it claims the directory,
// writes the plan, runs the job and returns the manifest.
func RunIn(ctx context.Context, folder store.Folder, r Runner, c Config) (*sharding.Manifest, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	for _, path := range append([]string{c.Out}, c.Paths...) {
		if err := checkPath(path); err != nil {
			return nil, err
		}
	}
	recipe, err := c.Recipe()
	if err != nil {
		return nil, err
	}
	spec, err := c.Spec(recipe.Fingerprint())
	if err != nil {
		return nil, err
	}
	if err := Claim(ctx, folder, recipe, c.Overwrite); err != nil {
		return nil, err
	}
	live, err := r.live(ctx, spec)
	if err != nil {
		return nil, err
	}
	if !live {
		if err := sweep(folder); err != nil {
			return nil, err
		}
		if r.name() == Flink { // of a job that was killed
			if err := spec.removeClaims(ctx); err != nil {
				return nil, err
			}
		}
	}
	if c.fresh, err = isFresh(ctx, folder); err != nil {
		return nil, err
	}
	if err := writePlan(ctx, folder, recipe, c.Tasks); err != nil {
		return nil, fmt.Errorf("write plan: %w", err)
	}
	if c.Prepare != nil {
		if err := c.Prepare(ctx, folder); err != nil {
			return nil, err
		}
	}
	start, cpu := time.Now(), usage.CPU()
	meter := &Meter{Stage: c.Stage, Total: c.Total, Unit: c.Unit, Reads: c.Reads, Tasks: c.Tasks.Len}
	if err := c.runTasks(ctx, folder, r, spec, meter); err != nil {
		if c.Refit && failure.IsUsage(err) {
			err = errors.Join(err, Empty(ctx, folder))
		}
		return nil, err
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	if m.Fingerprint != spec.Fingerprint {
		return nil, fmt.Errorf("%w: %s", ErrFenced, folder)
	}
	if err := sweep(folder); err != nil { // killed workers may have left temporary files
		return nil, err
	}
	info := r.info(spec, start, cpu)
	info.Tasks = meter.watch.of(r.Workers)
	return m, store.WriteFile(ctx, folder, sharding.RunName, sharding.Marshal(info))
}

// runTasks runs the job of a planned stage.
func (c Config) runTasks(ctx context.Context, folder store.Folder, r Runner, spec Spec, meter *Meter) error {
	if r.Watch != nil {
		defer r.Watch(meter)()
	}
	j := newJob(ctx, max(1, r.Workers), meter)
	j.loaded, j.fresh = c.Loaded, c.fresh
	var err error
	if r.name() == Flink {
		err = c.runOnCluster(ctx, folder, r, spec, j)
	} else {
		err = j.run(r, spec, c.Order())
	}
	if r.name() == Flink && !errors.Is(err, flink.ErrUnknown) { // killed workers may have left temporary files
		err = cmp.Or(err, sweep(folder))
	}
	if err != nil {
		estimateNeed(err, folder, meter)
	}
	return err
}

// runOnCluster runs the job j of a planned stage on a cluster. If a worker that does not
// answer keeps the job from ending, although others have done all tasks, the rest of the
// job runs in this process: it reads the side-cars and writes the manifest.
func (c Config) runOnCluster(ctx context.Context, folder store.Folder, r Runner, spec Spec, j *job) error {
	defer watchSideCars(ctx, folder, j.meter)()
	if err := j.hands.remember(ctx, folder); err != nil {
		return err
	}
	err := j.run(r, spec, c.Order())
	if errors.Is(err, flink.ErrHeld) {
		err = c.conclude(ctx, r, spec, j)
	}
	return err
}

// conclude runs what is left of the cluster's job old in this process.
func (c Config) conclude(ctx context.Context, r Runner, spec Spec, old *job) error {
	j := newJob(ctx, cap(old.gate), &Meter{Stage: c.Stage})
	j.loaded, j.hands.before = c.Loaded, old.hands.before
	r.Name = Direct
	return errors.Join(j.run(r, spec, c.Order()), spec.removeClaims(context.WithoutCancel(ctx)))
}

// Order returns the indexes of the tasks, the largest task first. A large task that
// starts last would run alone at the end.
func (c Config) Order() []int {
	order := make([]int, c.Tasks.Len)
	for i := range order {
		order[i] = i
	}
	if c.Sizes != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Sizes[b], c.Sizes[a]) })
	}
	return order
}

// estimateNeed improves the error for a full disk. It replaces the space needed for one
// write by an estimate for the rest of the stage, extrapolated from the files written so
// far.
func estimateNeed(err error, folder store.Folder, meter *Meter) {
	var space *store.SpaceError
	done, left := meter.Done(), meter.Total-meter.Done()
	if !errors.As(err, &space) || done <= 0 || left <= 0 {
		return
	}
	files, err := folder.List(context.Background())
	if err != nil {
		return // the original error matters more
	}
	var written int64
	for _, f := range files {
		written += f.Size()
	}
	space.Need = max(space.Need, int64(float64(written)*float64(left)/float64(done)))
}

// sweep removes the temporary files of killed processes. No job may be running in the
// directory.
func sweep(folder store.Folder) error {
	return errors.Join(store.Sweep(folder), store.Sweep(folder.Folder(sharding.PlanFolder)))
}

// isFresh reports whether no task of an earlier run can have finished: the folder has no
// plan and no side-cars.
func isFresh(ctx context.Context, folder store.Folder) (bool, error) {
	if _, err := folder.Stat(ctx, sharding.PlanName); !errors.Is(err, fs.ErrNotExist) {
		return false, nil //nolint:nilerr // reading the plan returns the error
	}
	infos, err := folder.List(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return err == nil && !slices.ContainsFunc(infos, func(i fs.FileInfo) bool { return strings.HasSuffix(i.Name(), sharding.SideCarSuffix) }), err
}

// writePlan writes the file of tasks, then plan.json.
func writePlan(ctx context.Context, folder store.Folder, recipe sharding.Recipe, tasks sharding.TaskList) error {
	planFolder := folder.Folder(sharding.PlanFolder)
	old, err := sharding.ReadPlan(ctx, folder)
	same := err == nil && old.Fingerprint == recipe.Fingerprint() && old.Tasks == tasks.Len
	if !same { // existing files belong to an older plan, or to a plan that was never completed
		if err := removePlans(ctx, planFolder); err != nil {
			return err
		}
	}
	sum, err := writeTasks(ctx, planFolder, tasks, same && old.Version == sharding.PlanVersion)
	if err != nil {
		return err
	}
	if plan := sharding.NewPlan(recipe, tasks, sum); !same || old.Version != plan.Version || old.TasksSHA256 != plan.TasksSHA256 {
		if err := store.WriteFile(ctx, folder, sharding.PlanName, sharding.Marshal(plan)); err != nil {
			return err
		}
	}
	if !same {
		return nil
	}
	return removeOldPlans(ctx, planFolder)
}

// writeTasks writes the file of tasks and returns its SHA-256. kept reports whether an
// earlier run has already written the file. In that case the file is replaced only if its
// content differs, because somebody may have changed it.
func writeTasks(ctx context.Context, planFolder store.Folder, tasks sharding.TaskList, kept bool) (sum string, err error) {
	if kept {
		if sum, err = sharding.WriteTasks(ctx, io.Discard, tasks); err != nil {
			return "", err
		}
		if _, have, err := sharding.HashFile(ctx, planFolder, sharding.TasksName); err == nil && have == sum {
			return sum, nil
		}
	}
	if err := planFolder.Remove(ctx, sharding.TasksName); err != nil {
		return "", err
	}
	w, err := planFolder.Create(ctx, sharding.TasksName)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if sum, err = sharding.WriteTasks(ctx, w, tasks); err != nil {
		return "", err
	}
	return sum, w.Commit()
}
