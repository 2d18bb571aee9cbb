//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/sharding"
)

func TestOneRunAtATimeWorksInAFolder(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	first, out := stoppedInDocuments(t, c)
	var others []*process
	for range 5 {
		others = append(others, prepareData(t, c.run(out)...), prepareData(t, append(c.run(out), "--overwrite", "--shards=2")...),
			prepareData(t, "demo", "--quiet", "--out", out))
	}
	for range 2 {
		others = append(others, prepareData(t, "extract", "--quiet", "--books", c.books, "--out", filepath.Join(out, "documents"), "--overwrite"))
	}
	together(t, others)
	for _, p := range others {
		if code := p.wait(t); code != 8 {
			t.Errorf("%q: exit code %d, want 8: %s", p.Args[1:], code, p.stderr.String())
		}
		p.oneLine(t, "folder is in use", out, fmt.Sprintf("process %d", first.Process.Pid))
	}
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code := first.wait(t); code != 0 {
		t.Fatalf("the first: exit code %d: %s", code, first.stderr.String())
	}
	c.sameTree(t, out, "after others tried")
}

// stoppedInDocuments returns a run that is stopped while it makes documents, and its folder. The
// run holds the locks of both folders until it continues. On a busy machine a run can be
// past its documents before the signal comes; then another one is tried.
func stoppedInDocuments(t *testing.T, c *corpus) (first *process, out string) {
	t.Helper()
	for range 20 {
		out = t.TempDir()
		first = prepareData(t, c.run(out)...)
		if err := first.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, filepath.Join(out, "documents", "plan.json"))
		if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(first.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("the run did not stop: %v, status %d", err, status)
		}
		if _, err := os.Stat(filepath.Join(out, "documents", sharding.ManifestName)); err != nil {
			return first, out
		}
		if err := first.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		first.wait(t)
	}
	t.Fatal("every run was past its documents when it was stopped")
	return nil, ""
}

func TestImportedDocumentsAreNotReplacedBelowARunThatReadsThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	vocab := "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nit\nis\nlong\n.\n"
	for name, text := range map[string]string{"vocab.txt": vocab, "a.txt": strings.Repeat("It is long .\nIt is .\n\n", 1000), "b.txt": "It is .\nLong .\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	examples := func(text string, more ...string) *process {
		return prepareData(t, append([]string{"examples", "--quiet", "--text", filepath.Join(dir, text), "--vocab", filepath.Join(dir, "vocab.txt"), "--out", out}, more...)...)
	}
	first := examples("a.txt", "--dupe-factor=100")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(out, "plan.json")) // the import is done
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	before := readTree(t, filepath.Join(out, "imported"))
	examples("b.txt", "--overwrite").fail(t, 8, "folder is in use", out)
	if diff := cmp.Diff(before, readTree(t, filepath.Join(out, "imported"))); diff != "" {
		t.Errorf("imported documents changed (-before +after):\n%s", diff)
	}
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code := first.wait(t); code != 0 {
		t.Fatalf("the first: exit code %d: %s", code, first.stderr.String())
	}
	prepareData(t, "verify", out).succeed(t)
}

// startCPU is the maximum CPU time until a start finds that the folder is locked.
// With a processor for each start that is less than the promised second; fifty starts
// on one processor have to wait for each other.
const startCPU = time.Second

func TestOfFiftyStartsAtOnceOneRunsAndTheOthersAreRefused(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	out := filepath.Join(t.TempDir(), "made", "by", "all")
	byPID := map[int]*process{}
	var all []*process
	for range 50 {
		all = append(all, prepareData(t, c.run(out)...))
	}
	together(t, all)
	for _, p := range all {
		byPID[p.Process.Pid] = p
	}
	// The one that has the lock stands still until the others are through, so
	// that none of them finds the folder free again.
	runs := byPID[holder(t, out)]
	if runs == nil {
		t.Fatal("the lock is held by none of them")
	}
	if err := runs.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var slowest time.Duration
	for _, p := range all {
		if p == runs {
			continue
		}
		if code := p.wait(t); code != 8 {
			t.Errorf("exit code %d, want 8: %s", code, p.stderr.String())
		}
		p.oneLine(t, "folder is in use", out)
		slowest = max(slowest, p.cpu())
	}
	t.Logf("the slowest refusal took %v of processor time", slowest)
	if slowest > startCPU {
		t.Errorf("a refusal took %v of processor time, want less than %v", slowest, startCPU)
	}
	// The lock of one that is killed is free.
	if err := runs.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	runs.wait(t)
	if _, err := os.Stat(filepath.Join(out, store.LockName)); err != nil {
		t.Errorf("the one that was killed held no lock: %v", err)
	}
	prepareData(t, c.run(out)...).succeed(t)
	c.sameTree(t, out, "fifty starts, and one that was killed")
}

// holder waits until the folder is locked, and returns the process named in the lock.
func holder(t *testing.T, folder string) int {
	t.Helper()
	path := filepath.Join(folder, store.LockName)
	waitFor(t, path)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var owner struct{ PID int }
		if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &owner) == nil {
			return owner.PID
		}
	}
	t.Fatalf("%s names nobody", path)
	return 0
}

func together(t *testing.T, all []*process) {
	t.Helper()
	for _, p := range all {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
}
