//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pretext/trainer/checkpoint"
)

// fineVocab is the vocabulary of the model below.
const fineVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nthe\ncat\ndog\ngood\nbad\n"

// writeFineRun writes a table and a model into a new folder and returns the
// command that trains there.
func writeFineRun(t *testing.T, out string, more ...string) (args []string) {
	t.Helper()
	dir := t.TempDir()
	table := "sentence\tlabel\n"
	for i := range 24 {
		table += fmt.Sprintf("%s %s %s\t%d\n", []string{"a", "the"}[i%2], []string{"bad", "good"}[i/2%2], []string{"cat", "dog"}[i/4%2], i/2%2)
	}
	for name, content := range map[string]string{
		"vocab.txt": fineVocab, "train.tsv": table, "dev.tsv": table,
		"config.json": `{"vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return append([]string{"finetune", "classify", "--task", "sst-2", "--data-dir", dir, "--model", filepath.Join(dir, "config.json"),
		"--vocab-file", filepath.Join(dir, "vocab.txt"), "--train-batch-size", "5", "--out", out}, more...)
}

func TestASignalSavesAFineTuningRunWhichGoesOn(t *testing.T) {
	dir := t.TempDir()
	out, want := filepath.Join(dir, "out"), filepath.Join(dir, "want")
	// Steps enough for the signal to come before the last; a machine that is faster
	// than that has nothing to go on with, and the comparison holds all the same.
	args := writeFineRun(t, out, "--num-train-steps", "250", "--save-checkpoints-steps", "16", "--learning-rate", "1e-2")
	p := startProcess(t, args)
	waitForLines(t, p, filepath.Join(out, "metrics.jsonl"), 20)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.done
	if code := p.ProcessState.ExitCode(); code != 130 && code != 0 {
		t.Fatalf("exit code %d, want 130: %s", code, &p.stderr)
	} else if code == 0 {
		t.Log("the run had ended before the signal")
	} else if !strings.HasSuffix(p.stderr.String(), "interrupted: run the same command again to resume from "+checkpoint.Last(out)+"\n") {
		t.Errorf("standard error ends otherwise:\n%s", &p.stderr)
	}
	p = startProcess(t, args)
	time.Sleep(120 * time.Millisecond)
	p.Process.Kill()
	<-p.done
	finish(t, startProcess(t, args))
	for i, a := range args {
		if a == out {
			args[i] = want
		}
	}
	finish(t, startProcess(t, args))
	for _, name := range []string{"eval.json", "step-00000250/model.safetensors", "step-00000250/optimizer.safetensors", "step-00000250/trainer.json", "step-00000250/manifest.json"} {
		a, errA := os.ReadFile(filepath.Join(want, name))
		b, errB := os.ReadFile(filepath.Join(out, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from that of an undisturbed run (%v, %v)", name, errA, errB)
		}
	}
}

func TestAFullDiskEndsAFineTuningRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	args := writeFineRun(t, out, "--num-train-steps", "4")
	p := startLimited(t, args)
	<-p.done
	if code := p.ProcessState.ExitCode(); code != 6 || !strings.Contains(p.stderr.String(), "free some space") {
		t.Fatalf("exit code %d, want 6: %s", code, &p.stderr)
	}
	if left, err := filepath.Glob(filepath.Join(out, "step-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	finish(t, startProcess(t, args))
}

// Weights that are no numbers end prediction, measuring and answering with what is
// wrong.
func TestWeightsThatAreNoNumbersAreDamage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	args := writeFineRun(t, out, "--num-train-steps", "1")
	finish(t, startProcess(t, args))
	model := filepath.Join(t.TempDir(), "model")
	finish(t, startProcess(t, []string{"export", out, "--out", model}))
	path := filepath.Join(model, "model.safetensors")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) - 400; i < len(b); i++ { // the last tensors: pooler and classifier
		b[i] = 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	data := args[slices.Index(args, "--data-dir")+1]
	if err := os.Remove(filepath.Join(data, "train.tsv")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"finetune", "classify", "--task", "sst-2", "--data-dir", data, "--init", model, "--out", out + "2", "--quiet"},
		{"predict", model, "--text", "a cat"},
	} {
		p := startProcess(t, args)
		<-p.done
		if code := p.ProcessState.ExitCode(); code != 4 || !strings.Contains(p.stderr.String(), "NaN") {
			t.Errorf("%s: exit code %d, want 4: %s", args[0], code, &p.stderr)
		}
	}
}

func TestAServerAnswersUntilASignal(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	finish(t, startProcess(t, writeFineRun(t, out, "--num-train-steps", "2")))
	p := startProcess(t, []string{"predict", out, "--serve", "0", "--threads", "1"})
	address := waitForAddress(t, p)
	if !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Errorf("serves at %s, want this machine alone", address)
	}
	r, err := http.Post(address, "application/json", strings.NewReader(`{"text": "a good cat"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(body), `"label":"0"`) {
		t.Errorf("got %d %s %v", r.StatusCode, body, err)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	finish(t, p)
}

// waitForAddress returns the address that a server says it serves at.
func waitForAddress(t *testing.T, p *process) string {
	t.Helper()
	at := regexp.MustCompile(`at (http://\S+)`)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if m := at.FindStringSubmatch(p.stderr.String()); m != nil {
			return m[1]
		}
		select {
		case <-p.done:
			t.Fatalf("the server ended: %s", p.stderr.String())
		default:
		}
	}
	t.Fatal("the server says no address")
	return ""
}

// A signal ends what waits for input.
func TestASignalEndsPredictionThatWaitsForInput(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	finish(t, startProcess(t, writeFineRun(t, out, "--num-train-steps", "2")))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "predict", out, "--threads", "1")
	cmd.Args[0] = "train-bert"
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A line is answered before the next is written.
	if _, err := io.WriteString(stdin, "a good cat\n"); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 11)
	if _, err := io.ReadFull(stdout, answer); err != nil || string(answer) != `{"classes":` {
		t.Fatalf("got %q, %v", answer, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 || stderr.String() != "train-bert: stopped\n" {
		t.Errorf("got %v and %q, want exit code 130", err, &stderr)
	}
}
