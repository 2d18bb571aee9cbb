//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
)

// bareRoot returns a folder with both programs, built as make build does, an input,
// and an empty folder that anyone may write to. It has nothing else: no /etc, /proc,
// /dev or /tmp.
func bareRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	cmd := exec.Command("go", "build", "-tags", "cluster", "-trimpath", "-ldflags=-s -w", "-o", root, "pretext/cmd/prepare-data", "pretext/cmd/train-bert")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	for _, name := range []string{"in", "out"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil { // whatever the umask
			t.Fatal(err)
		}
	}
	text := strings.Repeat("The river runs to the sea. It carries boats.\n\nA mill stands beside it.\n", 200)
	if err := os.WriteFile(filepath.Join(root, "in", "book.txt"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for path := root; path != os.TempDir() && path != "/"; path = filepath.Dir(path) { // an unknown user passes through
		os.Chmod(path, 0o755)
	}
	return root
}

// unknownUser is a user and group ID that /etc/passwd does not have.
const unknownUser = 812345

// alone runs a program as an unknown user, without any environment, with the folder
// root as its root directory unless that is "". It returns the output and the exit
// code.
func alone(t *testing.T, root, program string, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: unknownUser, Gid: unknownUser}}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", program, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("needs root to be another user")
		}
		t.Skip("needs root to be another user")
	}
}

func TestBuiltProgramsRunWithNothingAroundThem(t *testing.T) {
	realdata.Variable(t, "PRETEXT_BUILDS", "make builds compiles both programs for this")
	needsRoot(t)
	root := bareRoot(t)
	t.Run("a user without a name", func(t *testing.T) { runsWithoutAName(t, root) })
	for _, line := range []string{
		"/prepare-data --version",
		"/train-bert --version",
		"/prepare-data demo --out /out/demo",
		"/prepare-data verify /out/demo",
		"/prepare-data run --books /in/book.txt --vocab-size 100 --dedup minhash --out /out/run",
		"/prepare-data diff /out/demo/shards /out/run/shards",
		"/prepare-data report /out/demo --out /out/report.html",
		"/train-bert train --data /out/demo --out /out/model --model tiny --num-train-steps 2 --num-warmup-steps 0 --train-batch-size 4",
		"/train-bert export /out/model --out /out/exported",
	} {
		args := strings.Fields(line)
		out, code := alone(t, root, args[0], args[1:]...)
		if differs := args[1] == "diff" && code == 1; code != 0 && !differs {
			t.Errorf("%s: exit code %d: %s", line, code, out)
		}
	}
}

// runsWithoutAName runs both programs in a bare root that has an /etc/passwd.
func runsWithoutAName(t *testing.T, root string) {
	t.Helper()
	for _, program := range []string{"prepare-data", "train-bert"} {
		if out, code := alone(t, "", filepath.Join(root, program), "--version"); code != 0 {
			t.Errorf("%s: exit code %d: %s", program, code, out)
		}
	}
	if out, code := alone(t, "", filepath.Join(root, "prepare-data"), "demo", "--out", filepath.Join(root, "out", "demo")); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// A program that is linked with the C library can ask only that library for the
// user's name. If there is none, the program ends with one line that says what to do.
func TestACgoProgramOfAUserWithoutANameSaysWhatToDo(t *testing.T) {
	needsRoot(t)
	if !builtWithCgo() { // this test binary, which is prepare-data under its name
		if os.Getenv("CI") != "" {
			t.Fatal("the tests are built without cgo: is gcc missing?")
		}
		t.Skip("the tests are built without cgo")
	}
	dir, err := os.MkdirTemp("", "pretext-cgo-") // t.TempDir lies below a folder that others may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "prepare-data")
	copyProgram(t, self(t), program)
	out, code := alone(t, "", program, "--version")
	want := fmt.Sprintf("no user has ID %d: add one to /etc/passwd, or use the static program that CGO_ENABLED=0 go build makes (make build)\n", unknownUser)
	if code != 1 || !strings.HasSuffix(out, want) || strings.Count(out, "\n") != 1 {
		t.Errorf("exit code %d, want 1 and one line that ends in %q: %s", code, want, out)
	}
}

func builtWithCgo() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"})
}

// The name of the user is set before any package of Beam is initialized, wherever
// import paths sort.
func TestWhoamiIsInitializedBeforeBeam(t *testing.T) {
	p := prepareData(t, "--version")
	p.Env = append(p.Env, "GODEBUG=inittrace=1")
	p.succeed(t)
	trace := p.stderr.String()
	whoami := strings.Index(trace, "init pretext/internal/whoami ")
	asks := strings.Index(trace, "init github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/xlangx/expansionx ")
	switch {
	case whoami < 0:
		t.Error("internal/whoami is not initialized at all")
	case asks < 0:
		t.Error("Beam's package expansionx is not initialized any more: is internal/whoami still needed?")
	case asks < whoami:
		t.Error("Beam's package expansionx is initialized before internal/whoami: let that import less")
	}
}

// A run that has too few file descriptors ends with one line. The limits are drawn by
// a seed, from the lower and the upper half of the range.
func TestExhaustedFileDescriptorsAreOneLine(t *testing.T) {
	failed := 0
	limits := []int{8, 10, 12, 14, 18, 24, 40, 50, 60}
	if random := torture.Random(t); !torture.Long() {
		limits = []int{limits[random.IntN(3)], limits[3+random.IntN(3)], limits[6+random.IntN(3)]}
	}
	for _, limit := range limits {
		p := shell(t, fmt.Sprintf("ulimit -n %d", limit), "demo", "--quiet", "--out", filepath.Join(t.TempDir(), "out"))
		if p.code(t) == 0 {
			continue
		}
		failed++
		message := p.stderr.String()
		if strings.Count(message, "\n") != 1 || !strings.Contains(message, "too many open files") || !strings.Contains(message, "ulimit -n") {
			t.Errorf("%d descriptors: %s", limit, message)
		}
	}
	if failed == 0 {
		t.Error("no run failed: are the limits too high?")
	}
}
