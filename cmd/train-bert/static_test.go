package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/tinydata"
)

// The program that make build writes, without cgo, trains on the CPU and says in one
// line that it cannot use a GPU.
func TestABuiltStaticProgramHasNoCUDA(t *testing.T) {
	realdata.Variable(t, "PRETEXT_BUILDS", "make builds compiles the program for this")
	dir := t.TempDir()
	program := filepath.Join(dir, "train-bert")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data := filepath.Join(dir, "data")
	if err := tinydata.Write(data, tinydata.Options{Train: 64, Eval: 16, Vocab: 40}); err != nil {
		t.Fatal(err)
	}
	train := []string{"train", "--data", data, "--out", filepath.Join(dir, "run"), "--model", "tiny", "--num-train-steps", "1", "--num-warmup-steps", "0", "--quiet"}
	out, err := exec.Command(program, append(train, "--device", "cuda")...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("--device cuda: got %v, want exit code 2", err)
	}
	want := regexp.MustCompile(`^train-bert: --device cuda: device unavailable: this program was built without CUDA, which needs Linux and cgo: build it with make build-cuda( \(see --help\))?\n$`)
	if !want.Match(out) {
		t.Errorf("--device cuda: got %s", out)
	}
	if out, err := exec.Command(program, train...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
