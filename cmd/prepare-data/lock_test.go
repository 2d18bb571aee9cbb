//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOneRunAtATimeWorksInAFolder(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	out := t.TempDir()
	first := prepareData(t, c.run(out)...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(out, "documents", "plan.json"))
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil { // it holds the lock for as long as the others try
		t.Fatal(err)
	}
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

func TestOfTwentyStartsAtOnceEachRunsAloneOrNotAtAll(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	out := filepath.Join(t.TempDir(), "made", "by", "all")
	var all []*process
	for range 20 {
		all = append(all, prepareData(t, c.run(out)...))
	}
	together(t, all)
	ran := 0
	for _, p := range all {
		switch code := p.wait(t); code {
		case 0:
			ran++
		case 8:
			p.oneLine(t, "folder is in use")
		default:
			t.Errorf("exit code %d, want 0 or 8: %s", code, p.stderr.String())
		}
	}
	if ran == 0 {
		t.Error("none of them ran")
	}
	c.sameTree(t, out, "twenty starts")
}

func together(t *testing.T, all []*process) {
	t.Helper()
	for _, p := range all {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
}
