package finetune

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"pretext/trainer"
)

// Examples are the examples of a task, in input order.
type Examples interface {
	// Len returns the number of examples.
	Len() int
	// Tokens returns the number of tokens of example i in a batch.
	Tokens(i int) int
	// Append appends example i to b, with the labels of the task's head.
	// position is the position in the run; the dropout masks depend on it.
	Append(b *trainer.Batch, i int, position int64)
}

// SourceOptions configures a [Source].
type SourceOptions struct {
	Seed             uint64        // seed of the order
	MicroBatchTokens int           // maximum tokens of a micro-batch; at least the longest example
	Heads            trainer.Heads // heads of the model; they determine the counts of a micro-batch
	Rank, Ranks      int           // number of this process, number of processes; Ranks 0 means 1

	// MicroBatchMultiple: the number of micro-batches of a step is a multiple
	// of this number, if the step has enough examples; see [trainer.Cut]. 0
	// means 1.
	MicroBatchMultiple int
}

// A Source is a [trainer.Source]: the training order of a fine-tuning run.
type Source struct {
	examples Examples
	o        SourceOptions
	epoch    int64   // epoch of perm; -1: none
	perm     []int32 // maps an index in the epoch to an example
	batch    trainer.Batch
}

var _ trainer.Source = (*Source)(nil)

// NewSource returns the training order for a run over examples.
func NewSource(examples Examples, o SourceOptions) (*Source, error) {
	if o.Ranks == 0 {
		o.Ranks = 1
	}
	if o.MicroBatchMultiple == 0 {
		o.MicroBatchMultiple = 1
	}
	n := examples.Len()
	if n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("fine-tuning order: %d examples: must be from 1 to %d", n, math.MaxInt32)
	}
	if o.Rank < 0 || o.Rank >= o.Ranks {
		return nil, fmt.Errorf("fine-tuning order: rank %d of %d", o.Rank, o.Ranks)
	}
	return &Source{examples: examples, o: o, epoch: -1}, nil
}

// Len returns the number of examples in an epoch.
func (s *Source) Len() int64 { return int64(s.examples.Len()) }

// Step returns this rank's part of the examples at positions [position,
// position+sequences).
func (s *Source) Step(position int64, sequences int) (trainer.Share, error) {
	if position < 0 || sequences < 1 || position > math.MaxInt64-int64(sequences) {
		return trainer.Share{}, fmt.Errorf("step of %d examples at position %d: not a step", sequences, position)
	}
	at := make([]int32, sequences)
	lengths := make([]int32, sequences)
	for i := range at {
		at[i] = s.example(position + int64(i))
		lengths[i] = int32(s.examples.Tokens(int(at[i])))
	}
	cuts, err := trainer.Cut(lengths, s.o.MicroBatchTokens, s.o.MicroBatchMultiple)
	if err != nil {
		return trainer.Share{}, fmt.Errorf("step at position %d: %w", position, err)
	}
	mine := trainer.Deal(lengths, cuts, s.o.Ranks)[s.o.Rank]
	share := trainer.Share{Batches: s.batches(step{position, at, cuts, mine})}
	for b := range share.Batches {
		share.MicroBatches++
		share.Counts = share.Counts.Add(b.Counts(s.o.Heads))
	}
	return share, nil
}

// A step holds the examples of one training step and their micro-batches.
type step struct {
	position int64   // of the first example
	at       []int32 // number of the example at each position
	cuts     []int   // see [trainer.Cut]
	mine     []int   // this rank's micro-batches
}

// batches yields this rank's micro-batches of a step.
func (s *Source) batches(d step) iter.Seq2[*trainer.Batch, error] {
	return func(yield func(*trainer.Batch, error) bool) {
		for _, j := range d.mine {
			s.batch.Reset()
			for i := d.cuts[j]; i < d.cuts[j+1]; i++ {
				s.examples.Append(&s.batch, int(d.at[i]), d.position+int64(i))
			}
			if !yield(&s.batch, nil) {
				return
			}
		}
	}
}

// example returns the number of the example at a position.
func (s *Source) example(position int64) int32 {
	epoch, index := trainer.Epoch(position, s.Len())
	if epoch != s.epoch {
		var key [32]byte
		copy(key[:8], "finetune")
		binary.LittleEndian.PutUint64(key[8:], s.o.Seed)
		binary.LittleEndian.PutUint64(key[16:], uint64(epoch))
		s.epoch, s.perm = epoch, trainer.Permutation(key, s.examples.Len())
	}
	return s.perm[index]
}

// A Recipe is the schedule of run_squad.py and run_classifier.py of
// google-research/bert: a number of epochs, a fraction of the steps for
// warm-up, and a learning rate that decays linearly to zero.
type Recipe struct {
	Rate   float64 `json:"learning_rate"`
	Batch  int     `json:"train_batch_size"`
	Epochs float64 `json:"num_train_epochs"`
	Warmup float64 `json:"warmup_proportion"` // fraction of all steps, from 0 to 1
}

// Validate reports every problem of r at once.
func (r Recipe) Validate() error {
	var errs []error
	if r.Batch < 1 || r.Batch > 1<<20 {
		errs = append(errs, fmt.Errorf("train_batch_size %d: must be from 1 to %d", r.Batch, 1<<20))
	}
	if !(r.Epochs >= 0 && r.Epochs <= 1e6) {
		errs = append(errs, fmt.Errorf("num_train_epochs %v: must be from 0 to 1000000", r.Epochs))
	}
	if !(r.Warmup >= 0 && r.Warmup <= 1) {
		errs = append(errs, fmt.Errorf("warmup_proportion %v: must be from 0 to 1", r.Warmup))
	}
	if !(r.Rate >= 0 && r.Rate <= math.MaxFloat32) {
		errs = append(errs, fmt.Errorf("learning_rate %v: must be finite and not negative", r.Rate))
	}
	return errors.Join(errs...)
}

// Steps returns the number of steps for n examples. For SQuAD, n is the number
// of questions, as in run_squad.py, although a question may have several
// windows.
func (r Recipe) Steps(n int) int64 { return int64(float64(n) / float64(r.Batch) * r.Epochs) }

// Schedule returns the learning rate schedule for n examples.
func (r Recipe) Schedule(n int) trainer.Schedule {
	steps := r.Steps(n)
	return trainer.Schedule{Kind: trainer.Linear, Peak: r.Rate, Steps: steps, Warmup: float64(int64(float64(steps) * r.Warmup))}
}
