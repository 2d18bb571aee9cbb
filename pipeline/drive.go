package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/sharding"
)

// driveConfig is what [drive] needs of a stage.
type driveConfig struct {
	spec      Spec
	recipe    sharding.Recipe
	tasks     []any   // the plan of each task
	sizes     []int64 // of the tasks in any unit, for a stage whose tasks differ much; nil elsewhere
	total     int64   // of the meter
	overwrite bool
	// prepare writes what all tasks read; it runs under the folder's lock,
	// before the first task. It may be nil.
	prepare func(context.Context, store.Folder) error
}

// drive locks a stage's folder and runs the stage there.
func drive(ctx context.Context, r Runner, c driveConfig) (*sharding.Manifest, error) {
	return locked(c.spec.Out, func(folder store.Folder) (*sharding.Manifest, error) { return driveIn(ctx, folder, r, c) })
}

// driveIn runs a stage in a locked folder: it claims the folder, writes the
// plan, runs the job and returns the manifest.
func driveIn(ctx context.Context, folder store.Folder, r Runner, c driveConfig) (*sharding.Manifest, error) {
	for _, path := range c.spec.paths() {
		if err := checkPath(path); err != nil {
			return nil, err
		}
	}
	if err := claim(ctx, folder, c.recipe, c.overwrite); err != nil {
		return nil, err
	}
	if err := writePlan(ctx, folder, c.recipe, c.tasks); err != nil {
		return nil, err
	}
	if c.prepare != nil {
		if err := c.prepare(ctx, folder); err != nil {
			return nil, err
		}
	}
	c.spec.Fingerprint = c.recipe.Fingerprint()
	start, cpu := time.Now(), usage.CPU()
	meter := newMeter(c.spec.Stage, c.total)
	meter.Tasks = len(c.tasks)
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
	if m.Fingerprint != c.spec.Fingerprint {
		return nil, fmt.Errorf("%w: %s", ErrFenced, folder)
	}
	return m, writeRunInfo(ctx, folder, r, c.spec, start, cpu)
}

// order returns the indices of the tasks, the largest first: a large task that began
// last would keep one worker busy while the others have nothing left to do.
func (c driveConfig) order() []int {
	order := make([]int, len(c.tasks))
	for i := range order {
		order[i] = i
	}
	if c.sizes != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.sizes[b], c.sizes[a]) })
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
		written += f.Size
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
