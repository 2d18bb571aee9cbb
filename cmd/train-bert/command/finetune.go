package command

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/trainer/session"
)

// finetuneFlags are the flags --quiet and --json of fine-tuning commands.
type finetuneFlags struct{ quiet, json bool }

func (f *finetuneFlags) add(fs *pflag.FlagSet, o *session.FinetuneOptions) {
	fs.StringVar(&o.Init, "init", "", "model to start from: a run or checkpoint of train-bert, a transformers folder, or the prefix of a TensorFlow checkpoint")
	fs.StringVar(&o.Model, "model", "", "start from random weights instead: a size such as tiny, or a config.json; needs --vocab-file")
	fs.StringVarP(&o.Out, "out", "o", "", "directory for checkpoints, predictions and eval.json (required)")
	fs.StringVar(&o.VocabFile, "vocab-file", "", "vocab.txt or tokenizer.json, if the model's folder has none")
	fs.Var(autoBool(&o.DoLowerCase), "do-lower-case", "lower-case the text: true, false, or auto: as the model's files say")
	fs.IntVar(&o.Recipe.Batch, "train-batch-size", o.Recipe.Batch, "examples per step")
	fs.Float64Var(&o.Recipe.Rate, "learning-rate", o.Recipe.Rate, "peak learning rate")
	fs.Float64Var(&o.Recipe.Epochs, "num-train-epochs", o.Recipe.Epochs, "passes over the training set")
	fs.Int64Var(&o.NumTrainSteps, "num-train-steps", 0, "number of steps, instead of epochs; 0: as many as --num-train-epochs takes")
	fs.Float64Var(&o.Recipe.Warmup, "warmup-proportion", o.Recipe.Warmup, "fraction of the steps in which the learning rate rises")
	fs.IntVar(&o.MaxSeqLength, "max-seq-length", o.MaxSeqLength, "maximum tokens of an example; longer ones are truncated")
	fs.Var(tokenCount(&o.MicroBatchTokens), "micro-batch-tokens", "maximum number of tokens in a micro-batch; auto: a number suited to the device; affects memory, and the result only by rounding")
	fs.Float64Var(&o.WeightDecay, "weight-decay", o.WeightDecay, "weight decay")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "random seed of the new head's weights, the order of examples and dropout")
	fs.Int64Var(&o.SaveCheckpointsSteps, "save-checkpoints-steps", o.SaveCheckpointsSteps, "steps between checkpoints; 0: only at the end")
	fs.Int64Var(&o.EvalSteps, "eval-steps", o.EvalSteps, "steps between evaluations on the held-out data; -1: at each checkpoint; 0: only at the end")
	fs.IntVar(&o.Keep, "keep", o.Keep, "newest checkpoints to keep; 0: all")
	addTrainingDevice(fs, &o.Device)
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	fs.BoolVar(&f.json, "json", false, "print eval.json")
}

// report makes the run print its progress to standard error. Call end after the run.
func (f *finetuneFlags) report(cmd *cobra.Command, o *session.FinetuneOptions) (end func()) {
	c := newConsole(cmd.ErrOrStderr())
	if !f.quiet {
		o.Log, o.Progress = c, c.bar
	}
	return c.clear
}

// autoBool returns the value of a flag that takes true, false or auto. It sets *to, to nil
// for auto.
func autoBool(to **bool) *cli.Value {
	return cli.Optional(to, "true|false|auto", "auto", func(s string) (bool, error) {
		if v, err := strconv.ParseBool(s); err == nil && slices.Contains([]string{"true", "1", "false", "0"}, s) {
			return v, nil
		}
		return false, fmt.Errorf("%q: must be true, false or auto", s)
	})
}

func newFinetune() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "finetune squad|classify|score",
		Short: "Train a model for a task: answer questions, classify sentences",
		Long: `Trains a pre-trained model for a task and evaluates it:

  train-bert finetune squad --init MODEL --train-file train-v1.1.json --predict-file dev-v1.1.json --out OUT
  train-bert finetune classify --init MODEL --task mrpc --data-dir MRPC --out OUT
  train-bert finetune score --data dev-v2.0.json --predictions predictions.json

Files, options and defaults are those of run_squad.py and run_classifier.py of
google-research/bert. The same command resumes a stopped run.
transformers and train-bert predict load OUT/step-….`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSquad(), newClassify(), newScore())
	return cmd
}
