package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pretext/internal/failure"
	"pretext/internal/usage"
	"pretext/trainer"
	"pretext/trainer/loader"
	"pretext/trainer/session"
)

// benchOptions say what is measured.
type benchOptions struct {
	model, data, vocab string
	isa, cache         string
	batch, length      int
	vocabSize, rounds  int
	threads, readers   int
	seconds            float64
	masking            session.MaskOptions
}

func newBench() *cobra.Command {
	o := benchOptions{model: "tiny", batch: 8, length: 128, vocabSize: 30522, rounds: 5, seconds: 1}
	asJSON := false
	cmd := &cobra.Command{
		Use:   "bench [--model SIZE] [--data DIR]",
		Short: "Measure how fast a model trains here, and how fast shards are read",
		Long: `Trains a model for a few seconds, on made-up examples of full length or on
those of --data, and says tokens and examples a second, also of processor time,
which other programs at work disturb less; what share of the fastest matrix
product on this machine that is (model operations, forward and backward); and
with --data how many bytes of records a second are read, checked and decoded, and
how long it takes from opening the folder to the first batch, wherever that lies.
The median of the rounds is shown.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := bench(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			return b.print(cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.model, "model", o.model, "size, or a config.json")
	fs.StringVar(&o.data, "data", "", "shards to take examples from; default: made-up ones")
	fs.StringVar(&o.vocab, "vocab", "", "vocab.txt of records that have none beside them")
	addCache(fs, &o.cache, "none, compressed records cannot be read then")
	fs.IntVar(&o.batch, "train-batch-size", o.batch, "examples a step")
	fs.IntVar(&o.length, "max-seq-length", o.length, "tokens of a made-up example; a seventh of them is predicted, at most 20 of 128")
	fs.IntVar(&o.vocabSize, "vocab-size", o.vocabSize, "of a model without --data")
	fs.IntVar(&o.threads, "threads", 0, "threads that compute; 0: one a processor")
	fs.IntVar(&o.readers, "readers", 0, "threads that read ahead")
	fs.StringVar(&o.isa, "isa", "", "instruction set: avx512, avx2 or plain; default: the best there is")
	fs.IntVar(&o.rounds, "rounds", o.rounds, "rounds")
	fs.Float64Var(&o.seconds, "seconds", o.seconds, "time of a round")
	addMasking(fs, &o.masking)
	fs.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// A benchmark is what was measured.
type benchmark struct {
	Model      string  `json:"model"`
	Threads    int     `json:"threads"`
	Tokens     float64 `json:"tokens_per_second"`
	Sequences  float64 `json:"sequences_per_second"`
	TokensCPU  float64 `json:"tokens_per_cpu_second"`
	StepMillis float64 `json:"step_ms"`
	StepCPU    float64 `json:"step_cpu_ms"`
	StepTokens float64 `json:"tokens_per_step"`
	Operations float64 `json:"flop_per_second"`      // of the model
	Peak       float64 `json:"peak_flop_per_second"` // of a matrix product
	MFU        float64 `json:"mfu"`
	Loader     float64 `json:"loader_bytes_per_second,omitempty"`
	LoaderCPU  float64 `json:"loader_bytes_per_cpu_second,omitempty"`

	First []firstBatch `json:"first_batches,omitempty"`
}

func (b *benchmark) print(w io.Writer) error {
	fmt.Fprintf(w, "%s on %d threads: %.0f tokens/s, %.1f examples/s; %.0f tokens per second of processor time\n",
		b.Model, b.Threads, b.Tokens, b.Sequences, b.TokensCPU)
	fmt.Fprintf(w, "a step: %.1f ms, %.1f ms of processor time, %.0f tokens\n", b.StepMillis, b.StepCPU, b.StepTokens)
	_, err := fmt.Fprintf(w, "%.1f GFLOP/s of the model, %.0f %% of a matrix product's %.1f\n", b.Operations/1e9, 100*b.MFU, b.Peak/1e9)
	if b.Loader > 0 {
		_, err = fmt.Fprintf(w, "reading: %.0f MB/s of records, %.0f MB per second of processor time\n", b.Loader/1e6, b.LoaderCPU/1e6)
	}
	b.printFirst(w)
	return err
}

func (o *benchOptions) validate() error {
	if o.batch < 1 || o.length < 5 || o.length > 512 || o.vocabSize < 10 || o.rounds < 1 || o.threads < 0 || o.readers < 0 || !(o.seconds > 0 && o.seconds < 3600) {
		return failure.Usagef("--train-batch-size, --rounds and --seconds must be above 0, --max-seq-length from 5 to 512, --vocab-size at least 10, --threads and --readers not negative")
	}
	return nil
}

// bench measures.
func bench(ctx context.Context, o benchOptions) (b *benchmark, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	steps, vocab, err := o.source(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, steps.close()) }()
	config, err := session.NamedConfig(o.model, vocab)
	if err != nil {
		return nil, err
	}
	if steps.longest > config.MaxPositions {
		return nil, failure.Usagef("examples have up to %d tokens, the model %d positions", steps.longest, config.MaxPositions)
	}
	device := session.Device{Threads: o.threads, ISA: o.isa}
	m, err := newSpeedModel(device, config, steps.tokens)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	b = &benchmark{Model: o.model, Threads: o.threads}
	if b.Threads == 0 {
		b.Threads = runtime.GOMAXPROCS(0)
	}
	if b.Peak, err = device.Peak(time.Duration(o.seconds * float64(time.Second) / 2)); err != nil {
		return nil, err
	}
	if err := b.train(ctx, o, m, steps); err != nil {
		return nil, err
	}
	if err := b.load(ctx, o, steps); err != nil || steps.source == nil {
		return b, err
	}
	return b, b.firstBatches(ctx, o, steps.source.Len())
}

// benchSteps brings the steps of a benchmark.
type benchSteps struct {
	source  *loader.Source // nil: made up
	bytes   int64          // of the records of an epoch
	made    *trainer.Batch
	batch   int
	tokens  int // most of a micro-batch
	longest int
	at      int64
}

func (s *benchSteps) close() error {
	if s.source == nil {
		return nil
	}
	return s.source.Close()
}

// next returns the micro-batches of the next step.
func (s *benchSteps) next() (trainer.Share, error) {
	if s.source == nil {
		return trainer.Share{Counts: s.made.Counts(trainer.PretrainHeads()), Batches: func(yield func(*trainer.Batch, error) bool) { yield(s.made, nil) }}, nil
	}
	share, err := s.source.Step(s.at, s.batch)
	s.at += int64(s.batch)
	return share, err
}

// source returns the steps and the size of their vocabulary.
func (o *benchOptions) source(ctx context.Context) (*benchSteps, int, error) {
	if o.data == "" {
		b := madeUp(o.batch, o.length, o.vocabSize)
		return &benchSteps{made: b, batch: o.batch, tokens: b.Tokens(), longest: o.length}, o.vocabSize, nil
	}
	source, data, err := session.OpenSource(ctx, session.Options{Data: o.data, Vocab: o.vocab, Cache: o.cache, Masking: o.masking, Seed: 1, Readers: o.readers})
	if err != nil {
		return nil, 0, err
	}
	s := &benchSteps{source: source, batch: o.batch, longest: data.Shards().MaxSeqLength()}
	s.tokens = max(session.SourceTokens, s.longest)
	for _, f := range data.Shards().Files() {
		s.bytes += f.Bytes
	}
	return s, data.VocabSize(), nil
}

// A sample is one round.
type sample struct {
	wall, cpu         time.Duration
	steps, operations float64
	sums              trainer.Sums
}

// train fills in what training reaches. A first step, which is the first to
// touch the model's memory, is not counted.
func (b *benchmark) train(ctx context.Context, o benchOptions, m *speedModel, steps *benchSteps) error {
	if _, err := m.round(ctx, steps, 0); err != nil {
		return err
	}
	var samples []sample
	for range o.rounds {
		s, err := m.round(ctx, steps, time.Duration(o.seconds*float64(time.Second)))
		if err != nil {
			return err
		}
		samples = append(samples, s)
	}
	median := func(f func(s sample) float64) float64 {
		var v []float64
		for _, s := range samples {
			v = append(v, f(s))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	b.Tokens = median(func(s sample) float64 { return session.PerSecond(s.sums.Tokens, s.wall) })
	b.Sequences = median(func(s sample) float64 { return session.PerSecond(s.sums.Sequences, s.wall) })
	b.TokensCPU = median(func(s sample) float64 { return session.PerSecond(s.sums.Tokens, s.cpu) })
	b.StepMillis = median(func(s sample) float64 { return 1e3 * s.wall.Seconds() / s.steps })
	b.StepCPU = median(func(s sample) float64 { return 1e3 * s.cpu.Seconds() / s.steps })
	b.StepTokens = median(func(s sample) float64 { return s.sums.Tokens / s.steps })
	b.Operations = median(func(s sample) float64 { return session.PerSecond(s.operations, s.wall) })
	b.MFU = session.Fraction(b.Operations, b.Peak)
	return nil
}

// load fills in what reading reaches, when there is something to read.
func (b *benchmark) load(ctx context.Context, o benchOptions, steps *benchSteps) error {
	if steps.source == nil {
		return nil
	}
	const batch = 256
	examples := int64(0)
	start, cpuStart := time.Now(), usage.CPU()
	for time.Since(start).Seconds() < o.seconds {
		if err := ctx.Err(); err != nil {
			return err
		}
		share, err := steps.source.Step(steps.at, batch)
		if err != nil {
			return err
		}
		for _, err := range share.Batches {
			if err != nil {
				return err
			}
		}
		steps.at += batch
		examples += batch
	}
	bytes := float64(steps.bytes) / float64(steps.source.Len()) * float64(examples)
	b.Loader, b.LoaderCPU = session.PerSecond(bytes, time.Since(start)), session.PerSecond(bytes, usage.CPU()-cpuStart)
	return nil
}
