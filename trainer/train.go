package trainer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
)

// A Source supplies the examples of a run in a fixed order.
type Source interface {
	// Step returns this rank's part of the examples at positions [position,
	// position+sequences).
	Step(position int64, sequences int) (Share, error)
}

// A Share is one rank's part of a step.
type Share struct {
	// Counts are the counts of all batches of the share. They are known before
	// the first batch, because its coefficients depend on them.
	Counts Counts

	// Batches yields the micro-batches in order. A batch is valid until the
	// next one. A rank may have none.
	Batches iter.Seq2[*Batch, error]
}

// A Saver writes checkpoints. Save is called on every rank, after the model's
// optimizer state was gathered; one rank writes.
type Saver interface {
	Save(p Progress, m Model) error
}

// Progress is how far a run has come in its phase.
type Progress struct {
	Step     int64 `json:"step"`     // completed steps, including skipped ones
	Position int64 `json:"position"` // examples consumed
}

// A Report describes a completed step.
type Report struct {
	Progress Progress // after the step
	Info     StepInfo
}

// Loop is a training run of one phase, with fixed data, batch size and
// schedule.
type Loop struct {
	Model    Model
	Heads    Heads // of the model
	Source   Source
	Saver    Saver // nil: no checkpoints
	Comm     Comm  // nil: [Alone]
	Schedule Schedule
	Batch    int      // sequences in a step, over all ranks
	Start    Progress // where to resume; the zero value starts at the beginning

	SaveEvery int64 // steps between checkpoints; 0: only at the end

	// Observe, if not nil, is called after every step, for logging, timing and
	// evaluation. An error stops the run.
	Observe func(Report) error
}

// maxSkipped is the number of consecutive steps with non-finite gradients that
// stops a run, once the loss scale cannot be lowered further.
const maxSkipped = 3

// Train runs l to the end of its schedule. If ctx is done on any rank, all
// ranks stop after the same step and save a checkpoint, and Train returns the
// cause. A run that is stopped and resumed at its Progress takes the same steps
// as an uninterrupted one.
func Train(ctx context.Context, l Loop) (Progress, error) {
	if l.Comm == nil {
		l.Comm = Alone{}
	}
	if err := errors.Join(l.Schedule.Validate(), l.validate()); err != nil {
		return l.Start, fmt.Errorf("train: %w", err)
	}
	r := run{Loop: l, at: l.Start, saved: l.Start.Step}
	for r.at.Step < l.Schedule.Steps {
		stop, err := r.step(ctx)
		if err != nil {
			return r.at, fmt.Errorf("train step %d: %w", r.at.Step, err)
		}
		if stop {
			if err := r.save(); err != nil {
				return r.at, err
			}
			return r.at, stopCause(ctx)
		}
	}
	return r.at, r.save()
}

func (l Loop) validate() error {
	if l.Batch < 1 {
		return fmt.Errorf("train_batch_size %d: must be at least 1", l.Batch)
	}
	if l.Start.Step < 0 || l.Start.Position < 0 || l.SaveEvery < 0 {
		return errors.New("start and save_checkpoints_steps: must not be negative")
	}
	return nil
}

// stopCause returns why ctx is done, or an error that says that another rank
// was told to stop.
func stopCause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fmt.Errorf("another rank was told to stop: %w", context.Canceled)
}

type run struct {
	Loop
	at      Progress
	saved   int64 // step of the last checkpoint
	skipped int   // consecutive steps without an update
}

// step takes one step; stop reports that a rank was told to stop.
func (r *run) step(ctx context.Context) (stop bool, err error) {
	share, err := r.Source.Step(r.at.Position, r.Batch)
	if err != nil {
		return false, err
	}
	total, stop, err := r.agree(share.Counts, ctx.Err() != nil)
	if err != nil || stop {
		return stop, err
	}
	if err := r.accumulate(share, total.Coef()); err != nil {
		return false, err
	}
	info, err := r.Model.Apply(r.Schedule, r.Comm)
	if err != nil {
		return false, err
	}
	r.at.Step++
	r.at.Position += int64(r.Batch)
	return false, r.finish(info)
}

// agree sums the counts over all ranks, and reports whether any rank wants to
// stop.
func (r *run) agree(c Counts, done bool) (total Counts, stop bool, err error) {
	v := []float64{c.MaskedWeight, c.NSP, c.Labels, 0}
	if done {
		v[3] = 1
	}
	if err := r.Comm.AllReduce(v); err != nil {
		return Counts{}, false, err
	}
	return Counts{MaskedWeight: v[0], NSP: v[1], Labels: v[2]}, v[3] > 0, nil
}

func (r *run) accumulate(share Share, coef Coef) error {
	var seen Counts
	for b, err := range share.Batches {
		if err != nil {
			return err
		}
		if err := r.Model.Accumulate(b, coef); err != nil {
			return err
		}
		seen = seen.Add(b.Counts(r.Heads))
	}
	if seen.NSP != share.Counts.NSP || seen.Labels != share.Counts.Labels || math.Abs(seen.MaskedWeight-share.Counts.MaskedWeight) > 1e-6*seen.MaskedWeight {
		return fmt.Errorf("source counted %+v, its batches hold %+v", share.Counts, seen)
	}
	return nil
}

func (r *run) finish(info StepInfo) error {
	if r.skipped++; !info.Skipped {
		r.skipped = 0
	}
	if r.skipped >= maxSkipped && info.LossScale <= 1 {
		return fmt.Errorf("gradients were not finite in %d consecutive steps; lower the learning rate", r.skipped)
	}
	if r.Observe != nil {
		if err := r.Observe(Report{Progress: r.at, Info: info}); err != nil {
			return err
		}
	}
	if r.SaveEvery > 0 && r.at.Step%r.SaveEvery == 0 {
		return r.save()
	}
	return nil
}

// save writes a checkpoint, unless this step has one.
func (r *run) save() error {
	if r.Saver == nil || r.saved == r.at.Step {
		return nil
	}
	if err := r.Model.Gather(r.Comm); err != nil {
		return fmt.Errorf("gather optimizer state: %w", err)
	}
	if err := r.Saver.Save(r.at, r.Model); err != nil {
		return fmt.Errorf("save checkpoint of step %d: %w", r.at.Step, err)
	}
	r.saved = r.at.Step
	return nil
}
