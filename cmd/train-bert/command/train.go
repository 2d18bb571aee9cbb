package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/trainer"
	"pretext/trainer/session"
)

// trainOptions are the options of a run and of its output.
type trainOptions struct {
	session.Options
	quiet  bool
	nproc  int    // ranks to start on this machine; 0 or 1: none
	preset string // "": none

	launched bool // this process is a rank that another process has started with --nproc
}

func defaultTrain() trainOptions {
	return trainOptions{Options: session.DefaultOptions()}
}

func (o *trainOptions) add(fs *pflag.FlagSet) {
	fs.StringVar(&o.Data, "data", "", "directory of shards, a run of prepare-data, or any directory of BERT's TFRecord files (required)")
	fs.StringVar(&o.EvalData, "eval-data", "", "held-out data for evaluation; default: the eval split of --data")
	fs.StringVar(&o.Vocab, "vocab", "", "vocabulary (vocab.txt), if the directory of the records has none")
	addForm(fs, &o.MaxSeqLength, &o.AttendAcross)
	fs.BoolVar(&o.NoNSP, "no-nsp", false, "train no next-sentence head; records without next-sentence labels never train one")
	fs.StringVarP(&o.Out, "out", "o", "", "directory for checkpoints and metrics.jsonl (required)")
	addCache(fs, &o.Cache, "OUT/cache")
	fs.StringVar(&o.Model, "model", "", "size of a new model: "+strings.Join(trainer.PresetNames(), ", ")+", or a config.json")
	fs.StringVar(&o.Init, "init", "", "start from the weights of a model: a transformers folder, a checkpoint, or the prefix of a TensorFlow checkpoint")
	fs.StringVar(&o.ResumeFrom, "resume-from", "", "if --out has no checkpoint: resume from this one, of another run, with its optimizer and position")
	fs.IntVar(&o.TrainBatchSize, "train-batch-size", o.TrainBatchSize, "examples per step")
	fs.Var(tokenCount(&o.MicroBatchTokens), "micro-batch-tokens", "maximum number of tokens in a micro-batch; auto: a number suited to the device; affects memory, and the result only by rounding")
	fs.Float64Var(&o.LearningRate, "learning-rate", o.LearningRate, "peak learning rate")
	fs.Int64Var(&o.NumTrainSteps, "num-train-steps", o.NumTrainSteps, "number of steps")
	fs.Int64Var(&o.NumWarmupSteps, "num-warmup-steps", o.NumWarmupSteps, "steps in which the learning rate rises; -1: a tenth of all steps")
	fs.StringVar(&o.Schedule, "schedule", "", "schedule of the learning rate: "+trainer.ScheduleHelp())
	fs.StringVar(&o.preset, "preset", "", "defaults of a recipe; budget: single sequences of 128 tokens without next sentences or dropout, a schedule by time, and the optimizer of Cramming (docs/train.md)")
	fs.StringVar(&o.ReplayRates, "replay-rates", "", "with a schedule by time: take the learning rates of the steps from the metrics.jsonl of another run, to repeat it exactly")
	fs.Var(cli.Optional(&o.Dropout, "float", "", cli.ParseFloat), "dropout", "dropout of hidden units and attention in a new model; default: as its settings say")
	for _, p := range trainer.ScheduleParameters() {
		help := "with --schedule " + p.Kinds() + ": " + p.Help
		switch to := p.Field(&o.ScheduleOptions).(type) {
		case *int64:
			fs.Int64Var(to, p.Name, *to, help)
		case *float64:
			fs.Float64Var(to, p.Name, *to, help)
		case *string:
			fs.StringVar(to, p.Name, *to, help)
		case *time.Duration:
			fs.DurationVar(to, p.Name, *to, help)
		}
	}
	fs.StringVar((*string)(&o.Optimizer), "optimizer", string(o.Optimizer), "adamw (google-research/bert's), lamb (NVIDIA's) or stableadamw (ModernBERT's, the default of its sizes)")
	fs.Float64Var(&o.WeightDecay, "weight-decay", o.WeightDecay, "weight decay")
	fs.Float64Var(&o.AdamBeta1, "adam-beta1", o.AdamBeta1, "decay rate of the optimizer's first moment")
	fs.Float64Var(&o.AdamBeta2, "adam-beta2", o.AdamBeta2, "decay rate of the optimizer's second moment")
	fs.Float64Var(&o.AdamEpsilon, "adam-epsilon", o.AdamEpsilon, "epsilon of the optimizer")
	fs.Float64Var(&o.MaxGradNorm, "max-grad-norm", o.MaxGradNorm, "clip gradients to this global norm; 0: do not clip")
	fs.Var(cli.Optional(&o.BiasCorrection, "bool", "", strconv.ParseBool), "bias-correction", "correct the bias of the moments; default: for lamb and stableadamw, not for adamw, as in the original recipes")
	fs.Lookup("bias-correction").NoOptDefVal = "true"
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "random seed of the initial weights, the order of examples and dropout")
	fs.Int64Var(&o.SaveCheckpointsSteps, "save-checkpoints-steps", o.SaveCheckpointsSteps, "steps between checkpoints, each with an evaluation")
	fs.IntVar(&o.Keep, "keep", o.Keep, "newest checkpoints to keep; 0: all")
	fs.Int64Var(&o.EvalExamples, "eval-examples", o.EvalExamples, "held-out examples per evaluation; 0: all")
	fs.StringVar(&o.OnDamage, "on-damage", o.OnDamage, "on a corrupt or invalid example, or a truncated file: stop the run, or skip it")
	addMasking(fs, &o.Masking)
	addTrainingDevice(fs, &o.Device)
	fs.IntVar(&o.Readers, "readers", o.Readers, "threads that read examples ahead; 0: none; does not affect the result")
	fs.IntVar(&o.nproc, "nproc", 0, "number of processes to start on this machine, which train one model together")
	fs.BoolVar(&o.Zero1, "zero1", false, "with several ranks: each keeps and updates its part of the optimizer's state (ZeRO-1); needs less memory; does not affect the result")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
}

// addCache adds the flag --cache.
func addCache(fs *pflag.FlagSet, dir *string, meaning string) {
	fs.StringVar(dir, "cache", "", "directory for the indexes and uncompressed copies that are made of third-party records; default: "+meaning)
}

func addMasking(fs *pflag.FlagSet, o *session.MaskOptions) {
	fs.BoolVar(&o.DynamicMasking, "dynamic-masking", false, "choose new tokens to predict in every epoch; always on if the records have no masks")
	rates := &cli.Value{Kind: "fractions", Show: func() []string { return []string{o.MaskedLMProb.String()} }}
	rates.Read = func(text string) (err error) {
		o.MaskedLMProb, err = session.ParseMaskRates(text)
		return err
	}
	fs.Var(rates, "masked-lm-prob", "with dynamic masking: fraction of tokens to predict, or fractions and the steps from which they apply: 0.3@0,0.15@50000; default: as the records were made, or 0.15")
	fs.IntVar(&o.MaxPredictionsPerSeq, "max-predictions-per-seq", 0, "with dynamic masking: maximum predictions per example; default: as many as the records have room for")
	fs.Var(cli.Optional(&o.DoWholeWordMask, "bool", "", strconv.ParseBool), "do-whole-word-mask", "with dynamic masking: mask all tokens of a word together; default: as the records were made")
	fs.Lookup("do-whole-word-mask").NoOptDefVal = "true"
	fs.Var(cli.Optional(&o.MaskTokenProb, "float", "", cli.ParseFloat), "mask-token-prob", "with dynamic masking: probability that a token to predict becomes [MASK]; default: 0.8")
	fs.Var(cli.Optional(&o.RandomTokenProb, "float", "", cli.ParseFloat), "random-token-prob", "with dynamic masking: probability that a token to predict becomes a random token; default: 0.1; the rest stays")
}

// addForm adds the flags for records that are not segment pairs.
func addForm(fs *pflag.FlagSet, maxSeqLength *int, attendAcross *bool) {
	fs.IntVar(maxSeqLength, "max-seq-length", 0, "sequence length in tokens; documents are cut into sequences of this length (only for records of the recipe tokens); default: the model's max_position_embeddings")
	fs.BoolVar(attendAcross, "attend-across", false, "with packed rows: tokens attend to all documents of their row, not only to their own")
}

// tokenCount returns the value of a flag for a number of tokens. The flag also takes
// "auto", which sets *n to 0.
func tokenCount(n *int) *cli.Value {
	return &cli.Value{
		Kind: "tokens",
		Read: func(s string) error {
			*n = 0
			if s == "auto" {
				return nil
			}
			if _, err := fmt.Sscanf(s+"\n", "%d\n", n); err != nil || *n < 1 {
				return fmt.Errorf("%q is not a number of tokens: give a number such as 4096, or auto", s)
			}
			return nil
		},
		Show: func() []string {
			if *n == 0 {
				return []string{"auto"}
			}
			return []string{strconv.Itoa(*n)}
		},
	}
}

func newTrain() *cobra.Command {
	o := defaultTrain()
	cmd := &cobra.Command{
		Use:   "train --data DIR --out DIR --model SIZE",
		Short: "Train a model; the same command resumes it",
		Long: `Trains BERT or ModernBERT on the train split of --data. Writes checkpoints OUT/step-…, folders that
transformers loads, and OUT/metrics.jsonl with one line per step. Each checkpoint is
evaluated on held-out examples: next sentence, masked LM, and masked LM where the
input is [MASK], next to the unigram baseline (token frequencies of the train split).
Records without pairs of segments (--recipe of prepare-data) train masked LM alone.

The same command resumes a stopped run from its newest checkpoint. It ends with
exactly the weights of a run that was never stopped.

Several processes train one model with --nproc N, or when torchrun or others
start them with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: docs/multi-gpu.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usePreset(cmd.Flags()); err != nil {
				return err
			}
			if o.preset == presetBudget {
				o.UsualSeqLength = 128
			}
			launched, err := o.asRank(cmd)
			if launched || err != nil {
				return err
			}
			end, err := train(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil || o.Ranks.Rank != 0 {
				return err
			}
			return show(cmd, end)
		},
	}
	o.add(cmd.Flags())
	addJSON(cmd)
	return cmd
}

// train trains a model and writes its progress to stderr.
func train(ctx context.Context, o trainOptions, stderr io.Writer) (*trainResult, error) {
	c := newConsole(stderr)
	defer c.clear()
	if !o.quiet {
		o.Log, o.Progress = c, c.bar
	}
	o.Ranks.Log = c // a wait for other processes is never silent
	end, err := session.Train(ctx, o.Options)
	if err != nil {
		return nil, o.report(err)
	}
	return &trainResult{end}, nil
}

// A trainResult is the printed result of a run.
type trainResult struct{ *session.Result }

// MarshalJSON implements json.Marshaler.
func (e *trainResult) MarshalJSON() ([]byte, error) {
	var eval *session.EvalLine
	if e.Eval != nil {
		line := session.NewEvalLine(e.Steps, e.Eval)
		eval = &line
	}
	return json.Marshal(struct {
		Steps    int64             `json:"steps"`
		Examples int64             `json:"examples"`
		Epochs   float64           `json:"epochs"`
		Eval     *session.EvalLine `json:"eval"`     // null: there are no held-out shards
		LeftOut  int64             `json:"left_out"` // corrupt examples that were skipped
		Damage   []session.Damage  `json:"damage"`   // places of the first ones
		Model    string            `json:"model"`
	}{e.Steps, e.Examples, e.Epochs, eval, e.Skipped.Examples, append([]session.Damage{}, e.Skipped.Places...), e.Model})
}

// print writes the result as text.
func (e *trainResult) print(w io.Writer) error {
	fmt.Fprintf(w, "%d steps, %d examples, %.2f epochs\n", e.Steps, e.Examples, e.Epochs)
	if e.Eval != nil {
		fmt.Fprintln(w, e.Eval)
	}
	printSkipped(w, e.Skipped)
	_, err := fmt.Fprintf(w, "model: %s\n", e.Model)
	return err
}

// printSkipped writes the number of skipped examples and their places. It writes nothing
// if no example was skipped.
func printSkipped(w io.Writer, s session.Skipped) {
	if s.Examples == 0 && s.Named == 0 {
		return
	}
	fmt.Fprintf(w, "skipped: %d corrupt examples, the ends of %d files\n", s.Examples, s.Tails)
	for _, d := range s.Places {
		fmt.Fprintf(w, "  %s\n", cli.OneLine(d.String()))
	}
	if more := s.Named - int64(len(s.Places)); more > 0 {
		fmt.Fprintf(w, "  and %d more places: see %s\n", more, session.MetricsFile)
	}
}
