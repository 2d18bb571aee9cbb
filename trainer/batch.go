package trainer

import (
	"errors"
	"fmt"
	"math"
)

// NoLabel stands for a missing label. A sequence without a label for a head adds
// nothing to the loss of that head.
const NoLabel = -1

// A Batch is a set of sequences without padding: the tokens of all sequences
// are concatenated. Shapes below use T tokens, S sequences and M masked tokens.
//
//	IDs        [CLS] a [SEP] b [SEP] [CLS] c c [SEP] d d [SEP]    T = 12
//	CuSeqlens  0                     5                        12  S = 2
//
// Build a batch with [Batch.Append]. [Batch.Reset] empties it and keeps its
// memory.
type Batch struct {
	CuSeqlens []int32 // (S+1) sequence s has the tokens [CuSeqlens[s], CuSeqlens[s+1]); the first is 0
	IDs       []int32 // (T) token ids
	Segments  []int32 // (T) segment, 0 or 1
	Positions []int32 // (T) position in the sequence, from 0

	// Sequence is the global position of each sequence, counted over all
	// epochs. The dropout masks depend on it, so a sequence has the same masks
	// in any micro-batch, on any rank and after resuming.
	Sequence []int64 // (S)

	MaskedIndex   []int32   // (M) index of the masked token among the T tokens
	MaskedIDs     []int32   // (M) the original token
	MaskedWeights []float32 // (M) weight of the loss, usually 1

	NSPLabels []int32   // (S) 0: B follows A, 1: B is random; or NoLabel
	Labels    []int32   // (S) class, or NoLabel; empty without a classifier
	Scores    []float32 // (S) regression target, or NaN for none; empty without a regression
	Starts    []int32   // (S) index in the sequence of the answer's first token, or NoLabel; empty without a span head
	Ends      []int32   // (S) index in the sequence of the answer's last token, or NoLabel; empty without a span head

	// VisibleKeys, if not empty, limits attention: in sequence s, tokens attend
	// only to the first VisibleKeys[s] tokens. This models a padded batch:
	// padding tokens attend to others, but no token attends to them.
	// google-research/bert and transformers compute the span loss on padded
	// batches.
	VisibleKeys []int32 // (S)
}

// A Sequence is one example, in the form that [Batch.Append] takes.
type Sequence struct {
	IDs, Segments   []int32   // (T) without padding
	MaskedPositions []int32   // (M) positions of the masked tokens in the sequence
	MaskedIDs       []int32   // (M) original ids
	MaskedWeights   []float32 // (M) weights; entries of weight 0 are not added to the batch
	NSPLabel        int32     // 0, 1 or NoLabel
	Position        int64     // global position
}

// Tokens returns T.
func (b *Batch) Tokens() int { return len(b.IDs) }

// Sequences returns S.
func (b *Batch) Sequences() int { return max(0, len(b.CuSeqlens)-1) }

// Masked returns M.
func (b *Batch) Masked() int { return len(b.MaskedIndex) }

// Reset empties b and keeps its memory.
func (b *Batch) Reset() {
	*b = Batch{
		CuSeqlens: b.CuSeqlens[:0], IDs: b.IDs[:0], Segments: b.Segments[:0], Positions: b.Positions[:0], Sequence: b.Sequence[:0],
		MaskedIndex: b.MaskedIndex[:0], MaskedIDs: b.MaskedIDs[:0], MaskedWeights: b.MaskedWeights[:0],
		NSPLabels: b.NSPLabels[:0], Labels: b.Labels[:0], Scores: b.Scores[:0], Starts: b.Starts[:0], Ends: b.Ends[:0],
		VisibleKeys: b.VisibleKeys[:0],
	}
}

// Append adds a sequence. The caller itself appends the labels of fine-tuning
// heads to Labels, Scores, or Starts and Ends. Append does not check s;
// [Batch.Validate] does.
func (b *Batch) Append(s Sequence) {
	if len(b.CuSeqlens) == 0 {
		b.CuSeqlens = append(b.CuSeqlens, 0)
	}
	base := int32(len(b.IDs))
	b.IDs = append(b.IDs, s.IDs...)
	b.Segments = append(b.Segments, s.Segments...)
	for i := range s.IDs {
		b.Positions = append(b.Positions, int32(i))
	}
	b.CuSeqlens = append(b.CuSeqlens, int32(len(b.IDs)))
	b.Sequence = append(b.Sequence, s.Position)
	b.NSPLabels = append(b.NSPLabels, s.NSPLabel)
	for i, w := range s.MaskedWeights {
		if w == 0 || i >= len(s.MaskedPositions) || i >= len(s.MaskedIDs) {
			continue
		}
		b.MaskedIndex = append(b.MaskedIndex, base+s.MaskedPositions[i])
		b.MaskedIDs = append(b.MaskedIDs, s.MaskedIDs[i])
		b.MaskedWeights = append(b.MaskedWeights, w)
	}
}

// Counts returns what b adds to the step's counts, for the heads h.
func (b *Batch) Counts(h Heads) Counts {
	var c Counts
	if h.MLM {
		for _, w := range b.MaskedWeights {
			c.MaskedWeight += float64(w)
		}
	}
	if h.NSP {
		c.NSP = labelled(b.NSPLabels)
	}
	switch {
	case h.Labels > 0:
		c.Labels = labelled(b.Labels)
	case h.Regression:
		for _, s := range b.Scores {
			if !math.IsNaN(float64(s)) {
				c.Labels++
			}
		}
	case h.Span:
		c.Labels = labelled(b.Starts)
	}
	return c
}

func labelled(labels []int32) float64 {
	n := 0.0
	for _, l := range labels {
		if l != NoLabel {
			n++
		}
	}
	return n
}

// Validate checks that every index of b is in range for the model and that
// every field has the right length. Backends validate each batch, so that no
// input makes them access memory out of bounds.
func (b *Batch) Validate(c Config, h Heads) error {
	if err := b.validateTokens(c); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	if err := b.validateTargets(c, h); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	return nil
}

func (b *Batch) validateTokens(c Config) error {
	t, s := b.Tokens(), b.Sequences()
	if t > math.MaxInt32 {
		return fmt.Errorf("%d tokens: too many", t)
	}
	if s == 0 || b.CuSeqlens[0] != 0 || int(b.CuSeqlens[s]) != t {
		return fmt.Errorf("bounds of sequences: must run from 0 to the %d tokens", t)
	}
	if len(b.Segments) != t || len(b.Positions) != t || len(b.Sequence) != s {
		return errors.New("segments, positions or sequence numbers: wrong length")
	}
	for i := range s {
		if n := int(b.CuSeqlens[i+1]) - int(b.CuSeqlens[i]); n < 1 || n > c.MaxPositions {
			return fmt.Errorf("sequence %d: %d tokens, must be from 1 to %d", i, n, c.MaxPositions)
		}
	}
	if err := inRange("token id", b.IDs, 0, c.VocabSize); err != nil {
		return err
	}
	if c.Modern != nil && len(b.VisibleKeys) > 0 {
		return errors.New("visible keys: a ModernBERT model takes unpadded batches only, because padding may have no key in its window")
	}
	if c.Modern == nil { // ModernBERT ignores segments
		if err := inRange("segment", b.Segments, 0, c.Segments); err != nil {
			return err
		}
	}
	if err := inRange("position", b.Positions, 0, c.MaxPositions); err != nil {
		return err
	}
	return b.validateKeys()
}

func (b *Batch) validateKeys() error {
	if len(b.VisibleKeys) == 0 {
		return nil
	}
	if len(b.VisibleKeys) != b.Sequences() {
		return fmt.Errorf("visible keys: %d values for %d sequences", len(b.VisibleKeys), b.Sequences())
	}
	for i, k := range b.VisibleKeys {
		if k < 1 || k > b.CuSeqlens[i+1]-b.CuSeqlens[i] {
			return fmt.Errorf("sequence %d: %d visible keys, must be from 1 to its length", i, k)
		}
	}
	return nil
}

func (b *Batch) validateTargets(c Config, h Heads) error {
	var errs []error
	labels := func(on bool, name string, v []int32, n int) {
		if !on {
			return
		}
		if len(v) != b.Sequences() {
			errs = append(errs, fmt.Errorf("%s: %d for %d sequences", name, len(v), b.Sequences()))
			return
		}
		errs = append(errs, inRange(name, v, NoLabel, n))
	}
	labels(h.NSP, "next sentence label", b.NSPLabels, 2)
	labels(h.Labels > 0, "label", b.Labels, h.Labels)
	labels(h.Span, "start", b.Starts, c.MaxPositions)
	labels(h.Span, "end", b.Ends, c.MaxPositions)
	if h.Regression && len(b.Scores) != b.Sequences() {
		errs = append(errs, fmt.Errorf("scores: %d for %d sequences", len(b.Scores), b.Sequences()))
	}
	if h.MLM {
		errs = append(errs, b.validateMasked(c))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if h.Span {
		return b.validateSpans()
	}
	return nil
}

func (b *Batch) validateMasked(c Config) error {
	if len(b.MaskedIDs) != b.Masked() || len(b.MaskedWeights) != b.Masked() {
		return errors.New("masked tokens: fields of different length")
	}
	if err := inRange("masked index", b.MaskedIndex, 0, b.Tokens()); err != nil {
		return err
	}
	for _, w := range b.MaskedWeights {
		if !(w >= 0 && w <= math.MaxFloat32) {
			return fmt.Errorf("masked weight %v: must be finite and not negative", w)
		}
	}
	return inRange("masked id", b.MaskedIDs, 0, c.VocabSize)
}

func (b *Batch) validateSpans() error {
	for i := range b.Starts {
		n := b.CuSeqlens[i+1] - b.CuSeqlens[i]
		if b.Starts[i] >= n || b.Ends[i] >= n || (b.Starts[i] == NoLabel) != (b.Ends[i] == NoLabel) {
			return fmt.Errorf("sequence %d: answer [%d, %d] outside its %d tokens", i, b.Starts[i], b.Ends[i], n)
		}
	}
	return nil
}

// inRange returns an error for the first value outside [lo, hi).
func inRange(name string, v []int32, lo, hi int) error {
	for i, x := range v {
		if int(x) < lo || int(x) >= hi {
			return fmt.Errorf("%s %d at %d: must be from %d to %d", name, x, i, lo, hi-1)
		}
	}
	return nil
}
