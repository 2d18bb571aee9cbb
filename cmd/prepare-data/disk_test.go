//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pretext/internal/dev/torture"
)

// named requires a message to name a file as users know it: below root, by its final
// name or as the unnamed scratch file.
func named(t *testing.T, message, root string) {
	t.Helper()
	if !strings.Contains(message, root+"/") || strings.Contains(message, ".tmp-") {
		t.Errorf("want a file below %s by its own name in %q", root, message)
	}
}

// spaceWords requires the one line of a full disk: the bytes needed and free, what to
// do, and a file below root.
func spaceWords(t *testing.T, p *process, root string) {
	t.Helper()
	p.oneLine(t, "free some space and run the same command again")
	named(t, p.stderr.String(), root)
	figures := needAndFree.FindStringSubmatch(p.stderr.String())
	if figures == nil {
		t.Errorf("no bytes needed and free in %q", p.stderr.String())
		return
	}
	need, _ := strconv.ParseInt(figures[1], 10, 64)
	free, _ := strconv.ParseInt(figures[2], 10, 64)
	if need <= free {
		t.Errorf("%d bytes needed and %d free: that is no reason to stop: %q", need, free, p.stderr.String())
	}
}

var needAndFree = regexp.MustCompile(`: (\d+) bytes needed, (\d+) free`)

// diskWorks are the works of the tests with full disks, and a whole run.
func diskWorks(t *testing.T) []work {
	run := demoSources(t).run("")
	return append([]work{{"run", run[:len(run)-2]}}, works(t)...)
}

// diskSizes returns the number of disk sizes with which a work is tried:
// PRETEXT_DISKS for the run, half of it for a single stage.
func diskSizes(t *testing.T, w work) int {
	sizes := torture.Times(t, "PRETEXT_DISKS", 2, 50)
	if w.name != "run" {
		return (sizes + 1) / 2
	}
	return sizes
}

func TestAFullDiskEndsARunThatLaterGoesOn(t *testing.T) {
	t.Parallel()
	for _, w := range diskWorks(t) {
		t.Run(w.name, func(t *testing.T) {
			whole, out, sizes := w.whole(t), t.TempDir(), diskSizes(t, w)
			for i := range sizes { // of growing limits, in the same folder: each run comes further
				blocks := 1 + int(part(whole.largest/512, i, sizes)) // of 512 or 1024 bytes, as the shell counts
				after := fmt.Sprintf("files of at most %d blocks", blocks)
				p := shell(t, fmt.Sprintf("ulimit -f %d", blocks), append(slices.Clone(w.args), "--out", out)...)
				if p.diskFull(t, out, after) == 0 {
					break
				}
			}
			w.finish(t, out, whole.tree, "after the disk was full")
		})
	}
}

// diskFull runs the process. Unless it succeeds, it must end as on a full disk: with
// exit code 6, one line, no temporary files, and valid manifests.
func (p *process) diskFull(t *testing.T, out, after string) (code int) {
	t.Helper()
	if code = p.code(t); code == 0 {
		return code
	}
	if code != 6 {
		t.Errorf("%s: exit code %d, want 6: %s", after, code, p.stderr.String())
	}
	spaceWords(t, p, out)
	noTemporary(t, after, out, p.temp)
	manifestsHold(t, out, after)
	return code
}

// A small file system of its own shows what a limit on single files does not:
// no room for temporary files, plans and locks. Few may mount one.
func TestAFullFileSystemEndsARunThatLaterGoesOn(t *testing.T) {
	t.Parallel()
	for _, w := range diskWorks(t) {
		t.Run(w.name, func(t *testing.T) {
			sizes := diskSizes(t, w)
			for i := range sizes {
				if !t.Failed() {
					w.onSmallDisk(t, i, sizes)
				}
			}
		})
	}
}

// part returns a size between 0 and all that grows with i, of n; for n = 1 it is the
// half.
func part(all int64, i, n int) int64 { return all * int64(2*i+n%2) / int64(2*n) }

// onSmallDisk runs the work on a file system that has room for only a part of its
// files, a larger one for larger i of n, and then again with room for all.
func (w work) onSmallDisk(t *testing.T, i, n int) {
	t.Helper()
	whole, out := w.whole(t), t.TempDir()
	size := fmt.Sprintf("%dk", 4+part(whole.all/1024, i, n))
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", out).Run(); err != nil {
		t.Logf("no file system of %s mounted (%v): limits on files are tested without", size, err)
		return
	}
	t.Cleanup(func() { exec.Command("umount", out).Run() })
	p := w.process(t, out)
	if code := p.diskFull(t, out, "a disk of "+size); code != 6 {
		t.Errorf("a disk of %s: exit code %d, want 6", size, code)
	}
	if !strings.Contains(p.stderr.String(), "no space left on device") {
		t.Errorf("a disk of %s: %q", size, p.stderr.String())
	}
	if err := exec.Command("mount", "-o", "remount,size=64m", out).Run(); err != nil {
		t.Fatal(err)
	}
	w.finish(t, out, whole.tree, "after a disk of "+size+" was full")
}

// copyProgram copies a program to where anyone may execute it. Another process
// writes the copy: a file that this one had open for writing could be inherited by
// a child that a parallel test starts, and then not be executed ("text file busy").
func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp %s %s: %v: %s", from, to, err, out)
	}
	if err := os.Chmod(to, 0o755); err != nil {
		t.Fatal(err)
	}
}

// unprivileged returns a process to which file permissions apply, and gives it the
// folders: if the test is run by root, the process has another user.
func unprivileged(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := prepareData(t, args...)
	if os.Getuid() != 0 {
		return p
	}
	const nobody = 65534
	binary := filepath.Join(dir, "binary")
	if _, err := os.Stat(binary); err != nil {
		copyProgram(t, self(t), binary)
	}
	p.Path = binary
	p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return p
}

func TestPermissionsAndThingsOfTheWrongKindAreToldApart(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "prepare-data-modes-") // t.TempDir lies below a folder that others may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(dir, 0o755))
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"readonly", "open", "books", "closed"} {
		must(os.Mkdir(path(name), 0o777))
		must(os.Chmod(path(name), 0o777))
	}
	for _, name := range []string{"book.txt", "secret.txt", "books/a.txt", "books/secret.txt", "closed/a.txt"} {
		must(os.WriteFile(path(name), []byte("A short book. It has two sentences.\n"), 0o644))
	}
	must(os.WriteFile(path("vocab.txt"), []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nbook\n"), 0o644))
	must(syscall.Mkfifo(path("pipe.xml"), 0o644)) // that nobody ever writes to
	for name, mode := range map[string]os.FileMode{"readonly": 0o555, "closed": 0, "secret.txt": 0, "books/secret.txt": 0} {
		must(os.Chmod(path(name), mode))
	}
	for _, test := range []struct {
		name string
		code int
		file string // that the message names
		args []string
	}{
		{"output folder in a read-only folder", 7, "readonly/out", []string{"extract", "--books", path("book.txt"), "--out", path("readonly/out")}},
		{"read-only output folder", 7, "readonly", []string{"extract", "--books", path("book.txt"), "--out", path("readonly")}},
		{"unreadable book", 7, "secret.txt", []string{"extract", "--books", path("secret.txt"), "--out", path("open/1")}},
		{"unreadable book in a folder", 7, "books/secret.txt", []string{"extract", "--books", path("books"), "--out", path("open/2")}},
		{"unreadable folder of books", 7, "closed", []string{"extract", "--books", path("closed"), "--out", path("open/3")}},
		{"unreadable dump", 7, "secret.txt", []string{"extract", "--wiki-dump", path("secret.txt"), "--out", path("open/4")}},
		{"unreadable vocabulary", 7, "secret.txt", []string{"run", "--books", path("book.txt"), "--vocab", path("secret.txt"), "--out", path("open/5")}},
		{"unreadable text", 7, "secret.txt", []string{"examples", "--text", path("secret.txt"), "--vocab", path("vocab.txt"), "--out", path("open/6")}},
		{"a file for the output folder", 2, "book.txt", []string{"extract", "--books", path("book.txt"), "--out", path("book.txt")}},
		{"a file above the output folder", 2, "book.txt", []string{"extract", "--books", path("book.txt"), "--out", path("book.txt/out")}},
		{"a folder for a dump", 2, "books", []string{"extract", "--wiki-dump", path("books"), "--out", path("open/7")}},
		{"a folder for a vocabulary", 2, "books", []string{"run", "--books", path("book.txt"), "--vocab", path("books"), "--out", path("open/8")}},
		{"a pipe for a dump", 2, "pipe.xml", []string{"extract", "--wiki-dump", path("pipe.xml"), "--out", path("open/10")}},
		{"a device for a dump", 2, "/dev/zero", []string{"extract", "--wiki-dump", "/dev/zero", "--out", path("open/9")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			unprivileged(t, dir, test.args...).fail(t, test.code, test.file)
		})
	}
	noTemporary(t, "refusals", dir)
}
