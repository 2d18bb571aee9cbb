package stage

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	//lint:ignore SA1019 deprecated upstream; docs/decisions/direct-runner.md says why it is the default here
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/direct"

	"pretext/internal/failure"
	_ "pretext/internal/whoami" // before Beam is initialized
	"pretext/pipeline/flink"
)

// Names of Beam runners, for [Runner].
const (
	// Direct runs a job inside this process and opens no socket.
	Direct = "direct"
	// Flink runs a job on the cluster of [Runner].Cluster. It needs the build tag
	// cluster, see [flink.Supported].
	Flink = "flink"

	// DefaultRunner is the runner that is used if [Runner].Name is empty, and the default
	// on the command line.
	DefaultRunner = Direct
)

// Runners are the valid names of runners, the default first.
var Runners = []string{Direct, Flink}

// inProcess are the Beam runners that are linked into this process. Beam would end the
// process if another one were requested.
var inProcess = []string{Direct}

// CheckRunner returns a usage error unless name is one of [Runners]. The error names the
// command-line flag.
func CheckRunner(name string) error {
	switch {
	case name == "prism":
		return failure.Usagef("--runner prism: no longer there: take direct, the default, which writes the same bytes, or flink on a cluster")
	case name != Flink && !slices.Contains(inProcess, name):
		return failure.Usagef("--runner %q: must be one of %s", name, strings.Join(Runners, ", "))
	}
	return nil
}

// A Runner selects the Beam runner and the concurrency of jobs. It does not affect the
// output bytes.
type Runner struct {
	Name    string        // one of [Runners]; empty for [DefaultRunner]
	Workers int           // maximum number of concurrent tasks in a process, at least 1
	Memory  int64         // bytes that a worker process of a cluster may use
	Cluster flink.Cluster // the cluster for the runner Flink
	// Watch is called with the meter at the start of each stage. It returns a function
	// that is called at the end of the stage. Watch may be nil.
	Watch func(*Meter) (stop func())
	// Note receives messages for the user before work begins. It may be nil.
	Note func(string)
	// RecordPlaces adds the host and full paths to run.json, which otherwise contains
	// only base names.
	RecordPlaces bool
}

// name returns the runner's name or the default.
func (r Runner) name() string { return cmp.Or(r.Name, DefaultRunner) }

// check returns a usage error if this program cannot run a stage with r.
func (r Runner) check() error {
	if r.name() == Flink {
		return r.Cluster.Validate()
	}
	return CheckRunner(r.name())
}

// Tell calls Note with text, unless Note is nil or text is empty.
func (r Runner) Tell(text string) {
	if r.Note != nil && text != "" {
		r.Note(text)
	}
}

// taskStep is how Beam names the DoFn of tasks in Flink's steps.
const taskStep = "stage.taskFn"

// execute runs a Beam pipeline. name is the name of the job. done reports whether all
// tasks are done, see [flink.Job].
func (r Runner) execute(ctx context.Context, p *beam.Pipeline, name string, done func() bool) error {
	if r.name() == Flink {
		return r.Cluster.Run(ctx, p, flink.Job{Name: name, Note: r.Note, Done: done, Step: taskStep})
	}
	// Cancelling the job's context ends the job's tasks and so the run. Beam's own
	// context is not cancelled, so that Beam waits for the tasks.
	_, err := beam.Run(context.WithoutCancel(ctx), r.name(), p)
	return err
}
