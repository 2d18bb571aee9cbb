//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pretext/internal/dev/tinydata"
	"pretext/internal/dev/torture"
	"pretext/trainer/checkpoint"
)

// patience bounds what a process may take: nothing here needs a hundredth of
// it, but machines are busy at times.
const patience = 10 * time.Minute

// writeRun writes data and a model into a new folder and returns the command
// that trains there.
func writeRun(t *testing.T, out string, more ...string) (args []string) {
	t.Helper()
	dir := t.TempDir()
	data, config := filepath.Join(dir, "data"), filepath.Join(dir, "config.json")
	if err := tinydata.Write(data, tinydata.Options{Train: 64, Eval: 8, Vocab: 40}); err != nil {
		t.Fatal(err)
	}
	model := `{"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}`
	if err := os.WriteFile(config, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return append([]string{"train", "--data", data, "--out", out, "--model", config}, more...)
}

// A process is train-bert in a process of its own: this test binary under that
// name, as testscript arranges it.
type process struct {
	*exec.Cmd
	stderr buffer
	done   chan struct{} // closed when it has ended
}

// A buffer can be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func startProcess(t *testing.T, args []string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return launch(t, exec.Command(self, args...))
}

// startLimited starts train-bert where no file may be longer than some KB.
func startLimited(t *testing.T, args []string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "train-bert")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return launch(t, exec.Command("/bin/sh", append([]string{"-c", `ulimit -f 16 && exec "$0" "$@"`, link}, args...)...))
}

func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{Cmd: cmd, done: make(chan struct{})}
	if filepath.Base(p.Path) != "sh" {
		p.Args[0] = "train-bert"
	}
	p.Stderr = &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { p.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	go func() {
		p.Wait()
		close(p.done)
	}()
	return p
}

func TestASignalSavesAndExitsWith130(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	// A run of weeks, which the signal ends.
	p := startProcess(t, writeRun(t, out, "--num-train-steps", "1000000000", "--save-checkpoints-steps", "0"))
	waitForLines(t, p, filepath.Join(out, "metrics.jsonl"), 2)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.done
	if code := p.ProcessState.ExitCode(); code != 130 {
		t.Fatalf("exit code %d, want 130: %s", code, &p.stderr)
	}
	saved, err := checkpoint.Newest(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(p.stderr.String(), "train-bert: interrupted: run the same command again to resume from "+saved.Dir+"\n") {
		t.Errorf("standard error ends otherwise:\n%s", &p.stderr)
	}
	if last := lastStep(t, out); saved.State.Progress.Step != last || last < 2 {
		t.Errorf("checkpoint of step %d, metrics end at step %d", saved.State.Progress.Step, last)
	}
}

// lastStep is the step of the last line of the metrics.
func lastStep(t *testing.T, out string) int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var last struct{ Step int64 }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	return last.Step
}

// Where a kill strikes depends on time; what comes out must not.
func TestARunThatIsKilledAgainAndAgainEndsAsOneThatWasNot(t *testing.T) {
	kills := torture.Times(t, "PRETEXT_KILLS", 2, 200)
	dir := t.TempDir()
	want, out := filepath.Join(dir, "want"), filepath.Join(dir, "out")
	steps := 100 + 5*kills // some are left after the last kill, as a rule
	args := writeRun(t, want, "--num-train-steps", strconv.Itoa(steps), "--save-checkpoints-steps", "6", "--keep", "2")
	finish(t, startProcess(t, args))
	args[slices.Index(args, want)] = out
	for kill := range kills {
		p := startProcess(t, args)
		p.waitForCheckpoint(t, out)                              // so that the run gets on
		time.Sleep(time.Duration(17*kill%50) * time.Millisecond) // wherever that is: a step, an evaluation, a checkpoint
		p.Process.Kill()
		<-p.done
	}
	c, err := checkpoint.Newest(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills, the last checkpoint is %s of %d", kills, filepath.Base(c.Dir), steps)
	finish(t, startProcess(t, args))
	last := fmt.Sprintf("step-%08d", steps)
	for _, name := range []string{"model.safetensors", "optimizer.safetensors", "trainer.json", "manifest.json"} {
		a, errA := os.ReadFile(filepath.Join(want, last, name))
		b, errB := os.ReadFile(filepath.Join(out, last, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from that of an undisturbed run (%v, %v)", name, errA, errB)
		}
	}
	left, err := filepath.Glob(filepath.Join(out, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAFullDiskIsToldAndLeavesNothingHalf(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	args := writeRun(t, out, "--num-train-steps", "4", "--save-checkpoints-steps", "2")
	p := startLimited(t, args)
	<-p.done
	if code := p.ProcessState.ExitCode(); code != 6 || !strings.Contains(p.stderr.String(), "free some space") {
		t.Fatalf("exit code %d, want 6: %s", code, &p.stderr)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	finish(t, startProcess(t, args))
}

// finish waits for a process that must end well.
func finish(t *testing.T, p *process) {
	t.Helper()
	<-p.done
	if code := p.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit code %d: %s", code, &p.stderr)
	}
}

// waitForCheckpoint waits until a process has written a checkpoint, or has ended.
func (p *process) waitForCheckpoint(t *testing.T, out string) {
	t.Helper()
	newest := func() string {
		all, err := filepath.Glob(filepath.Join(out, "step-*", "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(all[max(0, len(all)-1):], "")
	}
	for end, before := time.Now().Add(patience), newest(); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if newest() != before {
			return
		}
		select {
		case <-p.done:
			return
		default:
		}
	}
	t.Fatal("the run writes no checkpoint")
}

// waitForLines waits until a file has n lines, or the process that writes it
// has ended.
func waitForLines(t *testing.T, p *process, path string, n int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && bytes.Count(b, []byte("\n")) >= n {
			return
		}
		select {
		case <-p.done:
			return
		default:
		}
	}
	t.Fatal("the run takes no steps")
}
