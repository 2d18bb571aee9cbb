package stage

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 deprecated upstream; docs/decisions/direct-runner.md says why it is the default here
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"pretext/internal/guard"
	"pretext/internal/store"
	_ "pretext/internal/whoami" // before Beam is initialized
	"pretext/pipeline/flink"
)

// Names of Beam runners, for [Runner].
const (
	// Direct runs a job inside this process and opens no socket.
	Direct = "direct"
	// Prism is Beam's embedded portable runner: the job goes through gRPC servers of
	// this process, which package internal/guard closes to everybody else.
	Prism = "prism"
	// Flink runs a job on the cluster of [Runner].Cluster.
	Flink = "flink"

	// DefaultRunner is the runner of a [Runner] without a name, and of the command
	// line.
	DefaultRunner = Direct
)

// Runners are the names that [Runner] takes, the default first.
var Runners = []string{Direct, Prism, Flink}

// A Runner selects the Beam runner of the jobs and their concurrency. It does not
// affect the bytes of any output.
type Runner struct {
	Name    string        // one of [Runners]; empty for [DefaultRunner]
	Workers int           // maximum number of concurrent tasks of a process, at least 1
	Memory  int64         // bytes that a worker process of a cluster may use
	Cluster flink.Cluster // of the runner Flink
	// Watch is called at the start of each stage with its meter; the function that
	// it returns is called at the end. It may be nil.
	Watch func(*Meter) (stop func())
	// Note receives messages for the user before work begins. It may be nil.
	Note func(string)
	// RecordPlaces records the host and full paths in run.json, instead of base
	// names alone.
	RecordPlaces bool
}

// name returns the runner's name or the default.
func (r Runner) name() string { return cmp.Or(r.Name, DefaultRunner) }

// Tell calls Note unless it is nil or text is empty.
func (r Runner) Tell(text string) {
	if r.Note != nil && text != "" {
		r.Note(text)
	}
}

// execute runs a Beam pipeline, the job of a stage with a name.
func (r Runner) execute(ctx context.Context, p *beam.Pipeline, name string, spec Spec) (err error) {
	if r.name() == Flink {
		return r.Cluster.Run(ctx, p, flink.Job{Name: name, Note: r.Note})
	}
	// Beam's own context is not cancelled: Prism panics if that happens while
	// it starts its worker. Cancelling the job's context ends its tasks, and so
	// the run.
	ctx = context.WithoutCancel(ctx)
	if r.name() != Prism {
		_, err = beam.Run(ctx, r.name(), p)
		return err
	}
	if err := installGuard(); err != nil {
		return err
	}
	if err := checkDescriptors(); err != nil {
		return err
	}
	if _, err := net.DefaultResolver.LookupHost(ctx, "localhost"); err != nil {
		return fmt.Errorf("start Prism, which needs a machine that knows localhost (see /etc/hosts), as --runner direct does not: %w", err)
	}
	restore, err := privateTemp(spec)
	if err != nil {
		return err
	}
	defer restore()
	defer func() {
		if r := recover(); r != nil { // Prism panics if it cannot listen
			err = fmt.Errorf("start Prism: %v", r)
		}
	}()
	_, err = beam.Run(ctx, Prism, p)
	return err
}

// installGuard is a variable so that tests can run without the guard.
var installGuard = guard.Install

// prismDescriptors is the number of file descriptors that a Prism job needs: two
// listeners and both ends of about ten connections.
const prismDescriptors = 40

// checkDescriptors returns an error unless the process can open the files that
// Prism needs. Without them Prism waits for minutes, or panics in its own
// goroutines, which cannot be recovered.
func checkDescriptors() (err error) {
	var files []*os.File
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for range prismDescriptors {
		f, err := os.Open(string(os.PathSeparator))
		if err != nil {
			return fmt.Errorf("start Prism, which needs %d file descriptors: %w", prismDescriptors, err)
		}
		files = append(files, f)
	}
	return nil
}

// privateTemp sets TMPDIR to a new directory, below the stage's if that is local,
// because each Prism job leaves an empty directory behind. restore resets TMPDIR and removes the
// directory; after a killed run, the next run removes it.
func privateTemp(spec Spec) (restore func(), err error) {
	folder, err := store.Open(spec.Out)
	if err != nil {
		return nil, err
	}
	dir, remove, err := store.TempFolder(folder, spec.Temp)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		remove()
		return nil, err
	}
	old, set := os.LookupEnv("TMPDIR")
	os.Setenv("TMPDIR", dir)
	return func() {
		if set {
			os.Setenv("TMPDIR", old)
		} else {
			os.Unsetenv("TMPDIR")
		}
		remove()
	}, nil
}
