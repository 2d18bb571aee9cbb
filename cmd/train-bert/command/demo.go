package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/onefile"
	"pretext/cmd/train-bert/internal/demoshards"
	"pretext/internal/failure"
	"pretext/internal/humanize"
	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/session"
)

// Names in the demo's output directory, in addition to the files of a training run.
const (
	demoData   = "data"       // the shards that come with the program
	demoConfig = "model.json" // the model's settings
	demoCurve  = "curve.html"
)

// demoOptions returns options for a demo of half a minute on two idle cores: the smallest
// model is trained for 2,000 steps, which take about 36 s of processor time.
func demoOptions() trainOptions {
	o := defaultTrain()
	o.MicroBatchTokens, o.LearningRate, o.NumTrainSteps, o.SaveCheckpointsSteps = 4096, 1e-3, 2000, 250
	o.TrainBatchSize, o.Keep, o.EvalExamples, o.Brief = 32, 1, 0, true
	return o
}

// demoModel returns BERT-tiny with two changes. It has no dropout, because short training
// does not need it (Geiping and Goldstein, Cramming, 2022). Its initializer range is wider
// than BERT's 0.02, which was chosen for 768 hidden units. Both changes shorten the plateau
// in which a model has learned only token frequencies (docs/learning.md).
func demoModel(vocabSize int) (trainer.Config, error) {
	c, err := trainer.Preset("tiny", vocabSize)
	c.HiddenDropout, c.AttentionDropout, c.InitializerRange = 0, 0, 0.05
	return c, err
}

func newDemo() *cobra.Command {
	o := demoOptions()
	cmd := &cobra.Command{
		Use:   "demo --out DIR",
		Short: "Train a small model in half a minute and see what it learned",
		Long: `Trains a model of two layers on short stories about the people of a village, which
are part of the program, or on --data. Then shows the loss on held-out examples
next to two baselines, token frequencies of the training shards (unigram) and equal
probabilities (uniform), and masked words of held-out sentences that the model
filled in. DIR/curve.html has the loss curve. Nothing is downloaded.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Out == "" {
				return failure.Usagef("no output folder: give --out DIR")
			}
			d, err := runDemo(cmd.Context(), o, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return show(cmd, d)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Data, "data", "", "shards to train on; default: those of the program, unpacked to DIR/data")
	fs.StringVarP(&o.Out, "out", "o", "", "directory to write to (required)")
	fs.Int64Var(&o.NumTrainSteps, "num-train-steps", o.NumTrainSteps, "number of training steps")
	fs.Uint64Var(&o.Seed, "seed", o.Seed, "random seed of the initial weights and the order of examples")
	addTrainingDevice(fs, &o.Device)
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	addJSON(cmd)
	return cmd
}

// A demoResult is the result of the demo.
type demoResult struct {
	Steps       int64            `json:"steps"`
	Targets     int64            `json:"targets"` // held-out predictions whose input is [MASK]
	Loss        session.Number   `json:"loss"`    // mean cross entropy of the targets in nats; null without targets
	Accuracy    session.Number   `json:"accuracy"`
	Unigram     session.Number   `json:"unigram_loss"`
	Frequent    session.Number   `json:"unigram_accuracy"`
	Uniform     session.Number   `json:"uniform_loss"`
	VocabSize   int              `json:"vocab_size"`
	Seconds     float64          `json:"seconds"`
	CPU         float64          `json:"cpu_seconds"`
	Model       string           `json:"model"`
	Curve       string           `json:"curve"`
	Predictions []session.Answer `json:"predictions"` // some answers, chosen by package session

	out, data string
	own       bool // trained on the embedded shards, not on the user's
}

// runDemo trains and evaluates the demo's model.
func runDemo(ctx context.Context, o trainOptions, stderr io.Writer) (*demoResult, error) {
	start, before := time.Now(), usage.CPU()
	nan := session.Number(math.NaN())
	if err := session.CheckOut(o.Out); err != nil {
		return nil, err
	}
	d := &demoResult{out: o.Out, own: o.Data == "", Loss: nan, Accuracy: nan, Unigram: nan, Frequent: nan, Predictions: []session.Answer{}}
	if d.own {
		o.Data = filepath.Join(o.Out, demoData)
		if err := demoshards.Unpack(o.Data); err != nil {
			return nil, err
		}
	}
	d.data = o.Data
	if err := d.introduce(ctx, &o, stderr); err != nil {
		return nil, err
	}
	end, err := train(ctx, o, stderr)
	if err != nil {
		return nil, err
	}
	d.Steps, d.Model = end.Steps, end.Model
	if d.Curve, err = writeDemoCurve(ctx, o.Out); err != nil {
		return nil, err
	}
	if e := end.Eval; e != nil {
		d.Targets, d.Loss, d.Accuracy = int64(e.Mask.MLMWeight), session.Number(e.Mask.MLM()), session.Number(session.Fraction(e.Mask.MLMCorrect, e.Mask.MLMWeight))
		d.Unigram, d.Frequent = session.Number(e.UnigramLoss), session.Number(e.UnigramAccuracy)
		if d.Predictions, err = session.HeldOutAnswers(ctx, session.EvalOptions{Model: d.Model, Data: d.data, Device: o.Device}); err != nil {
			return nil, err
		}
	}
	d.Seconds, d.CPU = time.Since(start).Seconds(), (usage.CPU() - before).Seconds()
	return d, nil
}

// introduce prints what the demo will do and writes the settings of the model.
func (d *demoResult) introduce(ctx context.Context, o *trainOptions, stderr io.Writer) error {
	data, err := session.OpenCorpus(ctx, o.Data, sharding.Train, "")
	if err != nil {
		return err
	}
	c, err := demoModel(data.VocabSize())
	if err != nil {
		return err
	}
	d.VocabSize, d.Uniform = c.VocabSize, session.Number(math.Log(float64(c.VocabSize)))
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	o.Model = filepath.Join(o.Out, demoConfig)
	folder, err := store.Open(o.Out)
	if err != nil {
		return err
	}
	if err := store.AddFile(ctx, folder, demoConfig, append(b, '\n')); err != nil || o.quiet {
		return err
	}
	what := "the train shards of " + o.Data
	if n, ok := data.Shards().Records(); ok {
		what = fmt.Sprintf("%s examples in %s", humanize.Count(n), o.Data)
	}
	if d.own {
		what += ", from short stories about a village, made for this demo"
	}
	fmt.Fprintf(stderr, "train-bert: data: %s\n", what)
	fmt.Fprintf(stderr, "train-bert: model: BERT with %d layers, %d hidden units and %d tokens (%s), from random weights\n", c.Layers, c.HiddenSize, c.VocabSize, o.Model)
	fmt.Fprintf(stderr, "train-bert: task: fill in masked words, %d steps of %d examples; the unigram baseline predicts by word frequency and ignores the context\n", o.NumTrainSteps, o.TrainBatchSize)
	return nil
}

func writeDemoCurve(ctx context.Context, out string) (path string, err error) {
	c, err := session.ReadCurve(filepath.Join(out, session.MetricsFile))
	if err != nil {
		return "", err
	}
	page := onefile.Output{Path: filepath.Join(out, demoCurve), Kind: onefile.Curve, Fixed: true}
	return page.Path, page.Write(ctx, c.HTML())
}

// print writes the result as text.
func (d *demoResult) print(w io.Writer) error {
	fmt.Fprintf(w, "%s steps in %.0f s (%.0f s of processor time)\n", humanize.Count(d.Steps), d.Seconds, d.CPU)
	if d.Targets > 0 {
		d.printTable(w)
		printAnswers(w, d.Predictions)
	}
	next := ""
	if d.own {
		next = fmt.Sprintf("  train-bert predict %s --text 'Karin the [MASK] came from the surgery.'\n", d.out)
	}
	_, err := fmt.Fprintf(w, `
curve: %s
model: %s

What to do next:
%s  prepare-data head %s
  train-bert train --data %s --model %s --out OTHER --learning-rate 1e-3 --num-train-steps 5000
  prepare-data demo --out DATA       make data: the way from a dump to shards
`, d.Curve, d.Model, next, d.data, d.data, filepath.Join(d.out, demoConfig))
	return err
}

// clearlyBelow is the difference to the unigram baseline, in nats. A loss that is lower by
// this much shows that the model uses context. A model that has learned only token
// frequencies can be below the baseline by chance, but not that far.
const clearlyBelow = 0.2

// printTable writes the losses of the model and of the baselines.
func (d *demoResult) printTable(w io.Writer) {
	fmt.Fprintf(w, "\n%s masked words of held-out examples:\n\n  %-28s %6s %9s\n", humanize.Count(d.Targets), "", "loss", "correct")
	row := func(name string, loss, right session.Number) {
		fmt.Fprintf(w, "  %-28s %6.2f %7.1f %%\n", name, float64(loss), 100*float64(right))
	}
	row("this model", d.Loss, d.Accuracy)
	below := float64(d.Unigram - d.Loss)
	if !math.IsNaN(below) {
		row("unigram (word frequencies)", d.Unigram, d.Frequent)
	}
	row(fmt.Sprintf("uniform (%d tokens)", d.VocabSize), d.Uniform, session.Number(1/float64(d.VocabSize)))
	switch {
	case below >= clearlyBelow:
		fmt.Fprintf(w, "\nThe loss is %.2f nats below the unigram baseline: the model uses the words around [MASK].\n", below)
	case !math.IsNaN(below):
		fmt.Fprintf(w, "\nThe loss is not clearly below the unigram baseline (by %.2f nats): the model does not use\nthe words around [MASK] yet. Train for more steps (--num-train-steps) into another --out.\n", below)
	}
}

// printAnswers writes answers as text.
func printAnswers(w io.Writer, all []session.Answer) {
	var b bytes.Buffer
	for _, right := range []bool{true, false} {
		title := "\nCorrect predictions of masked words, the rarest word first:\n"
		if !right {
			title = "\nWrong predictions, the most confident first:\n"
		}
		for _, a := range all {
			if a.Right != right {
				continue
			}
			fmt.Fprintf(&b, "%s\n  %s\n", title, a.Sentence)
			title = ""
			if right {
				fmt.Fprintf(&b, "    %s, with a probability of %.2f\n", a.Guess, a.Probability)
			} else {
				fmt.Fprintf(&b, "    %s, with a probability of %.2f; it was %s\n", a.Guess, a.Probability, a.Answer)
			}
		}
	}
	w.Write(b.Bytes()) // an error is returned by the next write
}
