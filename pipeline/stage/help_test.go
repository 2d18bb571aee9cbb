//go:build unix

package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pretext/internal/store"
	"pretext/sharding"
)

// A pausing worker needs a while for each task, and leaves a file for each attempt.
type pausing struct {
	*Env
	pausingWork
}

type pausingWork struct {
	Pause time.Duration
	Seen  string // directory
}

// slowVariable is the factor by which a worker process is slower.
const slowVariable = "STAGE_TEST_SLOW"

func init() {
	Register(Definition{Name: "pausing", Algorithm: 1, New: New(func(env *Env, work pausingWork) Worker { return &pausing{env, work} })})
}

func (w *pausing) SideCars(task int, _ func(any) error) ([]string, error) {
	return []string{fmt.Sprintf("pausing-%05d.json", task)}, nil
}

func (w *pausing) Do(ctx context.Context, task int) ([]Result, error) {
	return w.WriteFile(ctx, TaskFile{Task: task, Name: fmt.Sprintf("pausing-%05d.txt", task)}, func(out *Output) (sharding.Counts, error) {
		if err := os.WriteFile(filepath.Join(w.Seen, fmt.Sprintf("%d-%d", os.Getpid(), task)), nil, 0o600); err != nil {
			return nil, err
		}
		pause := w.Pause
		if os.Getenv(slowVariable) != "" {
			pause *= 10
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		_, err := fmt.Fprintf(out, "task %d\n", task)
		return nil, err
	})
}

// bundleVariable holds the instructions of a worker process.
const bundleVariable = "STAGE_TEST_BUNDLE"

type testBundle struct {
	Fn    taskFn
	Tasks []int
}

// This is the worker process of the tests below: it runs one bundle, as a TaskManager
// lets it.
func TestWorkerProcess(t *testing.T) {
	text := os.Getenv(bundleVariable)
	if text == "" {
		t.Skip("this is a worker process of other tests")
	}
	t.Setenv("PRETEXT_WORKER", "1") // not in the environment, for TestMain
	helpTimes.tick, helpTimes.least, helpTimes.first = 50*time.Millisecond, 100*time.Millisecond, time.Second
	var b testBundle
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	if err := b.Fn.StartBundle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, task := range b.Tasks {
		if err := b.Fn.ProcessElement(t.Context(), Task{task}, nil); err != nil {
			t.Fatal(err)
		}
	}
	results := 0
	if err := b.Fn.FinishBundle(t.Context(), func(int, Result) { results++ }); err != nil {
		t.Fatal(err)
	}
	if results != len(b.Tasks) {
		t.Fatalf("%d results of %d tasks", results, len(b.Tasks))
	}
	endJobs()
}

// A crew is a stage whose tasks are dealt to two worker processes.
type crew struct {
	config  Config
	spec    Spec
	folder  store.Folder
	before  *job
	workers [2]*exec.Cmd
	logs    [2]bytes.Buffer
	ended   [2]chan struct{}
}

const pause = 200 * time.Millisecond

// newCrew starts the workers; each runs two tasks at a time.
func newCrew(t *testing.T, tasks int, slow string) *crew {
	t.Helper()
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	if err := os.Mkdir(seen, 0o700); err != nil {
		t.Fatal(err)
	}
	c := &crew{config: Config{Target: Target{Out: filepath.Join(dir, "out")}, Stage: "pausing", Options: tasks,
		Work: pausingWork{Pause: pause, Seen: seen}, Tasks: Tasks(make([]struct{}, tasks))}}
	recipe, err := c.config.Recipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.folder, err = store.Open(c.config.Out); err != nil {
		t.Fatal(err)
	}
	if err := writePlan(t.Context(), c.folder, recipe, c.config.Tasks); err != nil {
		t.Fatal(err)
	}
	if c.spec, err = c.config.Spec(recipe.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	c.before = newJob(t.Context(), 2, new(Meter))
	if err := c.before.hands.remember(t.Context(), c.folder); err != nil {
		t.Fatal(err)
	}
	for i := range c.workers {
		b := testBundle{Fn: taskFn{Job: t.Name(), Limits: Limits{Workers: 2, Peers: 2, Build: build()}, Spec: c.spec}}
		for task := i; task < tasks; task += 2 {
			b.Tasks = append(b.Tasks, task)
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestWorkerProcess$", "-test.count=1")
		cmd.Env = append(os.Environ(), bundleVariable+"="+string(text))
		if i == 1 {
			cmd.Env = append(cmd.Env, slowVariable+"="+slow)
		}
		cmd.Stdout, cmd.Stderr = &c.logs[i], &c.logs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.workers[i], c.ended[i] = cmd, make(chan struct{})
		go func() { cmd.Wait(); close(c.ended[i]) }()
		t.Cleanup(func() { cmd.Process.Kill(); <-c.ended[i] })
	}
	return c
}

// attempts returns the number of tasks that a worker has begun.
func (c *crew) attempts(worker int) int {
	list, _ := filepath.Glob(filepath.Join(c.config.Work.(pausingWork).Seen, fmt.Sprint(c.workers[worker].Process.Pid, "-*")))
	return len(list)
}

// until waits until a worker has begun a number of tasks.
func (c *crew) until(t *testing.T, worker, tasks int) {
	t.Helper()
	for begin := time.Now(); c.attempts(worker) < tasks; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("worker %d does not begin %d tasks: %s", worker, tasks, c.logs[worker].String())
		}
	}
}

// wait waits for a worker, which must end without an error.
func (c *crew) wait(t *testing.T, worker int) {
	t.Helper()
	select {
	case <-c.ended[worker]:
	case <-time.After(time.Minute):
		t.Fatalf("worker %d does not end: %d and %d tasks begun", worker, c.attempts(0), c.attempts(1))
	}
	if !c.workers[worker].ProcessState.Success() {
		t.Fatalf("worker %d: %s", worker, c.logs[worker].String())
	}
}

// conclude ends the stage as the driver does, and compares its files with those of a run in
// one process.
func (c *crew) conclude(t *testing.T) {
	t.Helper()
	if err := c.config.conclude(t.Context(), Runner{Workers: 2}, c.spec, c.before); err != nil {
		t.Fatal(err)
	}
	alone := c.config
	alone.Out = filepath.Join(t.TempDir(), "out")
	if _, err := Run(t.Context(), Runner{Workers: 16}, alone); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(alone.Out, sharding.RunName)); err != nil {
		t.Fatal(err)
	}
	got, want := read(t, c.config.Out), read(t, alone.Out)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s differs", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && !strings.HasPrefix(filepath.Base(name), ".tmp-") {
			t.Errorf("%s is left", name)
		}
	}
}

// read returns the files below dir.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && info.Name() != ".lock" {
			b, err := os.ReadFile(path)
			name, _ := filepath.Rel(dir, path)
			files[name] = string(b)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The tasks of a worker that is stopped for the rest of the run are done by the other one:
// only those in its hands begin twice.
func TestAStoppedWorkerKeepsOnlyTheTasksInItsHands(t *testing.T) {
	t.Parallel()
	const tasks = 40
	c := newCrew(t, tasks, "")
	c.until(t, 1, 4)
	if err := c.workers[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	c.wait(t, 0)
	took, alone := time.Since(begin), tasks*pause/2
	stopped, others := c.attempts(1), c.attempts(0)
	t.Logf("%d tasks begun by the stopped worker, %d by the other in %v, which needs %v for all", stopped, others, took, alone)
	if stopped+others > tasks+2 {
		t.Errorf("%d tasks were begun twice, the stopped worker had two in its hands", stopped+others-tasks)
	}
	c.conclude(t)
}

// A worker that is ten times slower than the other does not decide when the stage ends.
func TestASlowWorkerHardlyDelaysTheStage(t *testing.T) {
	t.Parallel()
	const tasks = 100
	c := newCrew(t, tasks, "10")
	c.until(t, 0, 1)
	begin := time.Now()
	c.wait(t, 0)
	c.wait(t, 1)
	took, ideal := time.Since(begin), tasks*pause*10/22 // two workers of two tasks, one of a tenth of the speed
	t.Logf("%d and %d tasks begun in %v, ideally %v", c.attempts(0), c.attempts(1), took, ideal)
	// It was dealt half of the tasks, and has the time for one in eleven.
	if slow := c.attempts(1); slow > tasks/4 {
		t.Errorf("the slow worker began %d of %d tasks", slow, tasks)
	}
	c.conclude(t)
}
