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

	// Readers is how many goroutines decode examples, a step ahead of the one
	// in use. 0 reads in the calling goroutine when a step is asked for, as a
	// library should unless told otherwise. It decides no example and no order.
	Readers int `json:"-"`

	// Masking, where it is not nil, replaces the masks of the records.
	Masking *Masking `json:"masking,omitempty"`

	// Quarantine is called for an example that is damaged or breaks a rule,
	// on every rank, each time that its turn comes. When it returns nil the example is left out and keeps its
	// position as a hole; its error ends the run. Nil means that every bad
	// example ends the run. Behind a damaged length all examples up to the next
	// block of the index, 64 KiB, are bad: where they begin is not known. Of a
	// file that was indexed with the damage in it, all that is behind is lost:
	// [NewSource] calls with a [*TailError] then, and nil means that the file is as
	// long as what lies before. How many examples are lost nobody knows, so
	// these have no positions.
	Quarantine func(bad error) error `json:"-"`
}

// defaultWindowSpans keeps 128 MiB, about 150,000 examples of 128 tokens.
const defaultWindowSpans = 8

// maxReaders is more than any machine has use for.
const maxReaders = 256

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
	if o.Readers < 0 || o.Readers > maxReaders {
		errs = append(errs, fmt.Errorf("readers %d: must be from 0 to %d", o.Readers, maxReaders))
	}
	if o.Masking != nil {
		errs = append(errs, o.Masking.Validate())
	}
	return errors.Join(errs...)
}

// A Source is the order of a training run: a [trainer.Source]. Positions count
// examples over all epochs, and a position stands for the same example whatever
// the number of ranks or readers, the batch, or where a run was resumed. It is
// for one goroutine; close it at the end.
type Source struct {
	ctx     context.Context // ends the reading of every step
	opts    SourceOptions
	index   *Index
	order   order
	window  trainWindow
	readers []*reader // at least 1

	step, ahead *stepData          // the one in use, and the one being read
	reading     chan struct{}      // closed when ahead is read; nil: it is not
	lengths     []int32            // of the step in use
	sequences   []trainer.Sequence // likewise, without holes
	batch       trainer.Batch
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
	if m := opts.Masking; m != nil { // what it asks the vocabulary about must be in it
		opts.Rules.VocabSize, opts.Rules.CLS, opts.Rules.SEP = m.Vocab.Size, m.Vocab.CLS, m.Vocab.SEP
	}
	index, err := shards.index(ctx, opts.Quarantine)
	if err != nil {
		return nil, err
	}
	if index.Len() == 0 {
		return nil, fmt.Errorf("%s %w: its files are empty", shards.folder, ErrNoShards)
	}
	s := &Source{ctx: ctx, opts: opts, index: index,
		order:  order{seed: opts.Seed, spans: index.spans(spanBytes), window: opts.WindowSpans, epoch: -1},
		window: trainWindow{number: -1}, step: &stepData{}, ahead: &stepData{}}
	for range max(1, opts.Readers) {
		r := &reader{}
		if opts.Masking != nil {
			r.masker = newMasker(*opts.Masking)
		}
		s.readers = append(s.readers, r)
	}
	return s, nil
}

// Len returns the number of examples in an epoch.
func (s *Source) Len() int64 { return s.index.Len() }

// Close waits for what is being read ahead. It must be called before the files
// are removed.
func (s *Source) Close() error {
	s.wait()
	return nil
}

// wait ends when nothing is being read, and tells whether something was.
func (s *Source) wait() bool {
	if s.reading == nil {
		return false
	}
	<-s.reading
	s.reading = nil
	return true
}

// Step returns this rank's share of the examples at [position,
// position+sequences): it reads all of them, since where micro-batches are cut
// depends on every length, and holds them until the next call. With
// [SourceOptions.Readers] it then begins to read the step behind it.
func (s *Source) Step(position int64, sequences int) (trainer.Share, error) {
	if position < 0 || sequences < 1 || position > math.MaxInt64-2*int64(sequences) {
		return trainer.Share{}, fmt.Errorf("step of %d examples at position %d: not a step", sequences, position)
	}
	read := s.wait() && s.ahead.position == position && s.ahead.count == sequences
	s.step, s.ahead = s.ahead, s.step
	if !read {
		s.fill(s.step, position, sequences)
	}
	if err := s.settle(s.step); err != nil {
		return trainer.Share{}, err
	}
	s.lengths, s.sequences = s.step.lengths(s.lengths[:0]), s.step.sequences(s.sequences[:0])
	if s.opts.Readers > 0 {
		s.readAhead(position+int64(sequences), sequences)
	}
	return s.share(position)
}

// readAhead begins to read a step. Until wait returns, the goroutine alone uses
// the order, the window, the readers and s.ahead.
func (s *Source) readAhead(position int64, sequences int) {
	done := make(chan struct{})
	s.reading = done
	go func() {
		defer close(done)
		s.fill(s.ahead, position, sequences)
	}()
}

// share cuts the step in use.
func (s *Source) share(position int64) (trainer.Share, error) {
	cuts, err := trainer.Cut(s.lengths, s.opts.MicroBatchTokens)
	if err != nil {
		return trainer.Share{}, fmt.Errorf("step at position %d: %w", position, err)
	}
	return trainer.Share{Counts: s.counts(cuts), Batches: s.batches(cuts)}, nil
}

// counts returns what [trainer.Batch.Counts] would say of this rank's batches,
// without building them.
func (s *Source) counts(cuts []int) (c trainer.Counts) {
	for j := range len(cuts) - 1 {
		if !trainer.Mine(j, s.opts.Rank, s.opts.Ranks) {
			continue
		}
		for _, seq := range s.sequences[cuts[j]:cuts[j+1]] {
			if s.opts.Heads.MLM {
				for _, w := range seq.MaskedWeights {
					c.MaskedWeight += float64(w)
				}
			}
			if s.opts.Heads.NSP && seq.NSPLabel != trainer.NoLabel {
				c.NSP++
			}
		}
	}
	return c
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
				s.batch.Append(s.sequences[i])
			}
			if !yield(&s.batch, nil) {
				return
			}
		}
	}
}
