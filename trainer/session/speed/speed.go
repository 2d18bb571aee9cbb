// Package speed measures how fast a model trains on this machine, and how fast
// shards are read.
//
//	o := speed.DefaultOptions()
//	o.Model, o.Data = "tiny", "shards"
//	result, err := speed.Measure(ctx, o)
//	fmt.Println(result.Tokens, "tokens/s")
//
// Every measured model has initial weights, dropout and AdamW. Speeds are given per
// second of wall-clock time and per second of CPU time of the whole process. Other
// programs on the machine affect the speed per CPU second less.
package speed

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"time"

	"pretext/internal/failure"
	"pretext/internal/usage"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/loader"
	"pretext/trainer/session"
)

// Options configures [Measure]. Start from [DefaultOptions].
type Options struct {
	Model     string  // preset, or path of a config.json
	Data      string  // folder of shards whose train split is read; "": synthetic examples
	Vocab     string  // path of vocab.txt for shards that have none; "": the vocabulary of the shards
	Cache     string  // folder for cached data, as in [session.DataOptions]
	Batch     int     // examples per step
	Length    int     // tokens of a synthetic example, and of the sequences into which documents are cut
	VocabSize int     // size of the vocabulary of synthetic examples
	Rounds    int     // number of measurements; the result is their median
	Readers   int     // threads that read shards ahead
	Seconds   float64 // duration of a round

	MicroBatchTokens int // maximum tokens of a micro-batch, with Data; 0: chosen for the device
	Device           session.Device
	Masking          session.MaskOptions
}

// DefaultOptions returns options that measure BERT-tiny on synthetic examples for five
// seconds.
func DefaultOptions() Options {
	return Options{Model: "tiny", Batch: 8, Length: 128, VocabSize: 30522, Rounds: 5, Seconds: 1}
}

// A Result is the result of [Measure]. Each figure is the median of the rounds.
type Result struct {
	Model      string            `json:"model"`
	Device     string            `json:"device"`
	Precision  trainer.Precision `json:"precision"`
	Threads    int               `json:"threads"` // number of CPU threads
	Tokens     float64           `json:"tokens_per_second"`
	Sequences  float64           `json:"sequences_per_second"`
	TokensCPU  float64           `json:"tokens_per_cpu_second"` // tokens per second of CPU time
	StepMillis float64           `json:"step_ms"`
	StepCPU    float64           `json:"step_cpu_ms"`
	StepTokens float64           `json:"tokens_per_step"`
	Operations float64           `json:"flop_per_second"`                   // operations of the model per second, forward and backward; see [Operations]
	Peak       float64           `json:"peak_flop_per_second"`              // speed of the CPU's fastest matrix product; 0 on a GPU
	MFU        float64           `json:"mfu"`                               // Operations / Peak, the model FLOPs utilization
	Loader     float64           `json:"loader_bytes_per_second,omitempty"` // bytes of records that are read, checked and decoded per second
	LoaderCPU  float64           `json:"loader_bytes_per_cpu_second,omitempty"`

	First []FirstBatch `json:"first_batches,omitempty"`

	ModelTime *session.ModelTime `json:"model_time,omitempty"` // of one more step, if Device.Profile is set
}

// round returns the duration of one round.
func (o *Options) round() time.Duration { return time.Duration(o.Seconds * float64(time.Second)) }

func (o *Options) validate() error {
	if o.Batch < 1 || o.Length < 5 || o.Length > trainer.MaxPositions || o.VocabSize < 10 || o.Rounds < 1 || o.Readers < 0 || !(o.Seconds > 0 && o.Seconds < 3600) {
		return failure.Usagef("--train-batch-size, --rounds and --seconds must be above 0, --max-seq-length from 5 to %d, --vocab-size at least 10, --readers not negative", trainer.MaxPositions)
	}
	return nil
}

// Measure measures the speed of training. With o.Data it also measures how fast
// records are read, and how long the first batch takes. Invalid options return usage
// errors. With o.Device.Profile it also measures the kernels of one more step.
func Measure(ctx context.Context, o Options) (b *Result, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	device, err := o.Device.Open()
	if err != nil {
		return nil, err
	}
	return measure(ctx, o, device)
}

// measure is Measure on an open device, which it closes.
func measure(ctx context.Context, o Options, device *session.Opened) (b *Result, err error) {
	defer func() { err = errors.Join(err, device.Close()) }()
	config, err := o.config(ctx, device)
	if err != nil {
		return nil, err
	}
	steps, err := o.source(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, steps.close()) }()
	if steps.longest > config.MaxPositions {
		return nil, failure.Usagef("examples have up to %d tokens, the model %d positions", steps.longest, config.MaxPositions)
	}
	m, err := newModel(device, config, steps.heads, steps.limits)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	b = &Result{Model: o.Model, Device: device.Kind, Precision: device.Precision, Threads: o.Device.Threads}
	if b.Threads == 0 {
		b.Threads = runtime.GOMAXPROCS(0)
	}
	if b.Peak, err = device.Peak(o.round() / 2); err != nil {
		return nil, err
	}
	if err := b.train(ctx, o, m, steps); err != nil {
		return nil, err
	}
	if o.Device.Profile {
		if b.ModelTime, err = device.ModelTime(func() error {
			_, err := m.round(ctx, steps, 0)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if err := b.load(ctx, o, steps); err != nil || steps.source == nil {
		return b, err
	}
	return b, b.firstBatches(ctx, o, m.config, steps.source.Len())
}

// steps supplies the batches of one training step after another, from shards or
// from one synthetic batch.
type steps struct {
	source  *loader.Source // reads examples from shards; nil: synthetic examples
	bytes   int64          // size of the records of an epoch
	made    *trainer.Batch // synthetic batch that every step uses if source is nil
	heads   trainer.Heads
	limits  trainer.Options // of a micro-batch
	batch   int             // examples per step
	longest int             // tokens of the longest example
	at      int64           // position of the next step that is read, in examples
	ahead   *step           // the next step, if it is read already
}

// A step is the micro-batches of a training step, which are read as they are taken.
type step struct {
	share trainer.Share
	first *trainer.Batch // read ahead; nil: none
	pull  func() (*trainer.Batch, error, bool)
	stop  func()
	err   error // of reading
}

// read returns the next micro-batch; nil at the end, and after an error.
func (s *step) read() *trainer.Batch {
	if s.err != nil {
		return nil
	}
	b, err, ok := s.pull()
	if s.err = err; !ok || err != nil {
		return nil
	}
	return b
}

// batches yields the micro-batches. They end early with an error, which is err then.
func (s *step) batches() iter.Seq[*trainer.Batch] {
	return func(yield func(*trainer.Batch) bool) {
		defer s.stop()
		b := s.first
		if b == nil {
			b = s.read()
		}
		for ; b != nil && yield(b); b = s.read() {
		}
	}
}

// take returns the next step.
func (s *steps) take() *step {
	now := s.ahead
	if s.ahead = nil; now != nil {
		return now
	}
	now = &step{stop: func() {}}
	if now.share, now.err = s.next(); now.err == nil {
		now.pull, now.stop = iter.Pull2(now.share.Batches)
	}
	return now
}

// peek reads the first micro-batch of the next step, which take returns; nil: it could not
// be read, which its step tells.
func (s *steps) peek() *trainer.Batch {
	s.ahead = s.take()
	if s.ahead.first == nil {
		s.ahead.first = s.ahead.read()
	}
	return s.ahead.first
}

// drop forgets the step that is read ahead.
func (s *steps) drop() {
	if s.ahead != nil {
		s.ahead.stop()
		s.ahead = nil
	}
}

func (s *steps) close() error {
	s.drop()
	if s.source == nil {
		return nil
	}
	return s.source.Close()
}

// next begins to read the next step.
func (s *steps) next() (trainer.Share, error) {
	if s.source == nil {
		return trainer.Share{Counts: s.made.Counts(s.heads), MicroBatches: 1, Batches: func(yield func(*trainer.Batch, error) bool) { yield(s.made, nil) }}, nil
	}
	share, err := s.source.Step(s.at, s.batch)
	s.at += int64(s.batch)
	return share, err
}

// config returns the configuration of the model, with the size of the data's
// vocabulary. If o.MicroBatchTokens is 0, config sets it to what fits the device.
func (o *Options) config(ctx context.Context, device *session.Opened) (c trainer.Config, err error) {
	vocab, longest := o.VocabSize, o.Length
	var data *session.Corpus
	if o.Data != "" {
		if data, err = session.OpenCorpus(ctx, o.Data, sharding.Train, o.Vocab); err != nil {
			return c, err
		}
		vocab, longest = data.VocabSize(), data.Longest(o.Length)
	}
	if c, err = session.NamedConfig(o.Model, vocab); err != nil {
		return c, err
	}
	if data != nil {
		err = session.Fits(ctx, c, data)
	}
	if err != nil || o.MicroBatchTokens > 0 {
		return c, err
	}
	o.MicroBatchTokens, err = device.AutoTokens(c, c.PretrainHeads(), longest)
	return c, err
}

// source opens the shards, or makes a synthetic batch, and returns the training steps of a
// model.
func (o *Options) source(ctx context.Context, c trainer.Config) (*steps, error) {
	if o.Data == "" {
		b := madeUp(o.Batch, o.Length, o.VocabSize)
		return &steps{made: b, batch: o.Batch, longest: o.Length, heads: c.PretrainHeads(), limits: session.BatchLimits(b.Tokens(), max(o.Batch, loader.SweepSequences), 0)}, nil
	}
	source, data, err := session.OpenSource(ctx, c, session.DataOptions{Data: o.Data, Vocab: o.Vocab, Cache: o.Cache, Masking: o.Masking, MaxSeqLength: o.Length, Readers: o.Readers},
		session.StepOptions{Seed: 1, TrainBatchSize: o.Batch, MicroBatchTokens: o.MicroBatchTokens})
	if err != nil {
		return nil, err
	}
	s := &steps{source: source, batch: o.Batch, longest: data.Longest(o.Length), heads: data.Heads(c, false),
		limits: session.DataLimits(o.MicroBatchTokens, max(o.Batch, loader.SweepSequences), 0, data)}
	for _, f := range data.Shards().Files() {
		s.bytes += f.Bytes
	}
	return s, nil
}

// A sample is the measurement of one round.
type sample struct {
	wall, cpu         time.Duration
	steps, operations float64
	sums              trainer.Sums
}

// train measures the speed of training. It takes one step before measuring, because
// the first use of the model's memory is slow.
func (b *Result) train(ctx context.Context, o Options, m *model, steps *steps) error {
	if _, err := m.round(ctx, steps, 0); err != nil {
		return err
	}
	var samples []sample
	for range o.Rounds {
		s, err := m.round(ctx, steps, o.round())
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

// load measures the speed of reading shards. It does nothing for synthetic examples.
func (b *Result) load(ctx context.Context, o Options, steps *steps) error {
	if steps.source == nil {
		return nil
	}
	const batch = 256
	examples := int64(0)
	steps.drop()
	start, cpuStart := time.Now(), usage.CPU()
	for time.Since(start).Seconds() < o.Seconds {
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
