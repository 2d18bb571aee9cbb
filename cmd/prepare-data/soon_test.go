//go:build unix

package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pretext/internal/dev/torture"
)

// A long is a command that works for a while.
type long struct {
	args  []string // OUT in them is a new directory
	stdin string   // file; "" for none
}

// longs returns commands that compute, read or write, with inputs for about a second or
// more, so that a signal can meet every phase.
func longs(t *testing.T) []long {
	t.Helper()
	c, dir := demoSources(t), t.TempDir()
	dump := templateDump(t)
	run := filepath.Join(dir, "run")
	prepareData(t, "run", "--quiet", "--wiki-dump", dump, "--books", c.books, "--vocab-size=3000", "--shards=8", "--eval-fraction=0.2", "--dupe-factor=10", "--out", run).succeed(t)
	again := filepath.Join(dir, "again")
	if err := os.CopyFS(again, os.DirFS(run)); err != nil {
		t.Fatal(err)
	}
	books := filepath.Join(dir, "books") // much more text than the demo has
	for i := range 20 {
		if err := os.CopyFS(filepath.Join(books, fmt.Sprint(i)), os.DirFS(c.books)); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dir, "books.tar.gz") // which workers share
	packBooks(t, archive, books)
	text := filepath.Join(dir, "text.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("A line of some text, with a [[link|word]] in it. And another sentence.\n\n", 200_000)), 0o666); err != nil {
		t.Fatal(err)
	}
	documents, vocab := filepath.Join(run, "documents"), filepath.Join(run, "vocab", "vocab.txt")
	return []long{
		{args: []string{"run", "--wiki-dump", dump, "--books", books, "--vocab-size=3000", "--shards=4", "--dedup=minhash", "--format=parquet", "--out", "OUT"}},
		{args: []string{"extract", "--wiki-dump", dump, "--books", books, "--out", "OUT"}},
		{args: []string{"extract", "--books", archive, "--workers=3", "--out", "OUT"}},
		{args: []string{"filter", documents, "--dedup=minhash", "--out", "OUT"}},
		{args: []string{"vocab", documents, "--vocab-size=3000", "--out", "OUT"}},
		{args: []string{"examples", documents, "--vocab", vocab, "--shards=4", "--dupe-factor=10", "--out", "OUT"}},
		{args: []string{"convert", run, "--to=parquet", "--out", "OUT"}},
		{args: []string{"convert", run, "--to=mds", "--out", "OUT"}},
		{args: []string{"export", run, "--to=text", "--out", "OUT"}},
		{args: []string{"demo", "--out", "OUT"}},
		{args: []string{"head", run, "-n=0"}},
		{args: []string{"head", run, "-n=0", "--json"}},
		{args: []string{"inspect", run}},
		{args: []string{"stats", run}},
		{args: []string{"stats", run, "--out=OUT.html"}},
		{args: []string{"verify", run}},
		{args: []string{"diff", run, again}},
		{args: []string{"card", run, "--out", "OUT.md"}},
		{args: []string{"check-consumer", "nvidia-bert", run}},
		{args: []string{"plan", "--books", books, "--vocab", vocab, "--shards=200000", "--machines=1,10,100,1000"}},
		{args: []string{"doctor"}},
		{args: []string{"tokenize", "--vocab", vocab}, stdin: text},
		{args: []string{"sentences"}, stdin: text},
		{args: []string{"text"}, stdin: text},
	}
}

// packBooks writes the files of a folder to a .tar.gz, ten times.
func packBooks(t *testing.T, path, folder string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz := gzip.NewWriter(f)
	tarball := tar.NewWriter(gz)
	for range 10 {
		if err := tarball.AddFS(os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tarball.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
}

// start starts the command with a new output directory, and sends its output nowhere.
func (l long) start(t *testing.T) *process {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	var args []string
	for _, a := range l.args {
		args = append(args, strings.Replace(a, "OUT", out, 1))
	}
	p := prepareData(t, args...)
	p.Stdout = nil
	if l.stdin != "" {
		f, err := os.Open(l.stdin)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		p.Stdin = f
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Every command ends within two seconds of a signal, at any moment, and says that it was
// interrupted. A busy machine gets more time, by what a command that does nothing takes.
func TestEveryCommandEndsSoonAfterASignal(t *testing.T) {
	moments := 10 * torture.Times(t, "PRETEXT_SIGNALS", 0, 100)
	if moments == 0 {
		t.Skip("takes minutes: make faults")
	}
	random, list := torture.Random(t), longs(t)
	whole := make([]time.Duration, len(list))
	met, slowest := 0, time.Duration(0)
	for i, l := range list {
		begin := time.Now()
		p := l.start(t)
		if code := p.wait(t); code != 0 && (code > 3 || code == 2) { // doctor and check-consumer may find something
			t.Errorf("%q: exit code %d: %s", l.args, code, &p.stderr)
		}
		whole[i] = time.Since(begin)
		t.Logf("%v: %q", whole[i].Round(time.Millisecond), l.args)
	}
	for i := 0; met < moments && i < 4*moments; i++ {
		l, w := list[i%len(list)], whole[i%len(list)]
		took, ok := l.interrupt(t, random, w)
		if ok {
			met++
		}
		slowest = max(slowest, took)
	}
	t.Logf("%d signals met commands at work, the slowest end took %v", met, slowest)
	if met < moments {
		t.Errorf("%d signals met commands at work, want %d", met, moments)
	}
}

// interrupt sends a signal at a random moment of a command that takes w as a whole. ok is
// false if the signal came too late.
func (l long) interrupt(t *testing.T, random *rand.Rand, w time.Duration) (took time.Duration, ok bool) {
	t.Helper()
	begin := time.Now()
	prepareData(t, "version").succeed(t)
	patience := 2*time.Second + 20*time.Since(begin)
	sent := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[random.IntN(2)]
	at := time.Duration(random.Int64N(int64(w)))
	p := l.start(t)
	time.Sleep(at)
	begin = time.Now()
	p.Process.Signal(sent)
	code := p.wait(t)
	took = time.Since(begin)
	status := p.ProcessState.Sys().(syscall.WaitStatus)
	atStart := status.Signaled() && status.Signal() == sent // before the program's first line
	switch {
	case code == 130 || atStart:
		if took > patience {
			t.Errorf("%q ended %v after %v at %v of %v, want less than %v", l.args, took, sent, at, w, patience)
		}
		return took, true
	case code > 3 || code < 0:
		t.Errorf("%q: exit code %d after %v at %v of %v: %s", l.args, code, sent, at, w, &p.stderr)
	}
	return 0, false
}
