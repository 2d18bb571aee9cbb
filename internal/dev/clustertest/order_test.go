//go:build cluster

package clustertest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A second run in a directory is refused while the first lives, and follows the
// first one's job once its submitter is dead.
func TestTwoSubmittersOfOneDirectory(t *testing.T) {
	want := probeTree(t, "--tasks", "12")
	out, gate := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "gate")
	args := append(onFlink(2), "--tasks", "12", "--gate", gate, "--out", out)
	first := submit(t, shared.probe, args...)
	midStage(t, first, out)
	submit(t, shared.probe, args...).mustEnd(t, 8)
	first.cmd.Process.Kill()
	first.mustEnd(t, -1)
	second := submit(t, shared.probe, args...)
	time.Sleep(2 * time.Second)
	open(t, gate)
	second.mustEnd(t, 0)
	if !strings.Contains(second.stderr.String(), "already runs this stage") {
		t.Errorf("the second run does not follow the job: %s", second.stderr.String())
	}
	mustEqual(t, out, want)
	if _, err := os.Stat(filepath.Join(out, "run.json")); err != nil {
		t.Error(err)
	}
	noWorkers(t)
}

// open opens a gate.
func open(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Workers of a job that was replaced write nothing into the new data, whenever they
// wake up.
func TestStoppedWorkersDoNotHarmTheNextRun(t *testing.T) {
	other := probeTree(t, "--tasks", "12", "--option", "1")
	out, gate := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "gate")
	first := submit(t, shared.probe, append(onFlink(2), "--tasks", "12", "--gate", gate, "--out", out)...)
	midStage(t, first, out)
	first.cmd.Process.Kill()
	first.mustEnd(t, -1)
	zombies := workers("")
	for _, z := range zombies {
		syscall.Kill(z.pid, syscall.SIGSTOP)
	}
	submit(t, shared.probe, "--tasks", "12", "--option", "1", "--overwrite", "--out", out).mustEnd(t, 0)
	open(t, gate)
	for _, z := range zombies {
		syscall.Kill(z.pid, syscall.SIGCONT)
	}
	until(t, "end of the first job", func() bool { return running(t) == 0 })
	noWorkers(t)
	mustEqual(t, out, other)
}

func TestAnotherBuildIsRefusedByName(t *testing.T) {
	b, err := os.ReadFile(shared.probe)
	if err != nil {
		t.Fatal(err)
	}
	another := filepath.Join(t.TempDir(), "another")
	if err := os.WriteFile(another, append(bytes.Clone(b), 0), 0o700); err != nil {
		t.Fatal(err)
	}
	s := submit(t, shared.probe, append(onFlink(2), "--set", "worker-program="+another, "--out", filepath.Join(t.TempDir(), "out"))...)
	s.mustEnd(t, 2)
	if text := lastLine(s.stderr.String()); !strings.Contains(text, "another build of pretext") || strings.Count(text, "sha256:") != 2 {
		t.Errorf("got %q", text)
	}
}

// Without a restart strategy Flink gives up at the first loss: the user is warned,
// and the same command ends right.
func TestNoRestartStrategyIsNoted(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	if err := shared.configure("none", true); err != nil {
		t.Fatal(err)
	}
	restart(t, "jobmanager")
	defer func() {
		if err := shared.configure("fixed-delay", true); err != nil {
			t.Fatal(err)
		}
		restart(t, "jobmanager")
	}()
	want := probeTree(t, "--tasks", "12")
	out, gate := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "gate")
	args := append(onFlink(2), "--tasks", "12", "--gate", gate, "--out", out)
	s := submit(t, shared.probe, args...)
	midStage(t, s, out)
	killWorkers(t, "")
	open(t, gate)
	s.mustEnd(t, 1)
	if text := s.stderr.String(); !strings.Contains(text, "note: Flink has no restart strategy") {
		t.Errorf("no warning: %s", text)
	}
	t.Log(lastLine(s.stderr.String()))
	submit(t, shared.probe, args...).mustEnd(t, 0)
	mustEqual(t, out, want)
}
