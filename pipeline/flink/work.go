//go:build cluster

package flink

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// logPattern is the pattern for the names of workers' log files. A worker that ends
// without an error removes its log file.
const logPattern = "pretext-worker-*.log"

// Work runs this process as a worker of a job until the TaskManager ends the worker, and
// returns the exit code. args are the arguments of Beam's worker contract.
func Work(args []string, p Process) int {
	options := map[string]string{}
	for _, arg := range args {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		options[name] = strings.Trim(value, "'") // Beam's Prism runner quotes the id
	}
	log, err := openLog(os.Getenv(logsVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare-data: worker:", err)
		return 1
	}
	confine()
	go tell(p.Activity)
	ctx, cancel := signal.NotifyContext(grpcx.WriteWorkerID(context.Background(), options["id"]), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, options) }()
	select {
	case err = <-done:
	case <-forgotten(ctx, os.Getenv(restVariable), os.Getenv(jobVariable)):
	case <-ctx.Done(): // the TaskManager has asked this worker to end and kills it after two seconds
	}
	ended := make(chan struct{})
	go func() { p.Stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
	}
	return log.close(err)
}

// serve connects to the TaskManager and processes its requests until it closes the
// connection.
func serve(ctx context.Context, options map[string]string) error {
	short, cancel := context.WithTimeout(ctx, dialing)
	defer cancel()
	info, err := tools.ProvisionInfo(short, options["provision_endpoint"])
	if err != nil {
		return fmt.Errorf("reach the TaskManager at %s: %w", options["provision_endpoint"], err)
	}
	// Do not import the options that come with the job: they could enable Beam's hooks.
	hooks.SerializeHooksToOptions()
	beam.Init()
	beamlog.SetLogger(quiet{}) // replaces beam.Init's logger, which writes to slog and so to itself; the harness sets its own later
	slog.SetDefault(slog.New(&bridge{}))
	slog.Info("pretext worker", "pid", os.Getpid(), "log", workerLog)
	logging := cmp.Or(options["logging_endpoint"], info.GetLoggingEndpoint().GetUrl())
	control := cmp.Or(options["control_endpoint"], info.GetControlEndpoint().GetUrl())
	return harness.MainWithOptions(ctx, logging, control, harness.Options{
		StatusEndpoint:     info.GetStatusEndpoint().GetUrl(),
		RunnerCapabilities: info.GetRunnerCapabilities(),
	})
}

// forgotten returns a channel that is closed when Flink no longer runs this worker's job.
// This is needed for two reasons: Beam's runner does not end workers that it started
// while Flink was repeating a job, and a restarted JobManager has lost the job. The
// channel stays open if the REST interface cannot be reached, or if it does not list the
// job at first.
func forgotten(ctx context.Context, rest, job string) <-chan struct{} {
	over := make(chan struct{})
	if rest == "" || job == "" {
		return over
	}
	go func() {
		seen, absent := false, 0
		// The first request is sent at once, because the job of this worker still runs
		// now, but may have ended before a later request.
		for next := time.Duration(0); wait(ctx, next) == nil; next = rounds {
			live, err := Cluster{REST: rest}.Live(ctx, job)
			switch {
			case err != nil:
			case live:
				seen, absent = true, 0
			case seen:
				absent++
			}
			if absent == 2 {
				close(over)
				return
			}
		}
	}()
	return over
}

// Failed returns the permanent error of an earlier attempt of this worker's job. It
// returns nil if there is none or if Flink's REST interface cannot be reached. The check
// is needed because Flink repeats a job after any error until the submitter cancels the
// job.
func Failed(ctx context.Context) error {
	base, job := os.Getenv(restVariable), os.Getenv(jobVariable)
	if base == "" || job == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialing)
	defer cancel()
	r, err := newREST(base)
	if err != nil {
		return nil
	}
	jobs, err := r.jobs(ctx, job)
	if err != nil || live(jobs) == "" {
		return nil
	}
	list, err := r.exceptions(ctx, live(jobs))
	if err != nil {
		return nil
	}
	return (&follower{rest: r}).failures(list)
}

// workerLog is the path of this worker's log file, or "".
var workerLog string

// Where returns a description of this worker process for messages.
func Where() string {
	if workerLog == "" {
		return "worker on " + hostName()
	}
	return fmt.Sprintf("worker on %s, log %s", hostName(), workerLog)
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return host
}

// A logFile stores the standard error of a worker, which runners discard.
type logFile struct{ f *os.File }

// openLog creates a log file in dir and redirects standard error to it. So the file also
// contains the traces of panics.
func openLog(dir string) (logFile, error) {
	f, err := os.CreateTemp(dir, logPattern)
	if err != nil {
		return logFile{}, fmt.Errorf("create log file: %w", err)
	}
	workerLog = f.Name()
	os.Stdout, os.Stderr = f, f
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		return logFile{}, err
	}
	return logFile{f}, nil
}

// close removes the log file unless it contains a failure. It returns the exit code for
// err.
func (l logFile) close(err error) int {
	if err == nil && !failures.Load() {
		l.f.Close()
		os.Remove(l.f.Name())
		return 0
	}
	if err != nil {
		fmt.Fprintln(l.f, time.Now().UTC().Format(time.RFC3339), "worker ended:", err)
		return 1
	}
	return 0
}
