// Package stage is the engine that runs a stage of the data path as a Beam job.
//
// A stage turns one directory into another. Its driver plans tasks and calls
// [Run], which writes the plan to the directory and runs one job:
//
//	Create(tasks) → Reshuffle → task DoFn → GroupByKey → manifest DoFn → consumed
//
// Elements are references: a task is an index into the plan, a result names a
// side-car. Text stays in files. All stages use this graph; a stage registers a
// [Definition] with the constructor of its [Worker]. The engine knows no stage.
//
// The task DoFn hands its elements to a pool that is bounded for the process,
// because runners start between one and eight bundles, and memory is the number of
// concurrent tasks times what a task needs. A task whose side-car proves that it is
// done is not repeated. The manifest DoFn reads side-cars, never metrics, and may
// run twice.
//
// The default runner, direct, opens no socket. On a Flink cluster (package
// pipeline/flink) this same program does the work of each TaskManager.
package stage

import (
	"log/slog"
	"os"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"pretext/pipeline/flink"
)

// Init must be called on the first line of main. A TaskManager starts this binary
// with flags that the command line does not have: then Init runs the worker and does
// not return.
func Init(args []string) {
	if flink.IsWorker() {
		os.Exit(flink.Work(args, endJobs))
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Beam fills it with lines for each job
}

// startBeam prepares Beam before the first job of this process, because most commands
// have no job. Beam's logger does not become slog's default: what users should know
// about a job is in its error.
var startBeam = sync.OnceFunc(func() {
	logger := slog.Default()
	beam.Init()
	slog.SetDefault(logger)
})
