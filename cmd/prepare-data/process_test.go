//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/democorpus"
	"pretext/sharding"
)

// A process is prepare-data in a process of its own: this test binary under
// that name, as testscript arranges it. Its temporary folder is its own too.
type process struct {
	*exec.Cmd
	temp           string
	stdout, stderr bytes.Buffer
	peak           chan int64 // see watchMemory
}

// prepareData returns a process that is not started yet.
func prepareData(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(self(t), args...), temp: t.TempDir()}
	p.Args[0] = "prepare-data"
	p.attach()
	return p
}

// shell returns a process that a line of sh sets up: limits, a umask.
func shell(t *testing.T, setup string, args ...string) *process {
	t.Helper()
	link := filepath.Join(t.TempDir(), "prepare-data")
	if err := os.Symlink(self(t), link); err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command("/bin/sh", append([]string{"-c", setup + ` && exec "$0" "$@"`, link}, args...)...), temp: t.TempDir()}
	p.attach()
	return p
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (p *process) attach() {
	p.Env = append(os.Environ(), "TMPDIR="+p.temp, "GOGC=400") // a third of what a short process takes is collecting
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
}

// patience bounds what a process may take: nothing here needs a tenth of it,
// but machines are busy at times.
const patience = 4 * time.Minute

// code runs the process to its end and returns its exit code, -1 when a signal
// ended it.
func (p *process) code(t *testing.T) int {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.watchMemory()
	return p.wait(t)
}

func (p *process) wait(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(patience, func() { p.Process.Signal(syscall.SIGQUIT) }) // with all stacks
	defer timer.Stop()
	err := p.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if text := p.stderr.String(); strings.Contains(text, "goroutine ") || strings.Contains(text, "panic:") {
		t.Fatalf("%v panicked or hung:\n%s", p.Args[1:], text)
	}
	return p.ProcessState.ExitCode()
}

// succeed runs the process and wants exit code 0.
func (p *process) succeed(t *testing.T) {
	t.Helper()
	if code := p.code(t); code != 0 {
		t.Fatalf("%q: exit code %d, want 0: %s", p.Args[1:], code, p.stderr.String())
	}
}

// fail runs the process and wants an exit code, and one line on standard error
// that holds all of the words.
func (p *process) fail(t *testing.T, code int, words ...string) {
	t.Helper()
	if got := p.code(t); got != code {
		t.Errorf("%q: exit code %d, want %d: %s", p.Args[1:], got, code, p.stderr.String())
	}
	p.oneLine(t, words...)
}

// oneLine wants one line on standard error, notes apart, that holds all of the
// words.
func (p *process) oneLine(t *testing.T, words ...string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(p.stderr.String()) {
		if !strings.Contains(line, ": note: ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "prepare-data: ") {
		t.Errorf("%q: want one line from prepare-data, got %q", p.Args[1:], lines)
		return
	}
	for _, word := range words {
		if !strings.Contains(lines[0], word) {
			t.Errorf("%q: want %q in the message %q", p.Args[1:], word, lines[0])
		}
	}
}

// watchMemory looks at the high water mark of the started process's memory until
// it ends. What the system reports of an ended process is no use on Linux: there
// a process inherits the mark of the one that started it, this one.
func (p *process) watchMemory() {
	p.peak = make(chan int64, 1)
	if runtime.GOOS != "linux" {
		return
	}
	status := fmt.Sprintf("/proc/%d/status", p.Process.Pid)
	go func() {
		peak := int64(0)
		for {
			b, err := os.ReadFile(status)
			_, mark, found := strings.Cut(string(b), "VmHWM:")
			if err != nil || !found { // it has ended
				p.peak <- peak
				return
			}
			var kilobytes int64
			fmt.Sscan(mark, &kilobytes)
			peak = max(peak, kilobytes<<10)
			time.Sleep(5 * time.Millisecond)
		}
	}()
}

// peakMB is the most memory that the ended process held, in MB.
func (p *process) peakMB() int64 {
	if runtime.GOOS == "linux" {
		peak := <-p.peak
		p.peak <- peak
		return peak / 1e6
	}
	rss := int64(p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	if runtime.GOOS != "darwin" { // bytes there, kilobytes elsewhere
		rss <<= 10
	}
	return rss / 1e6
}

// cpu is the processor time that the ended process took.
func (p *process) cpu() time.Duration { return p.ProcessState.UserTime() + p.ProcessState.SystemTime() }

// A corpus is the demo's sources on disk, and the tree that a run makes of them
// when nothing disturbs it.
type corpus struct {
	dump, books string
	undisturbed string // directory of that run; tests only read it
	tree        tree
}

// smallRun is a run over the demo's sources in which every stage has several
// files to write.
func smallRun(dump, books, out string) []string {
	return []string{"run", "--quiet", "--workers=2", "--wiki-dump", dump, "--books", books, "--vocab-size=3000", "--shards=5",
		"--eval-fraction=0.2", "--dupe-factor=3", "--out", out}
}

func (c *corpus) run(out string) []string { return smallRun(c.dump, c.books, out) }

var (
	sharedOnce   sync.Once
	sharedCorpus *corpus
)

// demoSources returns the corpus that the tests of this package share.
func demoSources(t *testing.T) *corpus {
	t.Helper()
	sharedOnce.Do(func() {
		var err error
		if sharedDir, err = os.MkdirTemp("", "prepare-data-test-"); err != nil {
			t.Fatal(err)
		}
		c := &corpus{dump: filepath.Join(sharedDir, democorpus.DumpName), books: filepath.Join(sharedDir, "books")}
		if err := os.WriteFile(c.dump, democorpus.Dump(), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(c.books, democorpus.Books()); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(sharedDir, "undisturbed")
		prepareData(t, c.run(out)...).succeed(t)
		c.undisturbed = out
		c.tree = readTree(t, out)
		sharedCorpus = c
	})
	if sharedCorpus == nil {
		t.Fatal("the undisturbed run failed in another test")
	}
	return sharedCorpus
}

// A moment of a process is when it has written so many files into a folder, and a few
// milliseconds more: a clock tells little of a process on a busy machine.
type moment struct {
	files, milliseconds int
	folder              string
}

// during runs the process and calls act at a moment, unless the process ends before.
func (p *process) during(t *testing.T, m moment, act func()) (code int) {
	t.Helper()
	began, ended, left := time.Now(), make(chan struct{}), make(chan struct{})
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(left)
		for written(m.folder, began) < m.files {
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
		time.Sleep(time.Duration(m.milliseconds) * time.Millisecond)
		act()
	}()
	code = p.wait(t)
	close(ended)
	<-left
	return code
}

// written counts the files below a folder that were written since a time.
func written(root string, since time.Time) (n int) {
	filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(since) {
			n++
		}
		return nil
	})
	return n
}

// A tree is what lies in a folder: the hashes of its files by their paths.
type tree map[string]string

// readTree reads all files below a folder but run.json, which tells of one run.
func readTree(t *testing.T, root string) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && !strings.HasPrefix(d.Name(), ".tmp-") || d.Name() == sharding.RunName {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || d.IsDir() {
			files[name] = "folder"
			return err
		}
		b, err := os.ReadFile(path)
		files[name] = sharding.Hash(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameTree wants the folder to hold what a run leaves that nothing disturbed.
func (c *corpus) sameTree(t *testing.T, out, after string) {
	t.Helper()
	if diff := cmp.Diff(c.tree, readTree(t, out)); diff != "" {
		t.Errorf("%s: other files than of an undisturbed run (-want +got):\n%s", after, diff)
	}
}

// noTemporary wants no temporary file or folder below the given folders.
func noTemporary(t *testing.T, after string, roots ...string) {
	t.Helper()
	for _, root := range roots {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && path != root && (strings.HasPrefix(d.Name(), ".tmp-") || strings.HasPrefix(d.Name(), "pretext-")) {
				t.Errorf("%s: %s was left", after, path)
			}
			return nil
		})
	}
}

// manifestsHold wants every file that a manifest below root lists to exist and to
// have the size and hash that the manifest states.
func manifestsHold(t *testing.T, root, after string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != sharding.ManifestName {
			return err
		}
		raw, err := os.ReadFile(path)
		var m sharding.Manifest
		if err != nil || json.Unmarshal(raw, &m) != nil {
			t.Errorf("%s: %s is no manifest: %v", after, path, err)
			return nil
		}
		for _, f := range m.Files {
			b, err := os.ReadFile(filepath.Join(filepath.Dir(path), f.Name))
			if err != nil || int64(len(b)) != f.Bytes || sharding.Hash(b) != f.SHA256 {
				t.Errorf("%s: %s is not what %s states (%v)", after, f.Name, path, err)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// waitFor waits until a file is there or the process has ended.
func waitFor(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s did not come", path)
}
