package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/internal/failure"
	"pretext/trainer"
	"pretext/trainer/session/speed"
)

func newBench() *cobra.Command {
	o := speed.DefaultOptions()
	figures := ""
	cmd := &cobra.Command{
		Use:   "bench [--model SIZE] [--data DIR]",
		Short: "Measure how fast a model trains here, and how fast shards are read",
		Long: `Trains a model for a few seconds on made-up examples of full length, or on those of
--data. Prints tokens and examples per second; tokens per second of processor time,
which other programs on the machine disturb less; and the operations of the model,
forward and backward, relative to the fastest matrix product of this machine.

With --data also prints how many bytes of records are read, checked and decoded per
second, and the time from opening the folder to the first batch at several positions
of a run. Each figure is the median of the rounds.

With --model-time on a GPU it also measures one more step by kernel and prints beside
each the time that a model on paper expects from its bytes and operations: where the
two differ is where to look first. The events around each kernel take time too.

With --simulate FILE it measures nothing: it computes how training scales to many
GPUs, by a model, from the measured speed of one GPU and of the links in the JSON
file FILE. docs/multi-gpu.md lists the fields.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if figures != "" {
				return simulate(cmd, figures)
			}
			r, err := speed.Measure(cmd.Context(), o)
			if errors.Is(err, trainer.ErrUnavailable) && o.Device.ISA != "" {
				return failure.Usagef("--isa %s: %w", o.Device.ISA, err)
			}
			if err != nil {
				return err
			}
			return show(cmd, (*benchResult)(r))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Model, "model", o.Model, "size (tiny, mini, small, medium, base, large), or a config.json")
	fs.StringVar(&o.Data, "data", "", "shards to take examples from; default: made-up examples")
	fs.StringVar(&o.Vocab, "vocab", "", "vocabulary (vocab.txt), if the directory of the records has none")
	addCache(fs, &o.Cache, "none, so compressed records cannot be read")
	fs.IntVar(&o.Batch, "train-batch-size", o.Batch, "examples per step")
	fs.IntVar(&o.Length, "max-seq-length", o.Length, "number of tokens in a made-up example (of 128, 20 are predicted), or in a sequence that is cut from a record of documents")
	fs.IntVar(&o.VocabSize, "vocab-size", o.VocabSize, "tokens of the vocabulary, without --data")
	addTrainingDevice(fs, &o.Device)
	fs.Var(tokenCount(&o.MicroBatchTokens), "micro-batch-tokens", "with --data: maximum number of tokens in a micro-batch; auto: a number suited to the device")
	fs.IntVar(&o.Readers, "readers", 0, "number of threads that read examples ahead")
	fs.StringVar(&o.Device.ISA, "isa", "", "instruction set of the CPU: avx512, avx2, neon or plain; default: the fastest available")
	fs.IntVar(&o.Rounds, "rounds", o.Rounds, "number of rounds; the median is printed")
	fs.Float64Var(&o.Seconds, "seconds", o.Seconds, "duration of a round")
	fs.BoolVar(&o.Device.Profile, "model-time", false, "on a GPU: print the time of each kernel of a step beside that of a model on paper")
	fs.StringVar(&figures, "simulate", "", "JSON file with the speed of one GPU and of the links: compute how training scales to many GPUs")
	addMasking(fs, &o.Masking)
	addJSON(cmd)
	return cmd
}

// simulate prints the predicted training speed on several GPUs. It returns a usage error
// for flags that apply only to a measurement.
func simulate(cmd *cobra.Command, path string) error {
	var others []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "simulate" && f.Name != "json" {
			others = append(others, "--"+f.Name)
		}
	})
	if len(others) > 0 {
		return failure.Usagef("--simulate reads all figures from %s: leave out %s", path, strings.Join(others, ", "))
	}
	f, err := speed.ReadFigures(path)
	if err != nil {
		return err
	}
	scalings, err := speed.Simulate(f)
	if err != nil {
		return err
	}
	return show(cmd, &scalingResult{Figures: f, Scalings: scalings, LeftOut: speed.LeftOut})
}

// A scalingResult is the output of bench --simulate.
type scalingResult struct {
	Figures  speed.Figures   `json:"figures"`
	Scalings []speed.Scaling `json:"scalings"`
	LeftOut  string          `json:"left_out"`
}

func (r *scalingResult) print(w io.Writer) error {
	fmt.Fprintf(w, "a model, not a measurement: %s, %d examples a step, %.0f tokens/s on one GPU\n", r.Figures.Model, r.Figures.Batch, r.Figures.TokensPerSecond)
	fmt.Fprintf(w, "%6s %11s %14s %11s %11s %11s %11s %11s\n", "GPUs", "ms/step", "tokens/s", "efficiency", "computing", "waiting", "sending", "updating")
	for _, s := range r.Scalings {
		fmt.Fprintf(w, "%6d %11.1f %14.0f %9.1f %% %11.1f %11.1f %11.1f %11.1f\n", s.GPUs, s.Step, s.Tokens, 100*s.Efficiency, s.Compute, s.Waiting, s.Communication, s.Optimizer)
	}
	_, err := fmt.Fprintf(w, "not in the model: %s\n", r.LeftOut)
	return err
}

// A benchResult is the output of bench.
type benchResult speed.Result

func (b *benchResult) print(w io.Writer) error {
	on := fmt.Sprintf("%d threads", b.Threads)
	if b.Device != "cpu" {
		on = fmt.Sprintf("%s in %s", b.Device, b.Precision)
	}
	fmt.Fprintf(w, "%s on %s: %.0f tokens/s, %.1f examples/s; %.0f tokens per second of processor time\n",
		b.Model, on, b.Tokens, b.Sequences, b.TokensCPU)
	fmt.Fprintf(w, "a step: %.1f ms, %.1f ms of processor time, %.0f tokens\n", b.StepMillis, b.StepCPU, b.StepTokens)
	part := ""
	if b.Peak > 0 {
		part = fmt.Sprintf(", %.0f %% of a matrix product's %.1f", 100*b.MFU, b.Peak/1e9)
	}
	if err := printModelTime(w, b.ModelTime); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%.1f GFLOP/s of the model%s\n", b.Operations/1e9, part)
	if b.Loader > 0 {
		_, err = fmt.Fprintf(w, "reading: %.0f MB/s of records, %.0f MB per second of processor time\n", b.Loader/1e6, b.LoaderCPU/1e6)
	}
	for _, f := range b.First {
		_, err = fmt.Fprintf(w, "first batch at position %d: %.2f s after the folder was opened, %.2f s of processor time\n", f.Position, f.Seconds, f.CPU)
	}
	return err
}
