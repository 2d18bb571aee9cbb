package loader

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"pretext/records"
	"pretext/sharding"
	"pretext/trainer"
)

// SourceOptions configures the training order and its micro-batches. All fields
// except Positions, Rank, Ranks and Readers affect which examples a step uses or how
// the examples are grouped.
type SourceOptions struct {
	// Seed of the shuffles.
	Seed int64 `json:"seed"`

	// MicroBatchTokens is the maximum number of tokens in a micro-batch; at
	// least the longest example.
	MicroBatchTokens int `json:"micro_batch_tokens"`

	// MicroBatchMultiple: the number of micro-batches of a step is a multiple
	// of this number, if the step has enough examples; see [trainer.Cut]. 0
	// means 1.
	MicroBatchMultiple int `json:"micro_batch_multiple"`

	// WindowSpans is the number of spans of 16 MiB in a window, whose records
	// are shuffled together. A Source holds about one window in memory. 0 means
	// 8; at most 1024.
	WindowSpans int `json:"window_spans"`

	// MaxSeqLength is the maximum number of tokens, with [CLS] and [SEP], of the
	// sequences into which documents are cut. Documents
	// ([records.Form.Documents]) need it; other records ignore it.
	MaxSeqLength int `json:"max_seq_length,omitempty"`

	// Positions is the model's maximum sequence length. A longer sequence ends the
	// run with a usage error, even with Quarantine; 0: no maximum.
	Positions int `json:"-"`

	// AttendAcross makes a packed row ([records.Form.Rows]) one sequence, so
	// tokens attend to other documents in the row. Otherwise each piece of the
	// row is a sequence.
	AttendAcross bool `json:"attend_across,omitempty"`

	// Heads of the model; they determine which [trainer.Counts] are summed.
	Heads trainer.Heads `json:"heads"`

	// Rules that every example must satisfy, in addition to the lengths in the
	// manifest. Set VocabSize to detect a vocabulary of another size. CLS and
	// SEP begin and end the sequences of documents. [NewSource] sets Form.
	Rules records.Rules `json:"rules"`

	// Rank is the number of this process, Ranks the number of processes; Ranks
	// 0 means 1.
	Rank  int `json:"-"`
	Ranks int `json:"-"`

	// Readers is the number of goroutines that decode examples, one step ahead.
	// 0 means that [Source.Step] itself reads. It does not affect examples or
	// order.
	Readers int `json:"-"`

	// Masking, if not nil, replaces the masks of the records. Records of a form
	// without masks need it.
	Masking *Masking `json:"masking,omitempty"`

	// Quarantine is called for an example that is corrupt or violates a rule,
	// on every rank, each time that its position is reached. If Quarantine
	// returns nil, the example is skipped and its position stays empty (a hole);
	// an error ends the run. If Quarantine is nil, every bad example ends the run.
	//
	// After a corrupt length, all examples up to the next index block (64 KiB)
	// are bad, because their start is unknown.
	//
	// If a file had an unreadable tail when it was indexed, [NewSource] calls
	// Quarantine with a [*TailError]. If Quarantine returns nil, the file is used
	// without its tail. The number of lost examples is unknown, so they have no
	// positions.
	Quarantine func(bad error) error `json:"-"`
}

// defaultWindowSpans gives 128 MiB, about 150,000 examples of 128 tokens.
const defaultWindowSpans = 8

// maxReaders is the maximum of SourceOptions.Readers, more than any machine can use.
const maxReaders = 256

// maxWindowSpans gives 16 GiB; record numbers in a window have 32 bits.
const maxWindowSpans = 1024

func (o SourceOptions) validate() error {
	var errs []error
	if o.MicroBatchTokens < 1 {
		errs = append(errs, fmt.Errorf("micro_batch_tokens %d: must be at least 1", o.MicroBatchTokens))
	}
	if o.WindowSpans < 0 || o.WindowSpans > maxWindowSpans {
		errs = append(errs, fmt.Errorf("window_spans %d: must be from 0 to %d", o.WindowSpans, maxWindowSpans))
	}
	if o.MicroBatchMultiple < 0 {
		errs = append(errs, fmt.Errorf("micro_batch_multiple %d: must not be negative", o.MicroBatchMultiple))
	}
	if o.Rank < 0 || o.Rank >= o.Ranks {
		errs = append(errs, fmt.Errorf("rank %d: must be from 0 to %d - 1", o.Rank, o.Ranks))
	}
	if o.Readers < 0 || o.Readers > maxReaders {
		errs = append(errs, fmt.Errorf("readers %d: must be from 0 to %d", o.Readers, maxReaders))
	}
	if o.Masking != nil {
		errs = append(errs, o.Masking.Validate())
	}
	return errors.Join(errs...)
}

// A Source is a [trainer.Source] that supplies the examples in training order.
// Positions count examples over all epochs. An example is a record, a packed row or
// a sequence of a document. A position is the same example for any number of ranks
// or readers, any batch size, and after resuming. A Source must not be used by
// several goroutines at once. Close it after use.
type Source struct {
	ctx     context.Context // cancels all reading
	opts    SourceOptions
	index   *Index
	length  int64 // number of examples in an epoch
	order   order
	window  trainWindow
	readers []*reader // at least 1

	step, ahead *stepData          // the step in use, and the one read ahead
	reading     chan struct{}      // closed when ahead is complete; nil: nothing is read ahead
	lengths     []int32            // of the step in use
	sequences   []trainer.Sequence // of the step in use, without holes
	batch       trainer.Batch
}

// NewSource returns the training order of shards. ctx cancels all later
// reading.
func NewSource(ctx context.Context, shards *Shards, opts SourceOptions) (*Source, error) {
	if opts.Ranks == 0 {
		opts.Ranks = 1
	}
	if opts.MicroBatchMultiple == 0 {
		opts.MicroBatchMultiple = 1
	}
	if opts.WindowSpans == 0 {
		opts.WindowSpans = defaultWindowSpans
	}
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("training order: %w", err)
	}
	if m := opts.Masking; m != nil { // the vocabulary must contain the ids that masking uses
		opts.Rules.VocabSize, opts.Rules.CLS, opts.Rules.SEP = m.Vocab.Size, m.Vocab.CLS, m.Vocab.SEP
	}
	opts.Rules.Form = shards.form
	if err := opts.suit(shards.form); err != nil {
		return nil, fmt.Errorf("%s: %w", shards.folder, err)
	}
	index, err := opts.index(ctx, shards)
	if err != nil {
		return nil, err
	}
	s := &Source{ctx: ctx, opts: opts, index: index, length: index.sequences(),
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

// index returns the index of the shards. For documents it also counts their
// sequences.
func (o SourceOptions) index(ctx context.Context, shards *Shards) (*Index, error) {
	x, err := shards.index(ctx, o.Quarantine)
	if err != nil {
		return nil, err
	}
	if x.Len() == 0 {
		return nil, fmt.Errorf("%s %w: its files are empty", shards.folder, sharding.ErrNoShards)
	}
	if shards.form.Documents() {
		err = x.countSequences(ctx, cutter{form: shards.form, most: o.MaxSeqLength - 2})
	}
	return x, err
}

// suit returns an error if the options do not suit records of a form.
func (o SourceOptions) suit(form records.Form) error {
	switch {
	case !form.Masks() && o.Masking == nil:
		return fmt.Errorf("records of the form %s have no masks: set Masking", form)
	case form.Documents() && (o.MaxSeqLength < 3 || o.MaxSeqLength > o.MicroBatchTokens):
		return fmt.Errorf("max_seq_length %d: must be from 3 to the %d tokens of a micro-batch", o.MaxSeqLength, o.MicroBatchTokens)
	case o.AttendAcross && !form.Rows():
		return fmt.Errorf("attend_across: applies only to rows of pieces, these records are of the form %s", form)
	}
	return nil
}

// Len returns the number of examples in an epoch.
func (s *Source) Len() int64 { return s.length }

// Close waits until reading ahead has stopped. Call it before removing the
// files.
func (s *Source) Close() error {
	s.wait()
	return nil
}

// wait waits until reading ahead has stopped, and reports whether it was
// running.
func (s *Source) wait() bool {
	if s.reading == nil {
		return false
	}
	<-s.reading
	s.reading = nil
	return true
}

// maxPosition is the limit for positions of packed rows: they have 48 bits. The bits
// above hold the number of the piece in the row ([part.addRow]).
const maxPosition = 1 << 48

// Step returns this rank's part of the examples at [position,
// position+sequences). It reads all of them, because the micro-batches depend
// on every length, and holds them until the next call. With
// [SourceOptions.Readers] it then starts to read the next step.
func (s *Source) Step(position int64, sequences int) (trainer.Share, error) {
	most := int64(math.MaxInt64)
	if s.opts.Rules.Form.Rows() {
		most = maxPosition
	}
	if position < 0 || sequences < 1 || position > most-2*int64(sequences) {
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

// readAhead starts to read a step. Until wait returns, only its goroutine uses
// the order, the window, the readers and s.ahead.
func (s *Source) readAhead(position int64, sequences int) {
	done := make(chan struct{})
	s.reading = done
	go func() {
		defer close(done)
		s.fill(s.ahead, position, sequences)
	}()
}

// share divides the step in use into micro-batches and returns this rank's
// part.
func (s *Source) share(position int64) (trainer.Share, error) {
	cuts, err := trainer.Cut(s.lengths, s.opts.MicroBatchTokens, s.opts.MicroBatchMultiple)
	if err != nil {
		return trainer.Share{}, fmt.Errorf("step at position %d: %w", position, err)
	}
	mine := trainer.Deal(s.lengths, cuts, s.opts.Ranks)[s.opts.Rank]
	return trainer.Share{Counts: s.counts(cuts, mine), MicroBatches: len(mine), Batches: s.batches(cuts, mine)}, nil
}

// counts returns the sum of [trainer.Batch.Counts] over this rank's
// micro-batches, without building them.
func (s *Source) counts(cuts, mine []int) (c trainer.Counts) {
	for _, j := range mine {
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

// SweepSequences is the number of examples that [Source.Sweep] reads at once, and so
// the maximum number of sequences in its batches.
const SweepSequences = 256

// Sweep yields this rank's micro-batches of the first n examples of epoch 0, for
// [trainer.Evaluate]. If n exceeds the epoch, it yields all examples. The order is
// shuffled, so the examples are a random sample.
func (s *Source) Sweep(n int64) iter.Seq2[*trainer.Batch, error] {
	return func(yield func(*trainer.Batch, error) bool) {
		n := min(n, s.Len())
		for p := int64(0); p < n; p += SweepSequences {
			share, err := s.Step(p, int(min(SweepSequences, n-p)))
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
func (s *Source) batches(cuts, mine []int) iter.Seq2[*trainer.Batch, error] {
	return func(yield func(*trainer.Batch, error) bool) {
		for _, j := range mine {
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
