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
	// Counts are the counts of all batches of the share. The loop needs them
	// before the first batch, to compute the coefficients of the loss.
	Counts Counts

	// MicroBatches is the number of batches that Batches yields; 0 if this rank
	// has no part of the step.
	MicroBatches int

	// Batches yields the micro-batches in order. A batch is valid until the
	// next one.
	Batches iter.Seq2[*Batch, error]

	// Begin, if not nil, is called when the step begins: [Train] reads a step while the
	// device computes the one before, and may end without it. All ranks call it.
	Begin func() error
}

// A Saver writes checkpoints. Save is called on every rank; rank 0 writes. It
// runs on a goroutine of its own while the next steps are computed, one call at
// a time. Save may close s as soon as it has read it; the loop closes it
// afterwards.
type Saver interface {
	Save(p Progress, s Snapshot) error
}

// Progress holds the steps and examples that a run has completed in its phase.
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
	Comm     Comm  // of the model, see [Options]; nil: one rank
	Schedule Schedule
	Batch    int      // sequences in a step, over all ranks
	Start    Progress // where to resume; the zero value starts at the beginning

	// Rate, if not nil, returns the learning rate of the next step instead of
	// Schedule; more is false if the run ends before this step. It is called on
	// rank 0 only, and all ranks use its result.
	Rate func(step int64) (rate float64, more bool)

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
//
// Checkpoints are saved while the next steps run. Before the next checkpoint,
// and before it returns, Train waits for the checkpoint in progress. If a
// checkpoint cannot be saved, Train stops after the current step with the error.
func Train(ctx context.Context, l Loop) (Progress, error) {
	l.Comm = OrAlone(l.Comm)
	if err := errors.Join(l.Schedule.Validate(), l.validate()); err != nil {
		return l.Start, fmt.Errorf("train: %w", err)
	}
	r := run{Loop: l, at: l.Start, saved: l.Start.Step}
	err := r.steps(ctx)
	return r.at, errors.Join(err, r.wait())
}

// steps runs the steps of the schedule, until its end or until ctx is done.
func (r *run) steps(ctx context.Context) error {
	defer r.forget()
	for r.at.Step < r.Schedule.Steps && !r.ended {
		stop, err := r.step(ctx)
		if err != nil {
			return fmt.Errorf("train step %d: %w", r.at.Step, err)
		}
		if stop {
			if err := errors.Join(r.save(), r.wait()); err != nil {
				return err
			}
			return stopCause(ctx)
		}
		if err := r.checkSave(); err != nil {
			return err
		}
	}
	return r.save()
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
// received a signal.
func stopCause(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fmt.Errorf("another rank received a signal: %w", context.Canceled)
}

type run struct {
	Loop
	at      Progress
	saved   int64      // step of the last checkpoint
	saving  chan error // receives the result of the save in progress; nil: none
	loss    float64    // of the last step
	skipped int        // consecutive steps without an update
	rate    float64    // of the step, if Rate is set
	ended   bool       // Rate has ended the run
	next    *upcoming  // the next step; nil: not read yet
}

// An upcoming step is one that is read. Its batches are taken one after another.
type upcoming struct {
	share Share
	err   error // of reading it: the error of the step, once it begins
	pull  func() (*Batch, error, bool)
	stop  func()

	taken    bool // the first batch is taken from pull
	first    *Batch
	firstErr error
	any      bool // there is a first batch
}

// read reads the step at a position.
func (r *run) read(position int64) *upcoming {
	u := &upcoming{stop: func() {}}
	if u.share, u.err = r.Source.Step(position, r.Batch); u.err == nil {
		u.pull, u.stop = iter.Pull2(u.share.Batches)
	}
	return u
}

// peek returns the first batch, which stays the next one.
func (u *upcoming) peek() *Batch {
	u.first, u.firstErr, u.any = u.pull()
	u.taken = true
	if !u.any || u.firstErr != nil {
		return nil
	}
	return u.first
}

// batch returns the next batch.
func (u *upcoming) batch() (b *Batch, err error, ok bool) { //nolint:staticcheck // the results of iter.Pull2
	if u.taken {
		u.taken = false
		return u.first, u.firstErr, u.any
	}
	return u.pull()
}

// prepare reads the step after the present one and announces its first batch, unless the
// present one is the last.
func (r *run) prepare() {
	if r.at.Step+1 >= r.Schedule.Steps {
		return
	}
	r.next = r.read(r.at.Position + int64(r.Batch))
	if r.next.err == nil && r.next.share.MicroBatches > 0 {
		r.Model.Prepare(r.next.peek())
	}
}

// forget drops the step that was read.
func (r *run) forget() {
	if r.next != nil {
		r.next.stop()
		r.Model.Prepare(nil)
	}
}

// begin begins the step.
func (u *upcoming) begin() error {
	if u.err != nil || u.share.Begin == nil {
		return u.err
	}
	return u.share.Begin()
}

// step runs one step. If ctx is done on any rank, it changes nothing and stop
// is true.
func (r *run) step(ctx context.Context) (stop bool, err error) {
	if r.next == nil {
		r.next = r.read(r.at.Position)
	}
	if err := r.next.begin(); err != nil {
		return false, err
	}
	total, stop, err := r.agree(r.next.share.Counts, ctx.Err() != nil)
	if err != nil || stop || r.ended {
		return stop, err
	}
	err = r.accumulate(r.next, total.Coef())
	r.next.stop()
	r.next = nil
	if err != nil {
		return false, err
	}
	r.prepare() // while the device computes
	schedule := r.Schedule
	if r.Rate != nil {
		schedule = Schedule{Kind: Constant, Peak: r.rate, Steps: r.Schedule.Steps}
	}
	info, err := r.Model.Apply(schedule)
	if err != nil {
		return false, err
	}
	r.at.Step++
	r.at.Position += int64(r.Batch)
	return false, r.finish(info)
}

// agree returns the sum of the counts over all ranks; stop reports whether done
// is true on any rank. With Rate it also sets r.rate and r.ended.
func (r *run) agree(c Counts, done bool) (total Counts, stop bool, err error) {
	v := []float64{c.MaskedWeight, c.NSP, c.Labels, 0}
	if done {
		v[3] = 1
	}
	if r.Rate != nil {
		rate, more := 0.0, true
		if r.Comm.Rank() == 0 {
			rate, more = r.Rate(r.at.Step)
		}
		v = append(v, rate, 0)
		if !more {
			v[5] = 1
		}
	}
	if err := r.Comm.AllReduce(v); err != nil {
		return Counts{}, false, err
	}
	if r.Rate != nil {
		r.rate, r.ended = v[4], v[5] > 0
	}
	return Counts{MaskedWeight: v[0], NSP: v[1], Labels: v[2]}, v[3] > 0, nil
}

func (r *run) accumulate(u *upcoming, coef Coef) error {
	var seen Counts
	share, n := u.share, 0
	for b, err, ok := u.batch(); ok; b, err, ok = u.batch() {
		if err != nil {
			return err
		}
		if n++; n > share.MicroBatches {
			break
		}
		if err := r.Model.Accumulate(b, coef, n == share.MicroBatches); err != nil {
			return err
		}
		seen = seen.Add(b.Counts(r.Heads))
	}
	if n != share.MicroBatches {
		return fmt.Errorf("source announced %d micro-batches, got at least %d", share.MicroBatches, n)
	}
	if seen.NSP != share.Counts.NSP || seen.Labels != share.Counts.Labels || math.Abs(seen.MaskedWeight-share.Counts.MaskedWeight) > 1e-6*seen.MaskedWeight {
		return fmt.Errorf("source counted %+v, its batches hold %+v", share.Counts, seen)
	}
	return nil
}

func (r *run) finish(info StepInfo) error {
	r.loss = info.Sums.Loss()
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

// save starts to save a checkpoint, unless the current step is saved already. A
// model whose loss is not finite is not saved, so that it does not replace a
// good one.
func (r *run) save() error {
	if r.Saver == nil || r.saved == r.at.Step {
		return nil
	}
	if err := r.wait(); err != nil {
		return err
	}
	failed := func(err error) error { return fmt.Errorf("save checkpoint of step %d: %w", r.at.Step, err) }
	if math.IsNaN(r.loss) || math.IsInf(r.loss, 0) {
		return failed(fmt.Errorf("the loss is %v: lower the learning rate; earlier checkpoints are unchanged", r.loss))
	}
	s, err := r.Model.Snapshot()
	if err != nil {
		return failed(err)
	}
	r.saved, r.saving = r.at.Step, make(chan error, 1)
	go func(at Progress, done chan<- error) {
		err := errors.Join(r.Saver.Save(at, s), s.Close())
		if err != nil {
			err = fmt.Errorf("save checkpoint of step %d: %w", at.Step, err)
		}
		done <- err
	}(r.at, r.saving)
	return nil
}

// wait waits for the save in progress and returns its error.
func (r *run) wait() error {
	if r.saving == nil {
		return nil
	}
	err := <-r.saving
	r.saving = nil
	return err
}

// checkSave returns the error of the save in progress if it has failed.
func (r *run) checkSave() error {
	select {
	case err := <-r.saving:
		r.saving = nil
		return err
	default:
		return nil
	}
}
