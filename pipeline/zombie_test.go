package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/democorpus"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
	check "pretext/sharding/verify"
)

// A stop is an operation before which a worker is stopped, as by SIGSTOP or a
// machine that loses its network for a while.
type stop struct {
	what   string
	step   store.Step
	suffix string // of the file
}

var stops = []stop{
	{"before create, data", store.StepCreate, "-00000.jsonl.zst"},
	{"while writing, data", store.StepWrite, "-00000.jsonl.zst"},
	{"before commit, data", store.StepRename, "-00000.jsonl.zst"},
	{"before create, side-car", store.StepCreate, "-00000.json"},
	{"before commit, side-car", store.StepRename, "-00000.json"},
	{"before create, manifest", store.StepCreate, sharding.ManifestName},
	{"before commit, manifest", store.StepRename, sharding.ManifestName},
}

// A worker of plan A is stopped, another run with other options takes the folder
// from beginning to end, and the worker wakes: the folder is as plan B left it.
func TestAWorkerThatWakesUpChangesNothing(t *testing.T) {
	for _, s := range stops {
		t.Run(s.what, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "documents")
			z := newZombie(t, out)
			blocked := z.startAndStop(t, func(before func(name string) bool) (restore func()) {
				return store.Intercept(func(step store.Step, path string) error {
					if step == s.step && strings.HasSuffix(path, s.suffix) {
						before(path)
					}
					return nil
				})
			})
			z.takeOver(t)
			before := tree(t, out)
			maps.DeleteFunc(before, func(name, _ string) bool { // of the stopped worker, which removes it
				return strings.HasPrefix(name, store.TempPrefix)
			})
			if err := z.wake(blocked); err == nil {
				t.Error("the stopped worker finished its task in the folder of another plan")
			}
			z.check(t, out)
			if diff := cmp.Diff(before, tree(t, out)); diff != "" {
				t.Errorf("the folder changed (-before +after):\n%s", diff)
			}
		})
	}
}

// The same worker while plan B is under way: B's driver has removed A's files and
// written its own plan, but no worker of B has begun.
func TestAWorkerThatWakesUpFirstIsReplaced(t *testing.T) {
	for _, s := range stops {
		t.Run(s.what, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "documents")
			z := newZombie(t, out)
			var began atomic.Bool
			woken := make(chan error, 1)
			var blocked *stopped
			blocked = z.startAndStop(t, func(before func(name string) bool) (restore func()) {
				return store.Intercept(func(step store.Step, path string) error {
					if step == s.step && strings.HasSuffix(path, s.suffix) && before(path) {
						return nil
					}
					if step == store.StepOpen && strings.HasSuffix(path, "/plan/"+sharding.TasksName) && blocked != nil && began.CompareAndSwap(false, true) {
						woken <- z.wake(blocked) // B's first worker reads its task
					}
					return nil
				})
			})
			z.takeOver(t)
			if err := <-woken; err == nil {
				t.Error("the stopped worker finished its task in the folder of another plan")
			}
			z.check(t, out)
		})
	}
}

// A zombie is a worker of a plan that another one replaces.
type zombie struct {
	config ExtractConfig // of the other plan
	spec   stage.Spec
	tasks  int
}

// A stopped is a worker that waits.
type stopped struct {
	goOn chan struct{}
	done chan error
}

func newZombie(t *testing.T, out string) *zombie {
	t.Helper()
	ctx := t.Context()
	a := ExtractConfig{Target: stage.Target{Out: out, Memory: 1 << 30}, Sources: []Source{{KindWiki, writeFile(t, t.TempDir(), "w.xml.bz2", democorpus.Dump())}}}
	a.Extract = DefaultExtractOptions()
	plan, err := planSources(ctx, a, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	c := stage.Config{Target: a.Target, Stage: "extract", Options: a.Extract, Inputs: plan.inputs, Paths: plan.paths(),
		Work: extractWork{Sources: plan.sources, Options: a.Extract}, Tasks: stage.Tasks(plan.tasks)}
	recipe, err := c.Recipe()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := store.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	sum, err := sharding.WriteTasks(ctx, &list, c.Tasks)
	if err == nil {
		err = store.WriteFile(ctx, folder.Folder(sharding.PlanFolder), sharding.TasksName, list.Bytes())
	}
	if err == nil {
		err = store.WriteFile(ctx, folder, sharding.PlanName, sharding.Marshal(sharding.NewPlan(recipe, c.Tasks, sum)))
	}
	if err != nil {
		t.Fatal(err)
	}
	spec, err := c.Spec(recipe.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	b := a
	b.Extract.Wiki.MinCharacters = 7
	b.Overwrite = true
	return &zombie{b, spec, len(plan.tasks)}
}

// startAndStop starts a worker of plan A and returns once it waits. intercept
// makes operations call before, which stops the first caller and reports whether
// it did.
func (z *zombie) startAndStop(t *testing.T, intercept func(before func(string) bool) (restore func())) *stopped {
	t.Helper()
	s := &stopped{make(chan struct{}), make(chan error, 1)}
	reached := make(chan struct{})
	var taken atomic.Bool
	t.Cleanup(intercept(func(string) (first bool) {
		if first = taken.CompareAndSwap(false, true); first {
			close(reached)
			<-s.goOn
		}
		return first
	}))
	go func() { s.done <- z.work() }()
	select {
	case <-reached:
	case err := <-s.done:
		t.Fatalf("the worker did not stop: %v", err)
	}
	return s
}

// work does all tasks of plan A and its manifest.
func (z *zombie) work() error {
	w, err := z.spec.Worker()
	if err != nil {
		return err
	}
	var all []stage.Result
	for i := range z.tasks {
		r, err := w.Do(context.Background(), i)
		if err != nil {
			return err
		}
		all = append(all, r...)
	}
	return w.Finish(context.Background(), all)
}

func (z *zombie) takeOver(t *testing.T) {
	t.Helper()
	if _, err := Extract(t.Context(), stage.Runner{Workers: 2}, z.config); err != nil {
		t.Fatalf("the other plan: %v", err)
	}
}

func (z *zombie) wake(s *stopped) error {
	close(s.goOn)
	return <-s.done
}

// check verifies that the folder is complete and of plan B.
func (z *zombie) check(t *testing.T, out string) {
	t.Helper()
	folder, err := store.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sharding.ReadManifest(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var made ExtractOptions
	if err := json.Unmarshal(m.Options, &made); err != nil || made.Wiki.MinCharacters != z.config.Extract.Wiki.MinCharacters {
		t.Errorf("the manifest is not of the newer plan: %s, %v", m.Options, err)
	}
	r, err := check.Dataset(t.Context(), out, check.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("verify: %v", p)
	}
}
