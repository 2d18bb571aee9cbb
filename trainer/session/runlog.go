package session

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// closers are the open resources of a run, in the order in which they were
// opened.
type closers []io.Closer

// add adds a resource.
func (c *closers) add(x io.Closer) { *c = append(*c, x) }

// Close closes all resources, the last one opened first.
func (c *closers) Close() error {
	var errs []error
	for _, x := range slices.Backward(*c) {
		errs = append(errs, x.Close())
	}
	*c = nil
	return errors.Join(errs...)
}

// newest returns the checkpoint that a run in the directory out resumes from; nil for a
// new run.
func newest(out string) (*checkpoint.Checkpoint, error) {
	c, err := checkpoint.Newest(out)
	if !errors.Is(err, checkpoint.ErrNone) {
		return c, err
	}
	if there, globErr := filepath.Glob(filepath.Join(out, "step-*")); globErr == nil && len(there) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %w: move them away to start a new run", errDamaged, err)
}

// progressOf returns the progress of a checkpoint; zero if from is nil.
func progressOf(from *checkpoint.Checkpoint) trainer.Progress {
	if from == nil {
		return trainer.Progress{}
	}
	return from.State.Progress
}

// A saverFunc is a trainer.Saver.
type saverFunc func(trainer.Progress, trainer.Snapshot) error

// Save implements trainer.Saver.
func (f saverFunc) Save(p trainer.Progress, s trainer.Snapshot) error { return f(p, s) }

// A runLog holds the metrics file, the TensorBoard writer and the meter, with
// everything else that a run closes at its end.
type runLog struct {
	closers
	metrics *metrics
	board   *board // nil: no steps remain
	meter   *meter
}

// saving returns a saver that syncs the metrics file before s saves a checkpoint. So the
// file on disk has all lines up to the checkpoint's step, which a resumed run keeps.
func (r *runLog) saving(s trainer.Saver) trainer.Saver {
	return saverFunc(func(p trainer.Progress, m trainer.Snapshot) error {
		if err := r.metrics.sync(); err != nil {
			return err
		}
		return s.Save(p, m)
	})
}

// open opens the metrics and, if steps remain, the event file. from is the checkpoint
// that the run resumes from; nil for a new run. steps is the number of all steps.
func (r *runLog) open(out string, from *checkpoint.Checkpoint, steps int64) (err error) {
	if r.metrics, err = openMetrics(filepath.Join(out, MetricsFile), from); err != nil {
		return err
	}
	r.add(r.metrics)
	step := progressOf(from).Step
	if step == steps {
		return nil
	}
	if r.board, err = openBoard(out, step, steps); err != nil {
		return err
	}
	r.add(r.board)
	return nil
}
