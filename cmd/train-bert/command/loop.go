package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// loop is the run as package trainer sees it.
func (r *run) loop(ctx context.Context) trainer.Loop {
	saver := &checkpoint.Saver{Dir: r.o.out, Keep: r.o.keep, Config: r.config, State: r.state, Tokenizer: r.data.tokenizer}
	return trainer.Loop{
		Model: r.model, Heads: r.state.Heads, Source: r.examples(), Saver: r.saving(saver), Schedule: r.state.Schedule,
		Batch: r.state.Batch, Start: r.progress(), SaveEvery: r.o.saveEvery,
		Observe: func(report trainer.Report) error { return r.observe(ctx, report) },
	}
}

// examples is the source of the run.
func (r *run) examples() trainer.Source {
	if r.o.spoil == nil {
		return r.source
	}
	return spoilt{r.source, r.o.spoil}
}

// A spoilt source changes the batches of another.
type spoilt struct {
	trainer.Source
	change func(b *trainer.Batch, training bool)
}

// Step implements trainer.Source.
func (s spoilt) Step(position int64, sequences int) (trainer.Share, error) {
	share, err := s.Source.Step(position, sequences)
	batches := share.Batches
	share.Batches = func(yield func(*trainer.Batch, error) bool) {
		for b, err := range batches {
			if err == nil {
				s.change(b, true)
			}
			if !yield(b, err) {
				return
			}
		}
	}
	return share, err
}

// observe logs a finished step and evaluates where a checkpoint is due. The
// evaluation comes before the checkpoint, so that its line in the metrics is
// older than what a resume goes back to.
func (r *run) observe(ctx context.Context, report trainer.Report) error {
	speed := r.meter.step(report)
	line := newTrainLine(report, speed)
	if r.damage != nil {
		var err error
		if line.LeftOut, err = r.noteDamage(report.Progress); err != nil {
			return err
		}
	}
	if err := errors.Join(r.metrics.append(line), r.board.step(report, curves(report, speed))); err != nil {
		return err
	}
	r.loss = report.Info.Sums.Loss()
	step := report.Progress.Step
	if r.o.stepped != nil {
		r.o.stepped(step)
	}
	if !r.due(step) {
		return nil
	}
	defer r.meter.pause()()
	return r.evaluate(ctx, step)
}

// curves are what TensorBoard shows of a step.
func curves(r trainer.Report, speed float64) map[string]float64 {
	s := r.Info.Sums
	return map[string]float64{
		"loss": s.Loss(), "mlm_loss": s.MLM(), "nsp_loss": s.NSP(),
		"learning_rate": r.Info.Rate, "grad_norm": r.Info.GradNorm, "tokens_per_second": speed,
	}
}

// noteDamage writes down which examples of a step were left out, in the first
// epoch, and returns how many.
func (r *run) noteDamage(p trainer.Progress) (int64, error) {
	places, n := r.damage.take()
	if p.Position-int64(r.state.Batch) >= r.source.Len() {
		places = nil
	}
	for _, place := range places {
		if err := r.metrics.append(damageLine{Step: p.Step, Damage: place}); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// due reports whether the model is evaluated after a step: where a checkpoint
// is due.
func (r *run) due(step int64) bool {
	return r.eval != nil && (step == r.o.steps || r.o.saveEvery > 0 && step > 0 && step%r.o.saveEvery == 0)
}

// catchUp makes the evaluation that was due when the run was stopped.
func (r *run) catchUp(ctx context.Context) error {
	step := r.progress().Step
	if !r.due(step) || r.metrics.evaluated == step {
		return nil
	}
	defer r.meter.pause()()
	return r.evaluate(ctx, step)
}

// evaluate evaluates and writes down the result. A signal ends it without one;
// the loop sees the signal next.
func (r *run) evaluate(ctx context.Context, step int64) error {
	e, err := r.eval.run(ctx, r.model)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	r.last, r.step = e, step
	if r.o.brief {
		fmt.Fprintf(r.stderr, "train-bert: step %d of %d: %s\n", step, r.o.steps, e.brief())
	} else {
		fmt.Fprintf(r.stderr, "train-bert: step %d: %s\n", step, e)
	}
	err = r.metrics.append(newEvalLine(step, e))
	if r.board != nil { // an evaluation that was missed at the last step finds none open
		err = errors.Join(err, r.board.scalars("eval", step, e.curves()))
	}
	return err
}

// end sums up. A run that had already ended is evaluated for its result.
func (r *run) end(ctx context.Context, p trainer.Progress) (*ending, error) {
	e := &ending{progress: p, epochs: float64(p.Position) / float64(r.source.Len()),
		model: filepath.Join(r.o.out, fmt.Sprintf("step-%08d", p.Step))}
	if r.eval != nil && r.step != p.Step {
		var err error
		if r.last, err = r.eval.run(ctx, r.model); err != nil {
			return nil, err
		}
	}
	e.eval, e.left = r.last, r.metrics.left
	_, err := os.Stat(e.model)
	return e, err
}
