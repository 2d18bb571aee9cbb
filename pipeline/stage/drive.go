package stage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"
	"unicode/utf8"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/sharding"
)

// A Config is one run of a stage.
type Config struct {
	Spec      Spec
	Recipe    sharding.Recipe
	Tasks     []any   // the plan of each task, as JSON
	Sizes     []int64 // of the tasks in any unit, for a stage whose tasks differ much; nil elsewhere
	Total     int64   // of the meter
	Unit      string  // of the meter
	Reads     int64   // of the meter
	Overwrite bool    // replaces the output of other options
	// Prepare writes what all tasks read; it runs under the directory's lock,
	// before the first task. It may be nil.
	Prepare func(context.Context, store.Folder) error
}

// Locked calls do while it holds the lock of the directory at location, which it
// makes if there is none.
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

// checkPath refuses a path that cannot travel to workers, whose tasks are JSON.
func checkPath(path string) error {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if utf8.ValidString(path) {
		return nil
	}
	return failure.Usagef("path %q: not UTF-8: give the file or folder another name", path)
}

// Run locks a stage's directory and runs the stage there.
func Run(ctx context.Context, r Runner, c Config) (*sharding.Manifest, error) {
	return Locked(c.Spec.Out, func(folder store.Folder) (*sharding.Manifest, error) { return RunIn(ctx, folder, r, c) })
}

// RunIn runs a stage in a locked directory: it claims the directory, writes the
// plan, runs the job and returns the manifest.
func RunIn(ctx context.Context, folder store.Folder, r Runner, c Config) (*sharding.Manifest, error) {
	for _, path := range append([]string{c.Spec.Out}, c.Spec.Paths...) {
		if err := checkPath(path); err != nil {
			return nil, err
		}
	}
	if err := Claim(ctx, folder, c.Recipe, c.Overwrite); err != nil {
		return nil, err
	}
	if err := writePlan(ctx, folder, c.Recipe, c.Tasks); err != nil {
		return nil, err
	}
	if c.Prepare != nil {
		if err := c.Prepare(ctx, folder); err != nil {
			return nil, err
		}
	}
	c.Spec.Fingerprint = c.Recipe.Fingerprint()
	start, cpu := time.Now(), usage.CPU()
	meter := &Meter{Stage: c.Spec.Stage, Total: c.Total, Unit: c.Unit, Reads: c.Reads, Tasks: len(c.Tasks)}
	if r.Watch != nil {
		defer r.Watch(meter)()
	}
	err := runJob(ctx, r, c, meter)
	debug.FreeOSMemory() // the next stage has other buffers
	if err != nil {
		estimateNeed(err, folder, meter)
		return nil, err
	}
	m, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	if m.Fingerprint != c.Spec.Fingerprint {
		return nil, fmt.Errorf("%w: %s", ErrFenced, folder)
	}
	return m, writeRunInfo(ctx, folder, r, c.Spec, start, cpu)
}

// Order returns the indices of the tasks, the largest first: a large task that began
// last would keep one worker busy while the others have nothing left to do.
func (c Config) Order() []int {
	order := make([]int, len(c.Tasks))
	for i := range order {
		order[i] = i
	}
	if c.Sizes != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Sizes[b], c.Sizes[a]) })
	}
	return order
}

// estimateNeed raises what a full disk is said to need from what one write asked
// for to what the rest of the stage will take, judged by what lies in the folder
// for the work that is done.
func estimateNeed(err error, folder store.Folder, meter *Meter) {
	var space *store.SpaceError
	done, left := meter.Done(), meter.Total-meter.Done()
	if !errors.As(err, &space) || done <= 0 || left <= 0 {
		return
	}
	files, err := folder.List(context.Background())
	if err != nil {
		return // the first error matters more
	}
	var written int64
	for _, f := range files {
		written += f.Size()
	}
	space.Need = max(space.Need, int64(float64(written)*float64(left)/float64(done)))
}

// writePlan sweeps what a killed run left and writes the tasks, plan.json last.
func writePlan(ctx context.Context, folder store.Folder, recipe sharding.Recipe, tasks []any) error {
	planFolder := folder.Folder(sharding.PlanFolder)
	for _, f := range []store.Folder{folder, planFolder} {
		if err := store.Sweep(f); err != nil {
			return err
		}
	}
	files := sharding.PlanFiles(tasks)
	plan := sharding.StagePlan{Recipe: recipe, Tasks: len(tasks), TasksSHA256: sharding.Hash(files[len(tasks)].Data), Fingerprint: recipe.Fingerprint()}
	old, err := sharding.ReadPlan(ctx, folder)
	same := err == nil && old.Fingerprint == plan.Fingerprint && old.Tasks == plan.Tasks
	if !same { // of an older plan, or of one that was never finished
		if err := removePlans(ctx, planFolder); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
	}
	for _, f := range files {
		if same { // it was written before plan.json, but somebody may have removed or changed it
			if have, err := store.ReadFile(ctx, planFolder, f.Name); err == nil && bytes.Equal(have, f.Data) {
				continue
			}
		}
		if err := store.WriteFile(ctx, planFolder, f.Name, f.Data); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
	}
	if same && old.TasksSHA256 == plan.TasksSHA256 {
		return nil
	}
	if err := store.WriteFile(ctx, folder, sharding.PlanName, sharding.Marshal(plan)); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}
