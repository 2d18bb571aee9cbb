package stage

import (
	"errors"
	"testing"

	"pretext/internal/store"
	"pretext/sharding"
)

// A folder of plan version 1, in which every task has a plan file of its own, is
// resumed: a power failure at any time leaves a plan that a worker can read.
func TestAPlanOfVersion1BecomesOneFile(t *testing.T) {
	ctx := t.Context()
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Options: []byte("{}")}
	tasks := Tasks([]string{"first", "second", "third"})
	var old [][]byte
	for i := range tasks.Len {
		old = append(old, sharding.Compact(tasks.Plan(i)))
	}
	sums := sharding.PlanSums(old)
	errCut := errors.New("cut")
	for cut := 0; ; cut++ {
		dir, err := store.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		plans := dir.Folder(sharding.PlanFolder)
		for i, raw := range old {
			if err := store.WriteFile(ctx, plans, sharding.OldTaskFile(i), raw); err != nil {
				t.Fatal(err)
			}
		}
		plan := sharding.StagePlan{Version: 1, Recipe: recipe, Tasks: tasks.Len, TasksSHA256: sharding.Hash(sums), Fingerprint: recipe.Fingerprint()}
		for folder, file := range map[store.Folder]sharding.FileEntry{plans: {Name: sharding.SumsName, SHA256: string(sums)}, dir: {Name: sharding.PlanName, SHA256: string(sharding.Marshal(plan))}} {
			if err := store.WriteFile(ctx, folder, file.Name, []byte(file.SHA256)); err != nil {
				t.Fatal(err)
			}
		}
		left := cut
		restore := store.Intercept(func(store.Step, string) error {
			if left--; left < 0 {
				return errCut
			}
			return nil
		})
		cutErr := writePlan(ctx, dir, recipe, tasks)
		restore()
		for i, want := range []string{"first", "second", "third"} {
			var got string
			if err := sharding.ReadTask(ctx, dir, i, &got); err != nil || got != want {
				t.Errorf("after %d operations: task %d is %q, %v", cut, i, got, err)
			}
		}
		if err := writePlan(ctx, dir, recipe, tasks); err != nil {
			t.Fatal(err)
		}
		now, err := sharding.ReadPlan(ctx, dir)
		if err != nil || now.Version != sharding.PlanVersion || now.Fingerprint != plan.Fingerprint {
			t.Fatalf("after %d operations: the plan is %+v, %v", cut, now, err)
		}
		files, err := plans.List(ctx)
		if err != nil || len(files) != 1 || files[0].Name() != sharding.TasksName {
			t.Fatalf("after %d operations: files %v, %v, want %s alone", cut, files, err, sharding.TasksName)
		}
		if cutErr == nil {
			if cut < 10 {
				t.Errorf("only %d operations", cut)
			}
			return
		}
	}
}
