package command

import (
	"errors"
	"fmt"
	"math"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// loop is the run as package trainer sees it.
func (r *fineRun) loop(source trainer.Source) trainer.Loop {
	saver := &checkpoint.Saver{Dir: r.o.out, Keep: r.o.keep, Config: r.config, State: r.state, Tokenizer: r.tokenizer}
	return trainer.Loop{
		Model: r.model, Heads: r.task.heads, Source: source, Saver: r.saving(saver), Schedule: r.state.Schedule,
		Batch: r.state.Batch, Start: r.progress(), SaveEvery: r.o.saveEvery, Observe: r.observe,
	}
}

// A fineLine is the line of a step in metrics.jsonl.
type fineLine struct {
	Step     int64  `json:"step"`
	Position int64  `json:"position"` // examples seen
	Loss     number `json:"loss"`
	Accuracy number `json:"accuracy"` // of a span: both ends right; 0 of a regression
	Rate     number `json:"learning_rate"`
	GradNorm number `json:"grad_norm"` // before clipping
	Skipped  bool   `json:"skipped"`
	Tokens   int64  `json:"tokens"`
	Speed    number `json:"tokens_per_second"`
}

func (r *fineRun) observe(report trainer.Report) error {
	speed := r.meter.step(report)
	s := report.Info.Sums
	r.loss = s.Label()
	err := r.metrics.append(fineLine{
		Step: report.Progress.Step, Position: report.Progress.Position, Loss: number(s.Label()),
		Accuracy: number(share(s.LabelCorrect, s.LabelCount)), Rate: number(report.Info.Rate), GradNorm: number(report.Info.GradNorm),
		Skipped: report.Info.Skipped, Tokens: int64(s.Tokens), Speed: number(math.Round(speed)),
	})
	return err
}

// saving makes the metrics durable before a checkpoint that a resume may go back
// to, and does not let a model that is lost take the place of a good one.
func (r *fineRun) saving(s trainer.Saver) trainer.Saver {
	return saverFunc(func(p trainer.Progress, m trainer.Model) error {
		defer r.meter.pause()()
		if math.IsNaN(r.loss) || math.IsInf(r.loss, 0) {
			return fmt.Errorf("the loss is %v: lower the learning rate; earlier checkpoints are as they were", r.loss)
		}
		return errors.Join(r.metrics.sync(), s.Save(p, m))
	})
}
