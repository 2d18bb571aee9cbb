// Package stage is the engine that runs a stage of the data path as a Beam job.
//
// The output of a stage is one directory. The stage's driver plans tasks and calls [Run],
// which writes the plan to the directory and runs one job:
//
//	Create(tasks) → Reshuffle → task DoFn → GroupByKey → manifest DoFn → consumed
//
// Elements are references: a task is an index into the plan, a result names a side-car.
// Text stays in files. All stages use this graph. A stage registers a [Definition] with
// the constructor of its [Worker]; the engine contains nothing that is specific to a
// stage.
//
// The task DoFn passes its elements to a pool with a limited number of concurrent tasks
// per process. The limit is needed because runners start between one and eight bundles,
// and memory is the number of concurrent tasks times the memory of a task. A task is
// skipped if its side-car proves that it is complete. The manifest DoFn reads side-cars,
// never metrics, and may run twice.
//
// The default runner, direct, opens no socket. On a Flink cluster (package
// pipeline/flink), each TaskManager runs this same program as its worker.
package stage

import (
	"log/slog"
	"os"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"pretext/pipeline/flink"
)

// Init must be called on the first line of main. A TaskManager starts this program with
// flags that are not part of the command line. In that case Init runs the worker and does
// not return.
func Init(args []string) {
	if flink.IsWorker() {
		os.Exit(flink.Work(args, flink.Process{Stop: endJobs, Activity: activity}))
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // otherwise Beam would log several lines for each job
}

// startBeam prepares Beam before the first job of this process. It is not done at
// startup, because most commands have no job. Beam's logger does not become the default
// of slog: users get all they need from the job's error.
var startBeam = sync.OnceFunc(func() {
	logger := slog.Default()
	beam.Init()
	slog.SetDefault(logger)
})
