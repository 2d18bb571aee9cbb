package stage

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/internal/trust"
	"pretext/internal/usage"
	"pretext/pipeline/flink"
	"pretext/sharding"
)

// Limits are settings that a job passes to the worker processes of a cluster.
type Limits struct {
	Workers int    // maximum number of concurrent tasks in a process
	Memory  int64  // bytes that a process may use
	Peers   int    // number of parallel subtasks of the job; from two on, their workers help each other
	Build   string // identity of the program that planned the job, see [build]
	Seal    []byte // MAC of the job, made with the secret of the worker pools, see [seal]; nil without a secret
}

// workers contains the state that the jobs of a worker process share. Its lock serializes
// findJob.
var workers struct {
	sync.Mutex
	gate  chan struct{} // one slot per running task of all jobs
	meter Meter         // of all jobs, for the pool
}

// findJob returns the job with a name, for DoFns. In a worker process of a cluster it
// creates the job, which lasts for one attempt: after a failure Flink may repeat a stage
// in the same process, and the error of the first attempt must not fail the second one.
func findJob(ctx context.Context, name string, limits Limits, spec Spec) (*job, error) {
	if err := checkSeal(name, limits, spec); err != nil {
		return nil, err
	}
	if j, ok := jobs.Load(name); ok && (!flink.IsWorker() || j.(*job).ctx.Err() == nil) {
		return j.(*job), nil
	}
	workers.Lock()
	defer workers.Unlock()
	if j, ok := jobs.Load(name); ok && j.(*job).ctx.Err() == nil {
		return j.(*job), nil
	}
	if err := admit(ctx, limits, spec); err != nil {
		return nil, err
	}
	if workers.gate == nil {
		workers.gate = make(chan struct{}, max(1, limits.Workers))
		if limits.Memory > 0 {
			LimitMemory(limits.Memory)
		}
	}
	j := newJob(context.Background(), 1, &workers.meter)
	j.gate = workers.gate
	jobs.Store(name, j)
	return j, nil
}

// admit returns an error if this worker process cannot run a job. It must have the same
// program as the submitter and access to the same files, and no earlier attempt of the
// job may have failed permanently.
func admit(ctx context.Context, limits Limits, spec Spec) error {
	if have := build(); have != limits.Build {
		return failure.Usagef("this worker runs another build of pretext, %s, than the submitter, %s: install the same program everywhere", have, limits.Build)
	}
	if err := flink.Failed(ctx); err != nil {
		return err
	}
	folder, err := store.Open(spec.Out)
	if err != nil {
		return err
	}
	plan, err := sharding.ReadPlan(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return failure.Usagef("%s has no plan where this worker looks: --out and all sources must be where every worker reaches them, on a shared file system or in object storage", spec.Out)
	}
	if err == nil && plan.Fingerprint != spec.Fingerprint {
		err = fmt.Errorf("%w: %s", ErrFenced, folder)
	}
	if err != nil {
		return err
	}
	return nil
}

// seal returns a MAC of the instructions for a DoFn: the job's name, the limits without
// Seal, and the spec. Only a holder of the key can compute it.
func seal(key []byte, name string, limits Limits, spec Spec) ([]byte, error) {
	limits.Seal = nil
	text, err := json.Marshal(struct {
		Job    string
		Limits Limits
		Spec   Spec
	}{name, limits, spec})
	if err != nil {
		return nil, err
	}
	return trust.MAC(key, "pretext stage on a worker 1", text), nil
}

// checkSeal returns an error if this worker belongs to a pool with a secret and the job's
// submitter did not have that secret.
func checkSeal(name string, limits Limits, spec Spec) error {
	if !flink.IsWorker() {
		return nil
	}
	key, err := flink.WorkerKey()
	if err != nil || key == nil {
		return err
	}
	want, err := seal(key, name, limits, spec)
	if err != nil {
		return err
	}
	if !hmac.Equal(want, limits.Seal) {
		return failure.Usagef("the stage %q was not submitted with the secret of this worker's pool: give --worker-secret the file that the pool has", spec.Stage)
	}
	return nil
}

// report converts the error of a DoFn to a form that reaches the submitter of the job:
// unchanged within one process, and as text from a worker.
func report(err error) error {
	if err == nil || !flink.IsWorker() {
		return err
	}
	r := failure.NewReport(err, flink.Where())
	slog.Error("task failed", "error", err)
	return fmt.Errorf("%s %s", r.Text, r.Mark())
}

// endJobs ends all jobs in this process and waits for their tasks.
func endJobs() {
	jobs.Range(func(_, j any) bool {
		j.(*job).end()
		return true
	})
}

// activity returns what this worker process has done and does.
func activity() flink.Activity {
	traffic := store.Traffic()
	a := flink.Activity{Tasks: workers.meter.Finished(), Bytes: workers.meter.Done(), Retries: traffic["retry"],
		Read: traffic["read_bytes"], Written: traffic["written_bytes"], CPU: usage.CPU().Seconds()}
	jobs.Range(func(_, j any) bool {
		running, oldest := j.(*job).hands.now()
		a.Running += running
		a.Oldest = max(a.Oldest, oldest.Seconds())
		return true
	})
	return a
}

// build returns the identity of this program. A clean build of a revision has the same
// identity on every platform. For other builds, the identity is the hash of the program
// file.
var build = sync.OnceValue(func() string {
	info, _ := debug.ReadBuildInfo()
	set := map[string]string{}
	version := ""
	if info != nil {
		version = info.Main.Version
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
	}
	if revision := set["vcs.revision"]; revision != "" && set["vcs.modified"] == "false" {
		return version + " " + revision[:min(12, len(revision))]
	}
	sum, err := programHash()
	if err != nil {
		return version + " of unknown hash"
	}
	return version + " sha256:" + sum[:12]
})

// programHash returns the SHA-256 of this program's file.
func programHash() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	folder, err := store.Open(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	_, sum, err := sharding.HashFile(context.Background(), folder, filepath.Base(path))
	return sum, err
}
