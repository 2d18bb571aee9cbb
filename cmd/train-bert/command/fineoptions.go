package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/trainer"
	"pretext/trainer/finetune"
)

// fineOptions are those of every fine-tuning run.
type fineOptions struct {
	init, model string // one of them
	out, vocab  string
	lower       autoBool

	recipe finetune.Recipe
	steps  int64 // 0: as many as the epochs have
	length int   // max_seq_length
	tokens tokenCount
	decay  float64
	seed   uint64

	saveEvery int64
	evalEvery int64 // -1: as saveEvery
	keep      int
	threads   int
	quiet     bool
	json      bool

	stepped func(step int64) // called after every step where it is not nil
}

// defaultFineOptions has the defaults of run_squad.py and run_classifier.py.
func defaultFineOptions(length int) fineOptions {
	return fineOptions{
		recipe: finetune.Recipe{Rate: 5e-5, Batch: 32, Epochs: 3, Warmup: 0.1},
		length: length, decay: 0.01, seed: 1, saveEvery: 1000, evalEvery: -1, keep: 1,
	}
}

func (o *fineOptions) add(fs *pflag.FlagSet) {
	fs.StringVar(&o.init, "init", "", "model to begin with: a run or checkpoint of train-bert, a folder of transformers, or the prefix of a TensorFlow checkpoint")
	fs.StringVar(&o.model, "model", "", "begin with a new model instead, of a size such as tiny or of a config.json; needs --vocab-file")
	fs.StringVarP(&o.out, "out", "o", "", "folder for checkpoints, predictions and eval.json (required)")
	fs.StringVar(&o.vocab, "vocab-file", "", "vocab.txt or tokenizer.json of a model that has none beside it")
	fs.Var(&o.lower, "do-lower-case", "text is lower-cased: true, false, or auto: as the model's files say")
	fs.IntVar(&o.recipe.Batch, "train-batch-size", o.recipe.Batch, "examples a step")
	fs.Float64Var(&o.recipe.Rate, "learning-rate", o.recipe.Rate, "peak of the learning rate")
	fs.Float64Var(&o.recipe.Epochs, "num-train-epochs", o.recipe.Epochs, "times that the training set is gone through")
	fs.Int64Var(&o.steps, "num-train-steps", 0, "steps of the run instead of epochs; 0: as many as the epochs have")
	fs.Float64Var(&o.recipe.Warmup, "warmup-proportion", o.recipe.Warmup, "share of the steps in which the rate rises")
	fs.IntVar(&o.length, "max-seq-length", o.length, "tokens of the longest example; what is longer is cut")
	fs.Var(&o.tokens, "micro-batch-tokens", "tokens computed at a time, or auto; decides memory, not what is learned")
	fs.Float64Var(&o.decay, "weight-decay", o.decay, "weight decay")
	fs.Uint64Var(&o.seed, "seed", o.seed, "of the new head, order and dropout")
	fs.Int64Var(&o.saveEvery, "save-checkpoints-steps", o.saveEvery, "steps between checkpoints; 0: only at the end")
	fs.Int64Var(&o.evalEvery, "eval-steps", o.evalEvery, "steps between evaluations on the held-out data; -1: one with each checkpoint; 0: only at the end")
	fs.IntVar(&o.keep, "keep", o.keep, "newest checkpoints to keep; 0: all")
	fs.IntVar(&o.threads, "threads", 0, "threads that compute; 0: one a processor; decides no bit of the result")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	fs.BoolVar(&o.json, "json", false, "print eval.json")
}

// validate reports every wrong option.
func (o *fineOptions) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(o.init != "" || o.model != "", "no model to begin with: give --init FOLDER")
	want(o.init == "" || o.model == "", "give --init or --model, not both")
	want(o.out != "", "no output folder: give --out DIR")
	want(o.steps >= 0, "--num-train-steps %d: must not be negative", o.steps)
	want(o.tokens <= trainer.MaxBatchTokens, "--micro-batch-tokens %d: must be at most %d", int(o.tokens), trainer.MaxBatchTokens)
	want(o.saveEvery >= 0, "--save-checkpoints-steps %d: must not be negative", o.saveEvery)
	want(o.evalEvery >= -1, "--eval-steps %d: must not be negative, but for -1", o.evalEvery)
	want(o.keep >= 0, "--keep %d: must not be negative", o.keep)
	want(o.threads >= 0, "--threads %d: must not be negative", o.threads)
	errs = append(errs, o.recipe.Validate(), o.updateRule().Validate())
	if err := errors.Join(errs...); err != nil {
		return misuse(err)
	}
	return nil
}

func (o *fineOptions) updateRule() trainer.Optimizer {
	u := trainer.DefaultOptimizer(trainer.AdamW)
	u.WeightDecay = o.decay
	return u
}

// schedule is that of a run over n examples.
func (o *fineOptions) schedule(n int) (trainer.Schedule, error) {
	s := o.recipe.Schedule(n)
	if o.steps > 0 {
		s.Steps = o.steps
		s.Warmup = float64(int64(float64(o.steps) * o.recipe.Warmup))
	}
	if s.Steps < 1 {
		return s, usagef("%d examples in batches of %d over %v epochs are no step: give more epochs, a smaller --train-batch-size or --num-train-steps",
			n, o.recipe.Batch, o.recipe.Epochs)
	}
	return s, nil
}

// autoBool is a flag that takes true, false or auto.
type autoBool struct{ set, value bool }

func (b *autoBool) Set(s string) error {
	switch s {
	case "auto":
		*b = autoBool{}
	case "true", "1":
		*b = autoBool{true, true}
	case "false", "0":
		*b = autoBool{set: true}
	default:
		return fmt.Errorf("%q: must be true, false or auto", s)
	}
	return nil
}

func (b *autoBool) Type() string { return "true|false|auto" }

func (b *autoBool) String() string {
	if !b.set {
		return "auto"
	}
	return fmt.Sprint(b.value)
}

// or returns what was given, or else auto.
func (b autoBool) or(auto bool) bool {
	if b.set {
		return b.value
	}
	return auto
}

func newFinetune() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "finetune squad|classify|score",
		Short: "Train a model for a task: answer questions, classify sentences",
		Long: `Trains a pre-trained model with a task's head, and measures it:

  train-bert finetune squad --init MODEL --train-file train-v1.1.json --predict-file dev-v1.1.json --out OUT
  train-bert finetune classify --init MODEL --task mrpc --data-dir MRPC --out OUT
  train-bert finetune score --data dev-v2.0.json --predictions predictions.json

Files, options and defaults are those of run_squad.py and run_classifier.py of
google-research/bert. A run that was stopped goes on when the same command is given
again. OUT/step-… is a folder that transformers loads, and train-bert predict.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSquad(), newClassify(), newScore())
	for _, c := range cmd.Commands() {
		args := c.Args
		c.Args = func(cmd *cobra.Command, a []string) error {
			if err := args(cmd, a); err != nil {
				return misuse(err)
			}
			return nil
		}
	}
	return cmd
}
