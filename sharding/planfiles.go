package sharding

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"pretext/internal/store"
)

// A PlanFile is the name and content of a file in [PlanFolder].
type PlanFile struct {
	Name string
	Data []byte
}

// NewPlan returns the plan of a stage with the given recipe and tasks, and the
// files of [PlanFolder]: one for each task, then the list of their hashes.
// Write these files before the plan.
func NewPlan(recipe Recipe, tasks []any) (p StagePlan, files []PlanFile) {
	for i, t := range tasks {
		files = append(files, PlanFile{TaskFile(i), Compact(t)})
	}
	sums := PlanSums(files)
	return StagePlan{Recipe: recipe, Tasks: len(tasks), TasksSHA256: Hash(sums), Fingerprint: recipe.Fingerprint()},
		append(files, PlanFile{SumsName, sums})
}

// PlanSums returns the SHA-256 of each file, in the format of sha256sum.
func PlanSums(files []PlanFile) []byte {
	var sums bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&sums, "%s  %s\n", Hash(f.Data), f.Name)
	}
	return sums.Bytes()
}

// ReadTask reads the plan of the task with this index into to.
func ReadTask(ctx context.Context, folder Folder, index int, to any) error {
	name := TaskFile(index)
	b, err := store.ReadFile(ctx, folder, PlanFolder+"/"+name)
	if err != nil {
		return fmt.Errorf("read plan of task %d: %w", index, err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("read plan of task %d: %s: %w: %v", index, name, ErrFormat, err)
	}
	return nil
}
