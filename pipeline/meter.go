package pipeline

import "sync/atomic"

// A Meter counts the progress of a stage while it runs in this process. It is
// for display only: results are what manifests say.
type Meter struct {
	Stage string // "extract"
	Total int64  // of what Done counts; bytes of some kind, 0 when not known
	done  atomic.Int64
}

// Add counts n more units.
func (m *Meter) Add(n int64) { m.done.Add(n) }

// Done returns how much was counted.
func (m *Meter) Done() int64 { return m.done.Load() }
