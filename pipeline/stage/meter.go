package stage

import "sync/atomic"

// A Meter counts the progress of a stage in this process. It is for display only;
// manifests have the results.
type Meter struct {
	Stage string // "extract"
	Total int64  // of what Done counts; 0 when not known
	Unit  string // what Done counts: "" for bytes, otherwise a plural noun
	Reads int64  // how often Done counts each of them; 0 is once
	Tasks int    // of the stage
	done  atomic.Int64
	kept  atomic.Int64
}

// Add counts n more units.
func (m *Meter) Add(n int64) { m.done.Add(n) }

// Kept returns how many tasks an earlier run had finished.
func (m *Meter) Kept() int64 { return m.kept.Load() }

// Done returns how much was counted.
func (m *Meter) Done() int64 { return m.done.Load() }
