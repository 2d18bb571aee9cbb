//go:build cluster

package clustertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pretext/internal/store"
	"pretext/internal/store/s3"
)

// A worker that is stopped for the rest of the run keeps only the tasks in its hands: the
// stage ends, and takes little more than the other worker needs for all tasks: 1.2 to 1.3
// times as long on an idle machine, which the log says.
func TestAStoppedWorkerDoesNotHoldTheStage(t *testing.T) {
	const tasks = 240
	args := []string{"--tasks", fmt.Sprint(tasks), "--pause", "500ms", "--workers", "2"}
	want := probeTree(t, "--tasks", fmt.Sprint(tasks), "--workers", "64")
	startStore(t)
	s3.Register()
	defer func() { shared.kill("minio") }()
	if err := shared.start("probepool"); err != nil {
		t.Fatal(err)
	}
	defer shared.kill("probepool")
	begin := time.Now()
	submit(t, shared.probe, append(append(onFlink(1), args...), "--out", filepath.Join(t.TempDir(), "alone"))...).mustEnd(t, 0)
	alone := time.Since(begin)
	pool := []string{"--set", "worker-pool=" + fmt.Sprintf("127.0.0.1:%d", poolPort+1)}
	for _, c := range []struct {
		name  string
		extra []string
		out   func(i int) string // of a run
	}{
		{"process, disk", nil, nil},
		{"pool, S3", pool, func(i int) string { return fmt.Sprintf("s3://pretext/stopped-%d", i) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.out == nil {
				c.out = func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
			}
			begin := time.Now()
			var jobs []*submitter
			for i := range *times {
				jobs = append(jobs, submit(t, shared.probe, append(append(append(onFlink(2), args...), c.extra...), "--out", c.out(i))...))
			}
			stopOneEach(t, *times)
			for i, s := range jobs {
				s.mustEnd(t, 0)
				took := time.Since(begin)
				t.Logf("run %d ended after %v, the other worker alone needs %v: %.2f", i, took.Round(time.Second), alone.Round(time.Second), took.Seconds()/alone.Seconds())
				if took > 2*alone {
					t.Errorf("run %d took %v, more than twice %v", i, took, alone)
				}
				mustEqual(t, download(t, c.out(i)), want)
			}
		})
		for _, w := range workers("") { // a stopped worker of a pool cannot end by itself
			syscall.Kill(w.pid, syscall.SIGKILL)
		}
	}
	noWorkers(t)
}

// stopOneEach stops one of two workers of each of n jobs for good, once both work.
func stopOneEach(t *testing.T, n int) {
	t.Helper()
	byJob := map[string][]int{}
	until(t, "two workers of each job", func() bool {
		clear(byJob)
		both := 0
		for _, w := range workers("") {
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", w.pid))
			if err != nil {
				return false
			}
			_, rest, _ := strings.Cut(string(env), "PRETEXT_WORKER_JOB=")
			job, _, _ := strings.Cut(rest, "\x00")
			if byJob[job] = append(byJob[job], w.pid); len(byJob[job]) == 2 {
				both++
			}
		}
		return both == n
	})
	time.Sleep(5 * time.Second) // in the middle of their tasks
	for _, pids := range byJob {
		syscall.Kill(pids[0], syscall.SIGSTOP)
	}
}

// download copies the files of a run to a local directory. It leaves out the temporary
// files of stopped workers, which the next run removes.
func download(t *testing.T, location string) string {
	t.Helper()
	from, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, sub := range []string{".", "plan"} {
		folder := from
		if sub != "." {
			folder = from.Folder(sub)
		}
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		files, err := folder.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := store.ReadFile(t.Context(), folder, f.Name())
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, sub, f.Name()), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}
