//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pretext/cmd/train-bert/internal/tinydata"
	"pretext/trainer/checkpoint"
)

// patience bounds what a process may take: nothing here needs a hundredth of
// it, but machines are busy at times.
const patience = 2 * time.Minute

func TestASignalSavesAndExitsWith130(t *testing.T) {
	dir := t.TempDir()
	data, out, config := filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "config.json")
	if err := tinydata.Write(data, tinydata.Options{Train: 64, Vocab: 40}); err != nil {
		t.Fatal(err)
	}
	model := `{"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}`
	if err := os.WriteFile(config, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A run of weeks, which the signal ends.
	cmd := exec.Command(self, "train", "--data", data, "--out", out, "--model", config, "--num-train-steps", "1000000000", "--save-checkpoints-steps", "0")
	cmd.Args[0] = "train-bert"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	waitForSteps(t, filepath.Join(out, "metrics.jsonl"))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-done
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Fatalf("exit code %d, want 130: %s", code, &stderr)
	}
	if !strings.HasSuffix(stderr.String(), "train-bert: interrupted: run the same command again to go on from here\n") {
		t.Errorf("standard error ends otherwise:\n%s", &stderr)
	}
	saved, err := checkpoint.Newest(out)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(out, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var last struct{ Step int64 }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if saved.State.Progress.Step != last.Step || last.Step < 2 {
		t.Errorf("checkpoint of step %d, metrics end at step %d", saved.State.Progress.Step, last.Step)
	}
}

// waitForSteps waits until a run has taken two steps.
func waitForSteps(t *testing.T, metrics string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(metrics); err == nil && bytes.Count(b, []byte("\n")) >= 2 {
			return
		}
	}
	t.Fatal("the run takes no steps")
}
