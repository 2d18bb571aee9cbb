package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pretext/counts"
	"pretext/internal/store"
	"pretext/sharding"
)

// A Spec contains everything that a process needs to create the workers of a stage. Beam
// sends it as JSON.
type Spec struct {
	Stage       string
	Out         string          // absolute location of the stage's directory, since a worker may run in another directory
	Fingerprint string          // fingerprint of the plan; [Run] sets it
	Paths       []string        // paths of the stage's input
	Temp        string          // [Target].Temp
	Work        json.RawMessage // options of the stage's workers, see [Definition.New]
}

// A Worker runs the tasks of one stage. Its methods are called concurrently.
type Worker interface {
	// Do writes the files of a task, unless [Env.Proved] finds them complete.
	Do(ctx context.Context, task int) ([]Result, error)
	// Finish writes the files that depend on the results of all tasks, and last the
	// manifest. Finish may be called again and must then write the same bytes.
	// [Env.Finish] writes only the manifest.
	Finish(ctx context.Context, results []Result) error
}

// A Definition describes a stage for the engine. The names of a stage's files must begin
// with NAME-, or be accepted by [sharding.IsStageFile]. Register a Definition in an init
// function.
type Definition struct {
	Name      string
	Algorithm int // raised if the same options and inputs would result in different bytes
	// New returns a worker in env; work is [Spec.Work].
	New func(env *Env, work json.RawMessage) (Worker, error)
	// Clear removes output files whose names are only known from the plan. It may be nil.
	Clear func(ctx context.Context, folder store.Folder, plan *sharding.StagePlan) error
	// Warnings derives the warnings of a manifest from its other fields, the known facts,
	// and the files in folder. It may be nil.
	Warnings func(known sharding.Known, ctx context.Context, folder sharding.Folder, m *sharding.Manifest) ([]sharding.Warning, error)
	// Counts are all counts that the stage's manifests may contain, in the order in which
	// they are shown.
	Counts []counts.Count
}

// definitions contains the registered stages by name.
var definitions = map[string]Definition{}

// Register adds a stage to the engine. It panics if the name is taken.
func Register(d Definition) {
	if _, ok := definitions[d.Name]; ok {
		panic("BUG: two stages named " + d.Name)
	}
	definitions[d.Name] = d
	counts.Stage(d.Name, d.Counts)
}

// New returns [Definition].New for a worker type: it decodes the workers'
// options from JSON and calls worker with them.
func New[Work any](worker func(env *Env, work Work) Worker) func(*Env, json.RawMessage) (Worker, error) {
	return func(env *Env, raw json.RawMessage) (Worker, error) {
		var work Work
		if err := json.Unmarshal(raw, &work); err != nil {
			return nil, fmt.Errorf("decode the worker options of stage %s: %w", env.spec.Stage, err)
		}
		return worker(env, work), nil
	}
}

// owns reports whether the name of a file is one that a stage may write: it begins with
// the name of a registered stage and a hyphen, or [sharding.IsStageFile] accepts it. Such
// files are removed when a directory is overwritten.
func owns(file string) bool {
	name, _, _ := strings.Cut(file, "-")
	_, ok := definitions[name]
	return ok || sharding.IsStageFile(file)
}

// Worker returns a worker with its own limits and buffers, as in a process that is not
// the driver of the job.
func (s Spec) Worker() (Worker, error) { return s.worker(newJob(context.Background(), 1, new(Meter))) }

func (s Spec) worker(j *job) (Worker, error) {
	d, ok := definitions[s.Stage]
	if !ok {
		return nil, fmt.Errorf("stage %q is not registered in this program", s.Stage)
	}
	folder, err := store.Open(s.Out)
	if err != nil {
		return nil, err
	}
	return d.New(&Env{Folder: folder, Meter: j.meter, spec: s, job: j}, s.Work)
}
