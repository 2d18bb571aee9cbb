package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/trainer"
)

// trainOptions say what a run learns, from what, and where it leaves it.
type trainOptions struct {
	data, evalData, vocab string
	out, cache            string
	model, init           string

	batch     int
	tokens    tokenCount
	rate      float64
	steps     int64
	warmup    int64 // -1: a tenth of the steps
	schedule  string
	optimizer string
	decay     float64
	seed      uint64

	saveEvery    int64
	keep         int
	evalExamples int64
	onDamage     string
	readers      int
	device       deviceOptions
	masking      maskOptions
	threads      int
	quiet        bool
	brief        bool // of progress only a short line for each evaluation

	// spoil, where it is not nil, changes batches before the model sees them: the
	// controls of tests.
	spoil func(b *trainer.Batch, training bool)

	stepped func(step int64) // called after every step where it is not nil
}

// defaultOptions has run_pretraining.py's defaults where it has the flag.
func defaultOptions() trainOptions {
	return trainOptions{
		batch: 32, rate: 5e-5, steps: 100000, warmup: -1, optimizer: string(trainer.AdamW), decay: 0.01, seed: 1,
		saveEvery: 1000, keep: 3, evalExamples: 2048, onDamage: "stop", readers: 1, device: defaultDevice(),
	}
}

func (o *trainOptions) add(fs *pflag.FlagSet) {
	fs.StringVar(&o.data, "data", "", "folder of shards, a run of prepare-data, or any folder of BERT's TFRecord files (required)")
	fs.StringVar(&o.evalData, "eval-data", "", "the same, held out for evaluation; default: the eval shards of --data")
	fs.StringVar(&o.vocab, "vocab", "", "vocab.txt of records that have none beside them")
	fs.StringVarP(&o.out, "out", "o", "", "folder for checkpoints and metrics.jsonl (required)")
	addCache(fs, &o.cache, "OUT/cache")
	fs.StringVar(&o.model, "model", "", "size of a new model: "+strings.Join(trainer.PresetNames(), ", ")+", or a config.json")
	fs.StringVar(&o.init, "init", "", "go on from a model: a folder of transformers, a checkpoint, or the prefix of a TensorFlow checkpoint")
	fs.IntVar(&o.batch, "train-batch-size", o.batch, "examples a step")
	fs.Var(&o.tokens, "micro-batch-tokens", "tokens computed at a time, or auto; decides memory, not what is learned")
	fs.Float64Var(&o.rate, "learning-rate", o.rate, "peak of the learning rate")
	fs.Int64Var(&o.steps, "num-train-steps", o.steps, "steps of the run")
	fs.Int64Var(&o.warmup, "num-warmup-steps", o.warmup, "steps in which the rate rises; -1: a tenth of all")
	fs.StringVar(&o.schedule, "schedule", "", "of the learning rate: linear, polynomial or constant; default: linear for adamw, polynomial for lamb")
	fs.StringVar(&o.optimizer, "optimizer", o.optimizer, "adamw (google-research/bert's) or lamb (NVIDIA's)")
	fs.Float64Var(&o.decay, "weight-decay", o.decay, "weight decay")
	fs.Uint64Var(&o.seed, "seed", o.seed, "of initial weights, order and dropout")
	fs.Int64Var(&o.saveEvery, "save-checkpoints-steps", o.saveEvery, "steps between checkpoints, each with an evaluation")
	fs.IntVar(&o.keep, "keep", o.keep, "newest checkpoints to keep; 0: all")
	fs.Int64Var(&o.evalExamples, "eval-examples", o.evalExamples, "held-out examples of an evaluation; 0: all")
	fs.StringVar(&o.onDamage, "on-damage", o.onDamage, "what a damaged or unsound example, or a file that cannot be read to its end, does: stop the run, or skip it")
	o.masking.add(fs)
	o.device.add(fs)
	fs.IntVar(&o.readers, "readers", o.readers, "threads that read examples ahead; 0: none; decides no bit of the result")
	fs.IntVar(&o.threads, "threads", 0, "threads that compute; 0: one a processor; decides no bit of the result")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
}

// validate reports every wrong option; those of the schedule and the optimizer
// are judged by package trainer.
func (o *trainOptions) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(o.data != "", "no data: give --data DIR")
	want(o.out != "", "no output folder: give --out DIR")
	want(o.batch >= 1 && o.batch <= 1<<20, "--train-batch-size %d: must be from 1 to %d", o.batch, 1<<20)
	want(o.tokens <= trainer.MaxBatchTokens, "--micro-batch-tokens %d: must be at most %d", int(o.tokens), trainer.MaxBatchTokens)
	want(o.warmup >= -1, "--num-warmup-steps %d: must not be negative", o.warmup)
	want(o.saveEvery >= 0, "--save-checkpoints-steps %d: must not be negative", o.saveEvery)
	want(o.keep >= 0, "--keep %d: must not be negative", o.keep)
	want(o.evalExamples >= 0, "--eval-examples %d: must not be negative", o.evalExamples)
	want(o.threads >= 0, "--threads %d: must not be negative", o.threads)
	want(o.readers >= 0 && o.readers <= 256, "--readers %d: must be from 0 to 256", o.readers)
	want(o.masking.prob >= 0 && o.masking.prob < 1, "--masked-lm-prob %v: must be between 0 and 1", o.masking.prob)
	want(o.masking.most >= 0, "--max-predictions-per-seq %d: must not be negative", o.masking.most)
	want(o.onDamage == "stop" || o.onDamage == "skip", "--on-damage %q: must be stop or skip", o.onDamage)
	errs = append(errs, o.device.validate(), o.rateSchedule().Validate(), o.updateRule().Validate())
	if err := errors.Join(errs...); err != nil {
		return misuse(err)
	}
	return nil
}

// skips tells whether damage is left out.
func (o *trainOptions) skips() bool { return o.onDamage == "skip" }

func (o *trainOptions) rateSchedule() trainer.Schedule {
	s := trainer.Schedule{Kind: trainer.ScheduleKind(o.schedule), Peak: o.rate, Steps: o.steps, Warmup: float64(o.warmup)}
	if s.Kind == "" {
		s.Kind = trainer.Linear
		if o.optimizer == string(trainer.LAMB) {
			s.Kind = trainer.Polynomial
		}
	}
	if s.Kind == trainer.Polynomial {
		s.Degree = 0.5 // NVIDIA's
	}
	if o.warmup < 0 {
		s.Warmup = float64(o.steps / 10)
	}
	return s
}

func (o *trainOptions) updateRule() trainer.Optimizer {
	u := trainer.DefaultOptimizer(trainer.OptimizerName(o.optimizer))
	u.WeightDecay = o.decay
	return u
}

// tokenCount is a flag that takes a number of tokens or "auto", which is 0.
type tokenCount int

func (t *tokenCount) Set(s string) error {
	*t = 0
	if s == "auto" {
		return nil
	}
	if _, err := fmt.Sscanf(s+"\n", "%d\n", (*int)(t)); err != nil || *t < 1 {
		return fmt.Errorf("%q is not a number of tokens: write 4096, or auto", s)
	}
	return nil
}

func (t *tokenCount) Type() string { return "tokens" }

func (t *tokenCount) String() string {
	if *t == 0 {
		return "auto"
	}
	return fmt.Sprint(int(*t))
}

func newTrain() *cobra.Command {
	o := defaultOptions()
	cmd := &cobra.Command{
		Use:   "train --data DIR --out DIR --model SIZE",
		Short: "Train a model; the same command again goes on where it stopped",
		Long: `Trains BERT on the train shards of a folder and writes checkpoints OUT/step-…,
each a folder that transformers loads, and OUT/metrics.jsonl, a line a step. At
each checkpoint the model is evaluated on held-out shards: masked LM, also on
[MASK] alone beside the unigram baseline (the token frequencies of the train shards),
and next sentence.

A run that was stopped goes on from its newest checkpoint when the same command
is given again, and ends with the very weights of one that was not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			end, err := train(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return show(cmd, end)
		},
	}
	o.add(cmd.Flags())
	addJSON(cmd)
	return cmd
}

// MarshalJSON implements json.Marshaler.
func (e *ending) MarshalJSON() ([]byte, error) {
	var held *evalLine
	if e.eval != nil {
		line := newEvalLine(e.progress.Step, e.eval)
		held = &line
	}
	return json.Marshal(struct {
		Steps    int64     `json:"steps"`
		Examples int64     `json:"examples"`
		Epochs   float64   `json:"epochs"`
		Eval     *evalLine `json:"eval"`     // null: there are no held-out shards
		LeftOut  int64     `json:"left_out"` // examples that were corrupt
		Damage   []damage  `json:"damage"`   // the first places of these
		Model    string    `json:"model"`
	}{e.progress.Step, e.progress.Position, e.epochs, held, e.left.examples, append([]damage{}, e.left.places...), e.model})
}

// print writes the result of a run.
func (e *ending) print(w io.Writer) error {
	fmt.Fprintf(w, "%d steps, %d examples, %.2f epochs\n", e.progress.Step, e.progress.Position, e.epochs)
	if e.eval != nil {
		fmt.Fprintln(w, e.eval)
	}
	e.left.print(w)
	_, err := fmt.Fprintf(w, "model: %s\n", e.model)
	return err
}

// print writes what was left out, if anything was.
func (l losses) print(w io.Writer) {
	if l.examples == 0 && l.named == 0 {
		return
	}
	fmt.Fprintf(w, "left out: %d damaged examples, the ends of %d files\n", l.examples, l.tails)
	for _, d := range l.places {
		fmt.Fprintf(w, "  %s\n", cli.OneLine(d.String()))
	}
	if more := l.named - int64(len(l.places)); more > 0 {
		fmt.Fprintf(w, "  and %d more places, which %s names\n", more, metricsFile)
	}
}
