package session

import (
	"context"
	"errors"
	"fmt"
	"os"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// loop returns package trainer's loop for this run.
func (r *run) loop(ctx context.Context) trainer.Loop {
	loop := trainer.Loop{
		Model: r.model, Heads: r.state.Heads, Source: r.source, Saver: r.saver(), Comm: r.group, Schedule: r.state.Schedule,
		Batch: r.state.Batch, Start: r.first, SaveEvery: r.o.SaveCheckpointsSteps,
		Observe: func(report trainer.Report) error { return r.observe(ctx, report) },
	}
	if r.damage != nil {
		loop.Source = damagedSource{r}
	}
	if r.pace != nil {
		loop.Rate = r.pace.rate
	}
	return loop
}

// saver returns the saver of checkpoints. On ranks other than 0 it saves
// nothing: these ranks only take part in the snapshot.
func (r *run) saver() trainer.Saver {
	if !r.leads() {
		return saverFunc(func(trainer.Progress, trainer.Snapshot) error { return nil })
	}
	to := &checkpoint.Saver{Dir: r.o.Out, Keep: r.o.Keep, Config: r.config, State: r.state, Tokenizer: r.data.tokenizer}
	s, notify := r.saving(to), r.o.Saving
	if notify == nil {
		return s
	}
	return saverFunc(func(p trainer.Progress, m trainer.Snapshot) error {
		var last Saving
		to.Progress = func(written, total int64) {
			last.Written, last.Total = written, total
			notify(last)
		}
		notify(last)
		err := s.Save(p, m)
		last.Done = true
		notify(last)
		return err
	})
}

// observe logs a finished step and evaluates if a checkpoint is due. It evaluates
// before the checkpoint is saved, so that the metrics of a run that resumes from the
// checkpoint contain the evaluation.
func (r *run) observe(ctx context.Context, report trainer.Report) error {
	if r.leads() {
		if err := r.logStep(report); err != nil {
			return err
		}
	}
	step := report.Progress.Step
	if !r.due(step) {
		return nil
	}
	defer r.meter.pause()()
	return r.evaluate(ctx, step)
}

// logStep writes a step to the metrics, the events and the log. In the first epoch it
// first writes the corrupt examples that the step skipped to the metrics.
func (r *run) logStep(report trainer.Report) error {
	speed := r.meter.step(report)
	line := newTrainLine(report, speed, r.config.Modern != nil)
	if r.pace != nil {
		line.Spent = r.pace.elapsed().Seconds()
	}
	if r.damage != nil {
		places := r.skipping.places
		if line.LeftOut = r.skipping.n; report.Progress.Position-int64(r.state.Batch) >= r.source.Len() {
			places = nil
		}
		for _, place := range places {
			if err := r.metrics.append(damageLine{Step: report.Progress.Step, Damage: place}); err != nil {
				return err
			}
		}
	}
	s := report.Info.Sums
	curves := map[string]float64{
		"loss": s.Loss(), "mlm_loss": s.MLM(), "learning_rate": report.Info.Rate, "grad_norm": report.Info.GradNorm, "tokens_per_second": speed,
	}
	if s.NSPCount > 0 {
		curves["nsp_loss"] = s.NSP()
	}
	line.Saturated = r.device.saturated(report.Info, curves)
	return errors.Join(r.metrics.append(line), r.board.step(report, curves))
}

// due reports whether the model is evaluated after a step: whenever a checkpoint is
// due.
func (r *run) due(step int64) bool {
	return r.eval != nil && (step == r.o.NumTrainSteps || r.o.SaveCheckpointsSteps > 0 && step > 0 && step%r.o.SaveCheckpointsSteps == 0)
}

// evaluateOnce evaluates after a step, unless the metrics have that evaluation.
func (r *run) evaluateOnce(ctx context.Context, step int64) error {
	done, err := r.group.Any(r.leads() && r.metrics.evaluated == step)
	if done || err != nil {
		return err
	}
	defer r.meter.pause()()
	return r.evaluate(ctx, step)
}

// evaluate evaluates and logs the result. If a signal interrupts it, there is
// no result; the loop stops next.
func (r *run) evaluate(ctx context.Context, step int64) error {
	e, err := r.eval.run(ctx, r.model)
	if errors.Is(err, errInterrupted) {
		return nil
	}
	if err != nil {
		return err
	}
	if r.last, r.step = e, step; !r.leads() {
		return nil
	}
	if r.o.Brief {
		fmt.Fprintf(r.log, "step %d of %d: %s\n", step, r.o.NumTrainSteps, e.Brief())
	} else {
		fmt.Fprintf(r.log, "step %d: %s\n", step, e)
	}
	err = r.metrics.append(NewEvalLine(step, e))
	if r.board != nil { // nil if the run had already ended
		err = errors.Join(err, r.board.scalars("eval", step, e.curves()))
	}
	return err
}

// end returns the result. It evaluates the model if this process has not done so after
// the last step, because the run had already ended.
func (r *run) end(ctx context.Context, p trainer.Progress) (*Result, error) {
	e := &Result{Steps: p.Step, Examples: p.Position, Epochs: float64(p.Position) / float64(r.source.Len()),
		Model: checkpoint.Folder(r.o.Out, p.Step)}
	if r.eval != nil && r.step != p.Step {
		var err error
		if r.last, err = r.eval.run(ctx, r.model); err != nil {
			return nil, err
		}
	}
	if e.Eval = r.last; !r.leads() {
		return e, nil
	}
	e.Skipped = r.metrics.skipped
	_, err := os.Stat(e.Model)
	return e, err
}
