package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pretext/trainer"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/glue"
)

// A Classification is the result of [Predictor.Classify].
type Classification struct {
	Classes []Class  `json:"classes,omitempty"` // most probable first
	Score   *float64 `json:"score,omitempty"`   // of a regression
}

// A Class is a class with its probability.
type Class struct {
	Label       string  `json:"label"`
	Probability float64 `json:"probability"`
}

// Classify returns a job that classifies a text, or with paired a pair of texts. Its
// result is a [Classification]. Input that is too long for the model is truncated as in
// training.
func (p *Predictor) Classify(text, pair string, paired bool) (Job, error) {
	if err := p.check(TaskClassify, text, pair); err != nil {
		return nil, err
	}
	task := glue.Task{A: []string{"text"}}
	if paired {
		task.B = []string{"pair"}
	}
	row := glue.Row{A: text, B: pair, Class: trainer.NoLabel, Score: float32(math.NaN())}
	enc, giveBack := p.encoder()
	defer giveBack()
	x, err := glue.NewExamples(task, []glue.Row{row}, enc, p.s.MaxSeqLength)
	if err != nil {
		return nil, err
	}
	return &classifyJob{Examples: x, p: p}, nil
}

type classifyJob struct {
	*glue.Examples
	p      *Predictor
	result Classification
}

// Take implements Job.
func (j *classifyJob) Take(_ int, logits []float32) error {
	if err := finetune.CheckNumbers(logits); err != nil {
		return err
	}
	if j.p.s.Heads.Regression {
		score := float64(logits[0])
		j.result.Score = &score
		return nil
	}
	for i, probability := range glue.Softmax(logits) {
		label := fmt.Sprintf("LABEL_%d", i)
		if i < len(j.p.s.Labels) {
			label = j.p.s.Labels[i]
		}
		j.result.Classes = append(j.result.Classes, Class{label, probability})
	}
	slices.SortStableFunc(j.result.Classes, func(a, b Class) int { return cmp.Compare(b.Probability, a.Probability) })
	return nil
}

// Result implements Job.
func (j *classifyJob) Result() any { return j.result }

// Masked implements Job.
func (j *classifyJob) Masked(int) int { return 0 }
