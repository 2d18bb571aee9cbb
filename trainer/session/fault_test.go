package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/torture"
	"pretext/internal/store"
	"pretext/trainer/checkpoint"
)

// saveSteps returns what a run does to the checkpoint of a step, each time with
// its number: "write of /step-00000004/model.safetensors (1)".
func saveSteps(t *testing.T, o Options, checkpoint string) (names []string) {
	t.Helper()
	name := stepNames(o.Out)
	restore := store.Intercept(func(step store.Step, path string) error {
		if n := name(step, path); strings.Contains(n, checkpoint) {
			names = append(names, n)
		}
		return nil
	})
	defer restore()
	mustTrain(t, o)
	return names
}

// stepNames names the steps below a folder, and numbers those of one name.
func stepNames(root string) func(store.Step, string) string {
	seen := map[string]int{}
	return func(step store.Step, path string) string {
		if !strings.HasPrefix(path, root) {
			return "" // of the data, read in goroutines
		}
		n := fmt.Sprintf("%s of %s", step, strings.TrimPrefix(path, root))
		seen[n]++
		return fmt.Sprintf("%s (%d)", n, seen[n])
	}
}

// At each operation of a run's second save, the disk is full or the machine
// stops.
func TestARunWhoseSaveFailsGoesOnFromTheLastGoodCheckpoint(t *testing.T) {
	whole := testOptions(t)
	whole.Keep, whole.Readers, whole.EvalExamples, whole.NumTrainSteps, whole.SaveCheckpointsSteps = 1, 0, 4, 5, 2
	want := mustTrain(t, whole)
	o := whole
	o.Out = filepath.Join(fastDir(t), "recorded")
	names := saveSteps(t, o, "step-00000004")
	if len(names) < 30 {
		t.Fatalf("a save has %d steps only: %v", len(names), names)
	}
	kinds := map[string]bool{}
	for _, name := range names {
		kind, _, _ := strings.Cut(name, " ")
		if kinds[kind] && !torture.Long() {
			continue // trainer/checkpoint fails every step of a save
		}
		kinds[kind] = true
		for _, crash := range []bool{false, true} {
			if crash && strings.HasPrefix(name, "write") {
				continue // what it cuts off is cut off by a fault of the next step too
			}
			o.Out = filepath.Join(fastDir(t), "out")
			failSave(t, o, name, crash)
			got := mustTrain(t, o)
			if diff := cmp.Diff(files(t, want.Model), files(t, got.Model)); diff != "" {
				t.Errorf("%s: another checkpoint (-undisturbed +resumed):\n%.1000s", name, diff)
			}
			if diff := cmp.Diff(steady(t, whole.Out), steady(t, o.Out)); diff != "" {
				t.Errorf("%s: other metrics (-undisturbed +resumed):\n%s", name, diff)
			}
			if left, err := filepath.Glob(filepath.Join(o.Out, ".tmp*")); err != nil || len(left) > 0 {
				t.Errorf("%s: left behind: %v %v", name, left, err)
			}
			os.RemoveAll(o.Out)
		}
	}
}

// failSave runs with a fault at a step of a save, and looks at the message and
// at what is left.
func failSave(t *testing.T, o Options, at string, crash bool) {
	t.Helper()
	name, met := stepNames(o.Out), false
	restore := store.Intercept(func(step store.Step, path string) error {
		if name(step, path) == at {
			met = true
			return syscall.ENOSPC
		}
		if met && crash && strings.HasPrefix(path, o.Out) {
			return syscall.EIO
		}
		return nil
	})
	_, err := Train(context.Background(), o)
	restore()
	if !met {
		t.Fatalf("%s: never met", at)
	}
	if !strings.HasPrefix(at, string(store.StepDiscard)) {
		if err == nil || !crash && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: got %v, want a full disk", at, err)
		}
		if line := err.Error(); strings.Contains(line, store.TempPrefix) || !crash && !strings.Contains(line, "step-00000004") {
			t.Errorf("%s: want an error that names the checkpoint, got %q", at, line)
		}
	}
	c, err := checkpoint.Newest(o.Out)
	if err != nil || c.State.Progress.Step < 2 {
		t.Errorf("%s: no good checkpoint is left: %v", at, err)
	}
}
