package stage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/sharding"
)

// AsWorker makes this process a worker of a cluster for a test.
func AsWorker(t *testing.T) {
	t.Helper()
	t.Setenv("PRETEXT_WORKER", "1")
	t.Cleanup(func() { workers.gate = nil })
}

// planned returns the spec of a stage whose plan is in its directory.
func planned(t *testing.T) Spec {
	t.Helper()
	Register(Definition{Name: t.Name(), Algorithm: 1, New: New(func(env *Env, _ struct{}) Worker { return nil })})
	t.Cleanup(func() { delete(definitions, t.Name()) })
	c := Config{Target: Target{Out: filepath.Join(t.TempDir(), "out")}, Stage: t.Name(), Options: struct{}{}, Tasks: Tasks([]int{1})}
	recipe, err := c.Recipe()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := store.Open(c.Out)
	if err != nil {
		t.Fatal(err)
	}
	if err := writePlan(t.Context(), folder, recipe, c.Tasks); err != nil {
		t.Fatal(err)
	}
	spec, err := c.Spec(recipe.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// Flink may repeat a stage in the same worker process: the error that ended the first
// attempt does not end the second, and both share the process's limit.
func TestAJobOfAWorkerLivesForOneAttempt(t *testing.T) {
	AsWorker(t)
	spec, limits := planned(t), Limits{Workers: 3, Memory: 1 << 30, Build: build()}
	first, err := findJob(t.Context(), t.Name(), limits, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { jobs.Delete(t.Name()) })
	if same, _ := findJob(t.Context(), t.Name(), limits, spec); same != first {
		t.Error("two bundles of one attempt have two jobs")
	}
	p := newPool[int](t.Context(), first)
	failed := errors.New("transient")
	if err := p.Go(func(context.Context) (int, error) { return 0, failed }); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(func(int) {}); !errors.Is(err, failed) {
		t.Fatalf("got %v", err)
	}
	second, err := findJob(t.Context(), t.Name(), limits, spec)
	if err != nil {
		t.Fatal(err)
	}
	p = newPool[int](t.Context(), second)
	if err := p.Go(func(context.Context) (int, error) { return 7, nil }); err != nil {
		t.Fatal(err)
	}
	got := 0
	if err := p.Wait(func(n int) { got = n }); err != nil || got != 7 {
		t.Errorf("second attempt: %d, %v", got, err)
	}
	if second.gate != first.gate || cap(second.gate) != 3 {
		t.Errorf("the attempts have %d and %d slots, want 3 together", cap(first.gate), cap(second.gate))
	}
}

func TestAWorkerOfAnotherBuildRefusesTheJob(t *testing.T) {
	AsWorker(t)
	_, err := findJob(t.Context(), t.Name(), Limits{Build: "v9 sha256:123"}, planned(t))
	if !failure.IsUsage(err) || !strings.Contains(err.Error(), "v9 sha256:123") || !strings.Contains(err.Error(), build()) {
		t.Errorf("got %v", err)
	}
}

func TestAWorkerThatDoesNotSeeTheDirectorySaysSo(t *testing.T) {
	AsWorker(t)
	spec := planned(t)
	if err := os.Rename(spec.Out, spec.Out+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	_, err := findJob(t.Context(), t.Name(), Limits{Build: build()}, spec)
	if !failure.IsUsage(err) || !strings.Contains(err.Error(), "where every worker reaches them") {
		t.Errorf("got %v", err)
	}
	spec.Out += ".elsewhere"
	spec.Fingerprint = "another"
	if _, err := findJob(t.Context(), t.Name(), Limits{Build: build()}, spec); !errors.Is(err, ErrFenced) {
		t.Errorf("got %v of a directory with another plan", err)
	}
}

// failingWorker fails each task.
type failingWorker struct{ *Env }

func (failingWorker) Do(context.Context, int) ([]Result, error) { return nil, sharding.ErrDamaged }

// What a worker reports is found in the text that a portable runner makes of it.
func TestAnErrorTravelsThroughAPortableRunner(t *testing.T) {
	Register(Definition{Name: t.Name(), Algorithm: 1, New: New(func(env *Env, _ struct{}) Worker { return failingWorker{env} })})
	t.Cleanup(func() { delete(definitions, t.Name()) })
	AsWorker(t)
	c := Config{Target: Target{Out: filepath.Join(t.TempDir(), "out")}, Stage: t.Name(), Tasks: Tasks([]int{1})}
	_, err := Run(t.Context(), Runner{Name: Portable, Workers: 1}, c)
	if err == nil {
		t.Fatal("the job did not fail")
	}
	reports := failure.Find(err.Error())
	if len(reports) == 0 || !errors.Is(reports[0].Err(), sharding.ErrDamaged) || !reports[0].Permanent {
		t.Errorf("reports %v in %q", reports, err)
	}
}

func TestSideCarsAreCountedByTask(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plan.json", "manifest.json", "run.json", "train-00000-of-00003.json", "eval-00000-of-00003.json", "train-00001-of-00003.json", "train-00001-of-00003.tfrecord", "x-2.idx"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := &Meter{Total: 3000, Tasks: 3}
	watchSideCars(t.Context(), folder, m)()
	if m.Done() != 2000 || m.Kept() != 2 {
		t.Errorf("%d done, %d kept, want 2000 and 2", m.Done(), m.Kept())
	}
}
