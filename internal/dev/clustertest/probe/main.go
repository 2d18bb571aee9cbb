// Command probe runs a stage whose tasks take time and fail as they are told. The
// cluster tests use it where a real stage would need much text to be caught in
// the middle, and where it cannot fail in a given way. The engine, runner, worker
// and exit codes are those of prepare-data.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"pretext/cmd/prepare-data/command"
	"pretext/extract"
	"pretext/internal/failure"
	"pretext/internal/store/s3"
	"pretext/pipeline/flink"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// plan is the plan of each task.
type plan struct{}

// work configures the workers.
type work struct {
	Gate  string        // file for which the tasks wait after two are done; "" for none
	Seen  string        // directory in which each attempt of a task leaves a file; "" for none
	Once  string        // file that task 1 creates when it fails, so that it fails only once; "" for none
	Pause time.Duration // time that each task needs
	Slow  string        // file; the worker process that creates it needs ten times as long for each task; "" for none
	Fail  string        // how task 1 fails, a key of fails; "" if it does not
}

// errDamaged is an error as the stages have them.
var errDamaged = failure.Damaged("corrupt probe")

// fails are the errors with which a task may fail.
var fails = map[string]error{
	"other":      errors.New("something failed"),
	"usage":      failure.Usagef("option %d is wrong", 7),
	"missing":    &fs.PathError{Op: "open", Path: "/gone", Err: syscall.ENOENT},
	"over-limit": overLimit{},
	"damaged":    fmt.Errorf("read x at byte 7: %w", errDamaged),
	"network":    failure.Network("example.org did not answer"),
	"full":       &fs.PathError{Op: "write", Path: "/full", Err: syscall.ENOSPC},
	"permission": &fs.PathError{Op: "create", Path: "/closed", Err: syscall.EACCES},
	"locked":     failure.Locked("in use"),
	"fit":        &stage.MemoryError{Need: 9e9, Have: 1e9, Why: "a task"},
	"fenced":     fmt.Errorf("%w: x", stage.ErrFenced),
}

type overLimit struct{}

func (overLimit) Error() string   { return "more rejects than allowed" }
func (overLimit) OverLimit() bool { return true }

type worker struct {
	*stage.Env
	work
}

func init() {
	stage.Register(stage.Definition{Name: "probe", Algorithm: 1,
		New: stage.New(func(env *stage.Env, w work) stage.Worker { return &worker{env, w} })})
}

// SideCars names the side-car of a task, for helpers.
func (w *worker) SideCars(index int, _ func(to any) error) ([]string, error) {
	return []string{stage.SideCarOf(fmt.Sprintf("probe-%05d.txt", index))}, nil
}

// Do implements [stage.Worker].
func (w *worker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	if err := w.Task(ctx, index, new(plan)); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("probe-%05d.txt", index)
	return w.WriteFile(ctx, stage.TaskFile{Task: index, Name: name}, func(out *stage.Output) (sharding.Counts, error) {
		if w.Seen != "" {
			if f, err := os.CreateTemp(w.Seen, fmt.Sprintf("%d-", index)); err == nil {
				f.Close()
			}
		}
		for i := range 100 {
			if _, err := fmt.Fprintf(out, "task %d line %d\n", index, i); err != nil {
				return nil, err
			}
		}
		if err := w.wait(ctx); err != nil {
			return nil, err
		}
		select {
		case <-time.After(w.pause()):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return sharding.Counts{extract.Lines.Key: 100}, w.fail(index)
	})
}

// slowness decides once whether this process is the slow one.
var slowness struct {
	sync.Once
	is bool
}

// pause returns the time that a task needs.
func (w *worker) pause() time.Duration {
	if w.Slow == "" {
		return w.Pause
	}
	slowness.Do(func() {
		f, err := os.OpenFile(w.Slow, os.O_CREATE|os.O_EXCL, 0o600)
		if slowness.is = err == nil; slowness.is {
			f.Close()
		}
	})
	if slowness.is {
		return 10 * w.Pause
	}
	return w.Pause
}

// wait waits at the gate.
func (w *worker) wait(ctx context.Context) error {
	for w.Gate != "" {
		if _, err := os.Stat(w.Gate); err == nil {
			return nil
		}
		if cars, _ := filepath.Glob(filepath.Join(w.Out(), "probe-*.json")); len(cars) < 2 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// fail returns the error with which a task has to fail.
func (w *worker) fail(index int) error {
	if index != 1 || w.Fail == "" {
		return nil
	}
	if w.Once != "" {
		if _, err := os.Stat(w.Once); err == nil {
			return nil
		}
		if err := os.WriteFile(w.Once, nil, 0o600); err != nil {
			return err
		}
	}
	if w.Fail == "panic" {
		panic("probe")
	}
	if w.Fail == "exit" {
		os.Exit(3)
	}
	return fails[w.Fail]
}

func main() {
	s3.Register() // before Init, for workers
	stage.Init(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(command.Report(os.Stderr, run(ctx, os.Args[1:])))
}

// run parses the flags and runs the stage.
func run(ctx context.Context, args []string) error {
	var c flink.Cluster
	var w work
	r := stage.Runner{Memory: 600e6, Note: func(text string) { fmt.Fprintln(os.Stderr, "note:", strings.ReplaceAll(text, "\n", "; ")) }}
	f := flag.NewFlagSet("probe", flag.ContinueOnError)
	f.StringVar(&r.Name, "runner", stage.Direct, "")
	f.IntVar(&r.Workers, "workers", 2, "")
	f.StringVar(&c.Endpoint, "endpoint", "", "")
	f.StringVar(&c.REST, "flink-rest", "", "")
	f.IntVar(&c.Parallelism, "parallelism", 2, "")
	f.StringVar(&c.Program, "worker-program", "", "")
	f.StringVar(&c.Pool, "worker-pool", "", "")
	f.StringVar(&w.Gate, "gate", "", "")
	f.StringVar(&w.Seen, "seen", "", "")
	f.StringVar(&w.Once, "once", "", "")
	f.DurationVar(&w.Pause, "pause", 0, "")
	f.StringVar(&w.Slow, "slow", "", "")
	f.StringVar(&w.Fail, "fail", "", "")
	out := f.String("out", "", "")
	tasks := f.Int("tasks", 8, "")
	option := f.Int("option", 0, "decides about the bytes")
	overwrite := f.Bool("overwrite", false, "")
	pool := f.String("pool", "", "address of a worker pool to be")
	f.Func("set", "NAME=VALUE, as the commands take settings", func(setting string) error {
		name, value, _ := strings.Cut(setting, "=")
		return f.Set(name, value)
	})
	if err := f.Parse(args); err != nil {
		return failure.Usage(err)
	}
	if *pool != "" {
		return serve(ctx, *pool)
	}
	r.Cluster = c
	m, err := stage.Run(ctx, r, stage.Config{Target: stage.Target{Out: *out, Overwrite: *overwrite}, Stage: "probe",
		Options: map[string]int{"option": *option, "tasks": *tasks}, Work: w, Tasks: stage.Tasks(make([]plan, *tasks)), Total: int64(*tasks), Unit: "tasks"})
	if err == nil {
		fmt.Println(extract.Lines.Of(m.Counts), "lines")
	}
	return err
}

// serve runs a worker pool of this program.
func serve(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	p, err := flink.NewPool(flink.PoolOptions{Workers: 64}, os.Stderr)
	if err != nil {
		return err
	}
	return p.Serve(ctx, l)
}
