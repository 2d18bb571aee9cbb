// Package pipeline runs the stages of the data path as Beam jobs.
//
// A stage turns one folder into another: extract makes documents of sources,
// vocab a vocabulary of documents, examples shards of documents. Its driver
// plans tasks, writes them to the store, and runs one job:
//
//	Create(tasks) → Reshuffle → task DoFn → GroupByKey → manifest DoFn → consumed
//
// Elements are references: a task is an index into the plan, a result names a
// side-car. Text stays in files. The same graph serves all stages; what a
// stage does is in its own file, as a [worker].
//
// The task DoFn hands its elements to a pool, bounded for the whole process:
// runners start between one and eight bundles whatever they are asked for, and
// memory is the number of tasks at work times what a task needs. A task whose
// side-car proves that it was done is not done again. The manifest DoFn reads
// side-cars, never metrics, and may run twice.
//
// The default runner, direct, opens no socket. Prism listens on a random port of all
// interfaces, which package internal/guard closes to all but this process.
package stage

import (
	"flag"
	"log/slog"
	"slices"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Init readies Beam. It is the first line of main: a Beam worker starts this
// binary with flags of its own, which the command line would refuse; in that
// case Init does the worker's work and does not return.
func Init(args []string) {
	if slices.Contains(args, "--worker=true") {
		if err := flag.CommandLine.Parse(args); err != nil {
			panic("BUG: flags of a Beam worker: " + err.Error())
		}
	}
	beam.Init()
	// beam.Init replaces slog's default logger, which Beam and Prism then fill
	// with a dozen lines a job and each failure five times over. What a person
	// should know of a job is returned as its error.
	slog.SetDefault(slog.New(slog.DiscardHandler))
}
