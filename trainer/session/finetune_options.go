package session

import (
	"pretext/trainer"
	"pretext/trainer/finetune"
)

// FinetuneOptions are common to all fine-tuning runs. Start from
// [DefaultFinetuneOptions]. Fields are named after the flags of train-bert
// finetune.
type FinetuneOptions struct {
	OutputOptions
	Init        string // initial model: a path that [OpenModel] takes
	Model       string // without Init: preset or config.json of a new model
	VocabFile   string // vocab.txt or tokenizer.json for a model whose folder has none
	DoLowerCase *bool  // nil: the setting in the model's files

	Recipe           finetune.Recipe
	NumTrainSteps    int64 // 0: the number of steps in the epochs
	MaxSeqLength     int   // tokens of the longest example; the rest is truncated
	MicroBatchTokens int   // maximum tokens of a micro-batch; 0: chosen by the device
	WeightDecay      float64
	Seed             uint64 // of the new head, order and dropout

	EvalSteps int64 // steps between evaluations; -1: one with each checkpoint; 0: only at the end
	Device    Device
}

// DefaultFinetuneOptions returns the defaults of run_squad.py and
// run_classifier.py, for examples of up to maxSeqLength tokens.
func DefaultFinetuneOptions(maxSeqLength int) FinetuneOptions {
	return FinetuneOptions{
		Recipe:       finetune.Recipe{Rate: 5e-5, Batch: 32, Epochs: 3, Warmup: 0.1},
		MaxSeqLength: maxSeqLength, WeightDecay: 0.01, Seed: 1, EvalSteps: -1,
		OutputOptions: OutputOptions{SaveCheckpointsSteps: 1000, Keep: 1},
	}
}

// Validate reports every wrong option.
func (o *FinetuneOptions) Validate() error {
	var c checks
	c.want(o.Init != "" || o.Model != "", "no initial model: give --init FOLDER")
	c.want(o.Init == "" || o.Model == "", "give --init or --model, not both")
	c.want(o.NumTrainSteps >= 0, "--num-train-steps %d: must not be negative", o.NumTrainSteps)
	c.want(o.MicroBatchTokens <= trainer.MaxBatchTokens, "--micro-batch-tokens %d: must be at most %d", o.MicroBatchTokens, trainer.MaxBatchTokens)
	c.want(o.EvalSteps >= -1, "--eval-steps %d: must be -1 or more", o.EvalSteps)
	return c.err(o.OutputOptions.Validate(), o.Device.Validate(), o.Recipe.Validate(), o.updateRule().Validate())
}

func (o *FinetuneOptions) updateRule() trainer.Optimizer {
	u := trainer.DefaultOptimizer(trainer.AdamW)
	u.WeightDecay = o.WeightDecay
	return u
}

// rateSchedule returns the learning rate schedule for n examples.
func (o *FinetuneOptions) rateSchedule(n int) (trainer.Schedule, error) {
	s := o.Recipe.Schedule(n)
	if o.NumTrainSteps > 0 {
		s.Steps = o.NumTrainSteps
		s.Warmup = float64(int64(float64(o.NumTrainSteps) * o.Recipe.Warmup))
	}
	if s.Steps < 1 {
		return s, usagef("%d examples in batches of %d over %v epochs give no step: give more epochs, a smaller --train-batch-size or --num-train-steps",
			n, o.Recipe.Batch, o.Recipe.Epochs)
	}
	return s, nil
}
