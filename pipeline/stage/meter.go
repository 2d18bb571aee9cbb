package stage

import "sync/atomic"

// A Meter counts the progress of a stage in this process. It is only for display;
// manifests contain the results.
type Meter struct {
	Stage string // "extract"
	Total int64  // the final value of Done; 0 if unknown
	Unit  string // what Done counts: "" for bytes, otherwise a plural noun
	Reads int64  // how many times each unit is added to Done; 0 means once
	Tasks int    // number of tasks
	done  atomic.Int64
	kept  atomic.Int64
	ended atomic.Int64 // tasks with a side-car, while a job runs on a cluster
	ran   atomic.Int64 // tasks that ended without an error in this process
	watch stopwatch
}

// Add counts n more units.
func (m *Meter) Add(n int64) { m.done.Add(n) }

// Kept returns the number of tasks that were skipped because an earlier run had
// finished them.
func (m *Meter) Kept() int64 { return m.kept.Load() }

// Finished returns the number of tasks that are finished, with those of earlier runs.
func (m *Meter) Finished() int64 { return max(m.ended.Load(), m.ran.Load()) }

// Done returns the number of units counted so far.
func (m *Meter) Done() int64 { return m.done.Load() }

// allDone reports whether all tasks of a job on a cluster have side-cars.
func (m *Meter) allDone() bool { return m.Tasks > 0 && m.ended.Load() >= int64(m.Tasks) }
