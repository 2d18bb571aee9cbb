package loader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"pretext/records"
	"pretext/trainer"
)

// SourceOptions says how examples become the batches of a training run. All of
// them but Rank decide which examples a step sees or how they are cut.
type SourceOptions struct {
	// Seed of the order.
	Seed int64 `json:"seed"`

	// MicroBatchTokens is the most tokens in a micro-batch; at least the
	// longest example.
	MicroBatchTokens int `json:"micro_batch_tokens"`

	// WindowSpans is how many spans of 16 MiB records are shuffled in, and
	// about what a Source holds of them in memory; 0 means 8, at most 1024.
	WindowSpans int `json:"window_spans"`

	// Heads of the model: what a micro-batch is counted for.
	Heads trainer.Heads `json:"heads"`

	// Rules that every example must satisfy, beyond the lengths that the
	// manifest says. A vocabulary of another size is found out by VocabSize.
	Rules records.Rules `json:"rules"`

	// Rank of this process, and number of ranks; Ranks 0 means 1.
	Rank  int `json:"-"`
	Ranks int `json:"-"`

	// Quarantine is called for an example that is damaged or breaks a rule,
	// on every rank, each time that its turn comes. When it returns nil the example is left out and keeps its
	// position as a hole; its error ends the run. Nil means that every bad
	// example ends the run, as a damaged length does in any case: what follows
	// it cannot be found.
	Quarantine func(bad error) error `json:"-"`
}

// defaultWindowSpans keeps 128 MiB, about 150,000 examples of 128 tokens.
const defaultWindowSpans = 8

// maxWindowSpans is 16 GiB: the records of a window are numbered in 32 bits.
const maxWindowSpans = 1024

func (o SourceOptions) validate() error {
	var errs []error
	if o.MicroBatchTokens < 1 {
		errs = append(errs, fmt.Errorf("micro_batch_tokens %d: must be at least 1", o.MicroBatchTokens))
	}
	if o.WindowSpans < 0 || o.WindowSpans > maxWindowSpans {
		errs = append(errs, fmt.Errorf("window_spans %d: must be from 0 to %d", o.WindowSpans, maxWindowSpans))
	}
	if o.Rank < 0 || o.Rank >= o.Ranks {
		errs = append(errs, fmt.Errorf("rank %d of %d: must be from 0 to one less", o.Rank, o.Ranks))
	}
	return errors.Join(errs...)
}

// A Source is the order of a training run: a [trainer.Source]. Positions count
// examples over all epochs, and a position stands for the same example whatever
// the number of ranks, the batch, or where a run was resumed. It is for one
// goroutine.
type Source struct {
	ctx    context.Context // ends the reading of every step
	opts   SourceOptions
	index  *Index
	order  order
	window trainWindow
	step   stepData
	batch  trainer.Batch
}

// NewSource returns the training order of shards. ctx ends all later reading.
func NewSource(ctx context.Context, shards *Shards, opts SourceOptions) (*Source, error) {
	if opts.Ranks == 0 {
		opts.Ranks = 1
	}
	if opts.WindowSpans == 0 {
		opts.WindowSpans = defaultWindowSpans
	}
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("training order: %w", err)
	}
	index, err := shards.Index(ctx)
	if err != nil {
		return nil, err
	}
	if index.Len() == 0 {
		return nil, fmt.Errorf("%s %w: its files are empty", shards.folder, ErrNoShards)
	}
	return &Source{ctx: ctx, opts: opts, index: index,
		order:  order{seed: opts.Seed, spans: index.spans(spanBytes), window: opts.WindowSpans, epoch: -1},
		window: trainWindow{number: -1}}, nil
}

// Len returns the number of examples in an epoch.
func (s *Source) Len() int64 { return s.index.Len() }

// stepData is the examples of a step, decoded and without padding, one behind
// the other: they are counted before the first batch is built.
type stepData struct {
	lengths   []int32            // of each sequence
	sequences []trainer.Sequence // slices of the arrays below; holes are left out
	ints      []int32
	weights   []float32
	example   records.Example
	frame     []byte
}

// Step returns this rank's share of the examples at [position,
// position+sequences): it reads all of them, since where micro-batches are cut
// depends on every length, and holds them until the next call.
func (s *Source) Step(position int64, sequences int) (trainer.Share, error) {
	if position < 0 || sequences < 1 || position > math.MaxInt64-int64(sequences) {
		return trainer.Share{}, fmt.Errorf("step of %d examples at position %d: not a step", sequences, position)
	}
	d := &s.step
	d.lengths, d.sequences, d.ints, d.weights = d.lengths[:0], d.sequences[:0], d.ints[:0], d.weights[:0]
	for p := position; p < position+int64(sequences); p++ {
		if err := s.read(p); err != nil {
			return trainer.Share{}, err
		}
	}
	cuts, err := trainer.Cut(d.lengths, s.opts.MicroBatchTokens)
	if err != nil {
		return trainer.Share{}, fmt.Errorf("step at position %d: %w", position, err)
	}
	share := trainer.Share{Batches: s.batches(cuts)}
	for b := range share.Batches {
		share.Counts = share.Counts.Add(b.Counts(s.opts.Heads))
	}
	return share, nil
}

// sweepSequences is how many examples a sweep reads at a time.
const sweepSequences = 256

// Sweep yields this rank's micro-batches of the first examples of epoch 0, n of
// them or all: what [trainer.Evaluate] takes. Since the order is shuffled, few
// are a sample of all.
func (s *Source) Sweep(n int64) iter.Seq2[*trainer.Batch, error] {
	return func(yield func(*trainer.Batch, error) bool) {
		n := min(n, s.Len())
		for p := int64(0); p < n; p += sweepSequences {
			share, err := s.Step(p, int(min(sweepSequences, n-p)))
			if err != nil {
				yield(nil, err)
				return
			}
			for b, err := range share.Batches {
				if !yield(b, err) {
					return
				}
			}
		}
	}
}

// batches yields this rank's micro-batches of the step.
func (s *Source) batches(cuts []int) iter.Seq2[*trainer.Batch, error] {
	return func(yield func(*trainer.Batch, error) bool) {
		for j := range len(cuts) - 1 {
			if !trainer.Mine(j, s.opts.Rank, s.opts.Ranks) {
				continue
			}
			s.batch.Reset()
			for i := cuts[j]; i < cuts[j+1]; i++ {
				s.batch.Append(s.step.sequences[i])
			}
			if !yield(&s.batch, nil) {
				return
			}
		}
	}
}

// read appends the example at a position to the step, unless it is quarantined.
func (s *Source) read(position int64) error {
	in, err := s.load(position)
	if err != nil {
		return err // not the example's fault
	}
	record := Record{Example: &s.step.example}
	bad := s.window.at(s.index, in, &record, &s.step.frame)
	if bad == nil {
		bad = s.check(record)
	}
	switch {
	case bad == nil:
		s.step.add(position)
		return nil
	case s.opts.Quarantine == nil:
		return bad
	}
	return s.opts.Quarantine(bad) // nothing is appended: its position is a hole
}

// load reads the window of a position and returns the index in it.
func (s *Source) load(position int64) (in int64, err error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	epoch, index := trainer.Epoch(position, s.index.Len())
	s.order.layOut(epoch)
	window, in := s.order.find(index)
	return in, s.window.load(s.ctx, s.index, &s.order, window)
}

// check returns what is wrong with an example.
func (s *Source) check(r Record) error {
	if err := s.opts.Rules.Check(r.Example); err != nil {
		return r.fault(err)
	}
	if n := r.Example.Tokens(); n > s.opts.MicroBatchTokens {
		return r.fault(fmt.Errorf("%d tokens do not fit into micro-batches of %d", n, s.opts.MicroBatchTokens))
	}
	return nil
}

// add appends the decoded example to the step.
func (d *stepData) add(position int64) {
	e := &d.example
	n, m := e.Tokens(), e.Predictions()
	d.lengths = append(d.lengths, int32(n))
	seq := trainer.Sequence{Position: position, NSPLabel: e.NextSentenceLabel}
	d.ints, seq.IDs = appendPart(d.ints, e.InputIDs[:n])
	d.ints, seq.Segments = appendPart(d.ints, e.SegmentIDs[:n])
	d.ints, seq.MaskedPositions = appendPart(d.ints, e.MaskedLMPositions[:m])
	d.ints, seq.MaskedIDs = appendPart(d.ints, e.MaskedLMIDs[:m])
	d.weights, seq.MaskedWeights = appendPart(d.weights, e.MaskedLMWeights[:m])
	d.sequences = append(d.sequences, seq)
}

// appendPart appends values to dst and returns the part that holds them. When
// dst grows, parts handed out before keep the old array, which does not change
// before the next step.
func appendPart[T any](dst, values []T) (grown, part []T) {
	start := len(dst)
	dst = append(dst, values...)
	return dst, dst[start:len(dst):len(dst)]
}
