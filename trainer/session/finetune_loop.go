package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// loop returns package trainer's loop for this run, which reads batches from
// source.
func (r *finetuneRun) loop(ctx context.Context, source trainer.Source) trainer.Loop {
	saver := &checkpoint.Saver{Dir: r.o.Out, Keep: r.o.Keep, Config: r.config, State: r.state, Tokenizer: r.tokenizer}
	return trainer.Loop{
		Model: r.model, Heads: r.task.heads, Source: source, Saver: r.saving(saver), Schedule: r.state.Schedule,
		Batch: r.state.Batch, Start: progressOf(r.from), SaveEvery: r.o.SaveCheckpointsSteps,
		Observe: func(report trainer.Report) error { return r.observe(ctx, report) },
	}
}

// A finetuneLine is the line of a step in metrics.jsonl.
type finetuneLine struct {
	Step     int64  `json:"step"`
	Position int64  `json:"position"` // examples seen
	Loss     Number `json:"loss"`
	Accuracy Number `json:"accuracy"` // a span is correct if its start and end are; 0 for a regression
	Rate     Number `json:"learning_rate"`
	GradNorm Number `json:"grad_norm"` // before clipping
	Skipped  bool   `json:"skipped"`
	Tokens   int64  `json:"tokens"`
	Speed    Number `json:"tokens_per_second"`

	Saturated *Number `json:"saturated,omitempty"` // as in trainLine
}

// observe logs a finished step and evaluates if due, before a checkpoint of the
// same step is saved.
func (r *finetuneRun) observe(ctx context.Context, report trainer.Report) error {
	speed := r.meter.step(report)
	s := report.Info.Sums
	accuracy := Fraction(s.LabelCorrect, s.LabelCount)
	curves := map[string]float64{
		"loss": s.Label(), "accuracy": accuracy, "learning_rate": report.Info.Rate, "grad_norm": report.Info.GradNorm, "tokens_per_second": speed,
	}
	err := r.metrics.append(finetuneLine{
		Step: report.Progress.Step, Position: report.Progress.Position, Loss: Number(s.Label()),
		Accuracy: Number(accuracy), Rate: Number(report.Info.Rate), GradNorm: Number(report.Info.GradNorm),
		Skipped: report.Info.Skipped, Tokens: int64(s.Tokens), Speed: Number(math.Round(speed)),
		Saturated: r.device.saturated(report.Info, curves),
	})
	err = errors.Join(err, r.board.step(report, curves))
	if err != nil || !r.due(report.Progress.Step) {
		return err
	}
	return r.evaluate(ctx, report.Progress.Step)
}

// due reports whether the model is evaluated after a step. It returns false for
// the last step, because the run's result includes that evaluation.
func (r *finetuneRun) due(step int64) bool {
	every := r.o.EvalSteps
	if every < 0 {
		every = r.o.SaveCheckpointsSteps
	}
	return r.task.evaluate != nil && every > 0 && step > 0 && step%every == 0 && step < r.state.Schedule.Steps
}

// evaluate evaluates and records the result. If a signal interrupts it, there
// is no result; the loop stops next.
func (r *finetuneRun) evaluate(ctx context.Context, step int64) error {
	defer r.meter.pause()()
	measures, err := r.task.evaluate(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("evaluate step %d: %w", step, err)
	}
	fmt.Fprintf(r.log, "step %d: held out: %s\n", step, measured(measures))
	return r.note(step, measures)
}

// conclude records the evaluation after the last step, unless an earlier process has
// recorded it.
func (r *finetuneRun) conclude(measures map[string]float64) error {
	if r.metrics == nil || len(measures) == 0 || r.metrics.evaluated == r.step {
		return nil
	}
	return errors.Join(r.note(r.step, measures), r.metrics.sync())
}

// note adds an evaluation to the metrics and the events.
func (r *finetuneRun) note(step int64, measures map[string]float64) error {
	line := map[string]any{"step": step}
	for name, v := range measures {
		line["eval_"+name] = Number(v)
	}
	err := r.metrics.append(line)
	if r.board != nil { // nil if the run had already ended
		err = errors.Join(err, r.board.scalars("eval", step, measures))
	}
	return err
}

// measured formats the measures of an evaluation for the log.
func measured(measures map[string]float64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(measures)) {
		if name == "examples" || strings.HasSuffix(name, "_examples") {
			parts = append(parts, fmt.Sprintf("%.0f %s", measures[name], strings.ReplaceAll(name, "_", " ")))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %.4f", strings.ReplaceAll(name, "_", " "), measures[name]))
	}
	return strings.Join(parts, ", ")
}
