package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
)

// Claim checks that a directory is empty or contains output of the same recipe. With
// overwrite it removes output of other recipes; otherwise such output is an error.
func Claim(ctx context.Context, folder store.Folder, recipe sharding.Recipe, overwrite bool) error {
	plan, err := sharding.ReadPlan(ctx, folder)
	var old sharding.Recipe
	switch {
	case err == nil:
		old = plan.Recipe
	case errors.Is(err, fs.ErrNotExist):
		m, err := sharding.ReadManifest(ctx, folder)
		if errors.Is(err, sharding.ErrUnfinished) {
			return nil
		}
		if err != nil && !overwrite {
			return err
		}
		if m != nil {
			old = m.Recipe
		}
	case !overwrite:
		return err
	}
	if old.Fingerprint() == recipe.Fingerprint() {
		return nil
	}
	if !overwrite {
		return &OptionsError{folder.String(), Differences(old, recipe)}
	}
	return removeStage(ctx, folder)
}

// removeStage removes the files of a stage, but not the plans of its tasks, which the
// next plan replaces. It removes the manifest first, so that the directory never looks
// finished. It removes the plan last, so that an interrupted removal leaves no file
// without its plan.
func removeStage(ctx context.Context, folder store.Folder) error {
	if err := folder.Remove(ctx, sharding.ManifestName); err != nil {
		return err
	}
	if plan, err := sharding.ReadPlan(ctx, folder); err == nil {
		if clear := definitions[plan.Stage].Clear; clear != nil {
			if err := clear(ctx, folder, plan); err != nil {
				return err
			}
		}
	}
	if err := removeOurs(ctx, folder, sharding.PlanName); err != nil {
		return err
	}
	if err := folder.Remove(ctx, sharding.ReaderName); err != nil { // hidden
		return err
	}
	return folder.Remove(ctx, sharding.PlanName)
}

// Empty removes the files of a stage and the plans of its tasks.
func Empty(ctx context.Context, folder store.Folder) error {
	if err := removeStage(ctx, folder); err != nil {
		return err
	}
	return removePlans(ctx, folder.Folder(sharding.PlanFolder))
}

// removePlans removes the plans of all tasks.
func removePlans(ctx context.Context, planFolder store.Folder) error {
	if err := removeOldPlans(ctx, planFolder); err != nil {
		return err
	}
	return planFolder.Remove(ctx, sharding.TasksName)
}

// removeOldPlans removes the task plans of earlier versions, which are in one file each,
// the list of their hashes, and claims.
func removeOldPlans(ctx context.Context, planFolder store.Folder) error {
	return remove(ctx, planFolder, func(name string) bool {
		return owns(name) || name == sharding.SumsName || strings.HasPrefix(name, claimPrefix)
	})
}

// removeOurs removes all files of a directory that a stage may have written, except the
// file named but.
func removeOurs(ctx context.Context, folder store.Folder, but string) error {
	return remove(ctx, folder, func(name string) bool { return name != but && owns(name) })
}

// remove removes the files of a directory for which which returns true.
func remove(ctx context.Context, folder store.Folder, which func(name string) bool) error {
	files, err := folder.List(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, info := range files {
		if !which(info.Name()) {
			continue
		}
		if err := folder.Remove(ctx, info.Name()); err != nil {
			return err
		}
	}
	return nil
}

// Differences describes the differences between two recipes for the user.
func Differences(old, new sharding.Recipe) (diffs []string) {
	if old.Stage != new.Stage {
		return []string{fmt.Sprintf("it holds the output of stage %q, not %q", old.Stage, new.Stage)}
	}
	if old.Algorithm != new.Algorithm {
		diffs = append(diffs, fmt.Sprintf("made by version %d of the stage, this program has %d", old.Algorithm, new.Algorithm))
	}
	a, b := sharding.FlattenOptions(old.Options), sharding.FlattenOptions(new.Options)
	for _, k := range slices.Sorted(maps.Keys(union(a, b))) {
		if a[k] != b[k] {
			diffs = append(diffs, fmt.Sprintf("%s was %s, now %s", k, orNone(shorten(a[k])), orNone(shorten(b[k]))))
		}
	}
	if !slices.Equal(old.Inputs, new.Inputs) {
		diffs = append(diffs, fmt.Sprintf("inputs were %s, now %s", describe(old.Inputs), describe(new.Inputs)))
	}
	return diffs
}

func describe(inputs []sharding.Input) string {
	var names []string
	for _, in := range inputs {
		names = append(names, fmt.Sprintf("%s (%d bytes, %.8s)", in.Name, in.Bytes, in.SHA256))
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("… %d in all", len(inputs)))
	}
	return strings.Join(names, ", ")
}

// shorten truncates long lists of values.
func shorten(s string) string {
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

func union[M ~map[string]V, V any](a, b M) M {
	u := make(M, len(a)+len(b))
	maps.Copy(u, a)
	maps.Copy(u, b)
	return u
}
