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

// A straggler is a worker that others must not wait for.
type straggler struct {
	name  string
	extra []string                        // flags
	out   func(name string, i int) string // of a run; nil for a directory on disk
	slow  bool                            // the worker is ten times slower; otherwise it is stopped for the rest of the run
	long  bool                            // not in -short, where others show each part of the case
}

// A worker that is stopped for the rest of the run, or slow, keeps only the tasks in its
// hands: the stage ends, and takes little more than it would without it: the log says how
// much. The bytes are the same.
func TestAStragglerDoesNotHoldTheStage(t *testing.T) {
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
	onS3 := func(name string, i int) string {
		return fmt.Sprintf("s3://pretext/%s-%d", strings.Replace(name, ", ", "-", -1), i)
	}
	for _, s := range []straggler{
		{"process, disk", nil, nil, false, false},
		{"process, disk, slow", nil, nil, true, false},
		{"process, S3", nil, onS3, false, true},
		{"pool, disk", pool, nil, false, true},
		{"pool, S3", pool, onS3, false, false},
		{"pool, S3, slow", pool, onS3, true, true},
	} {
		if testing.Short() && s.long {
			continue
		}
		t.Run(s.name, func(t *testing.T) { s.meet(t, args, want, alone) })
		for _, w := range workers("") { // a stopped worker of a pool cannot end by itself
			syscall.Kill(w.pid, syscall.SIGKILL)
		}
	}
	noWorkers(t)
}

// meet runs jobs with two workers each, of which one is a straggler. alone is the time
// that one worker needs for all tasks.
func (s straggler) meet(t *testing.T, args []string, want string, alone time.Duration) {
	begin, ideal := time.Now(), alone.Seconds()
	var jobs []*submitter
	var outs []string
	for i := range *times {
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		if s.out != nil {
			out = s.out(s.name, i)
		}
		run := append(append(append(onFlink(2), args...), s.extra...), "--out", out)
		if s.slow {
			run = append(run, "--slow", filepath.Join(dir, "slow"))
		}
		outs, jobs = append(outs, out), append(jobs, submit(t, shared.probe, run...))
	}
	if s.slow {
		ideal /= 1.1
	} else {
		stopOneEach(t, *times)
	}
	for i, job := range jobs {
		job.mustEnd(t, 0)
		took := time.Since(begin).Seconds()
		t.Logf("run %d ended after %.0f s, ideal are %.0f: %.2f", i, took, ideal, took/ideal)
		if took > 1.6*ideal { // idle: 1.07 of process, 0.98 of pool; the rest is for a busy machine
			t.Errorf("run %d took %.0f s, more than 1.6 times %.0f", i, took, ideal)
		}
		mustEqual(t, download(t, outs[i]), want)
	}
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
