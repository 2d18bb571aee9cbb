package pretrain

import (
	"errors"
	"fmt"
	"math"
	"pretext/tokenize"
)

// Options configures example building. Start from [DefaultOptions] and change
// fields; [Options.Validate] reports every problem at once. Names and defaults
// are those of the flags of create_pretraining_data.py. The seed is an argument
// of [Builder.Build].
type Options struct {
	// MaxSeqLength is the length of an example in tokens, with [CLS] and both
	// [SEP], in [5, 65535]. Below 5 there is no room for a token in each
	// segment, and the original script fails.
	MaxSeqLength int `json:"max_seq_length"`

	// MaxPredictionsPerSeq is the maximum number of tokens to predict in an
	// example, in [1, MaxSeqLength]. The original script also accepts more, and
	// pads.
	MaxPredictionsPerSeq int `json:"max_predictions_per_seq"`

	// MaskedLMProb is the fraction of tokens to predict, in [0, 1]. At least
	// one token is predicted, whatever the fraction.
	MaskedLMProb float64 `json:"masked_lm_prob"`

	// ShortSeqProb is the probability, drawn for each document and walk, that
	// the examples are shorter than the maximum, in [0, 1].
	ShortSeqProb float64 `json:"short_seq_prob"`

	// DupeFactor is how often each document is walked, at least 1; each walk
	// masks other tokens.
	DupeFactor int `json:"dupe_factor"`

	// DoWholeWordMask predicts either all pieces of a word or none.
	DoWholeWordMask bool `json:"do_whole_word_mask"`
}

// Limits of Options.
const (
	minSeqLength = 5     // [CLS] a [SEP] b [SEP]
	maxSeqLength = 65535 // positions are stored in 16 bits
)

// DefaultOptions returns the defaults of the original script's flags.
func DefaultOptions() Options {
	return Options{
		MaxSeqLength:         128,
		MaxPredictionsPerSeq: 20,
		MaskedLMProb:         0.15,
		ShortSeqProb:         0.1,
		DupeFactor:           10,
	}
}

// Validate reports everything that is wrong with o, joined by [errors.Join].
func (o Options) Validate() error {
	var errs []error
	problem := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.MaxSeqLength < minSeqLength || o.MaxSeqLength > maxSeqLength {
		problem("max_seq_length %d: must be from %d to %d", o.MaxSeqLength, minSeqLength, maxSeqLength)
	}
	switch {
	case o.MaxPredictionsPerSeq < 1:
		problem("max_predictions_per_seq %d: must be at least 1", o.MaxPredictionsPerSeq)
	case o.MaxPredictionsPerSeq > o.MaxSeqLength:
		problem("max_predictions_per_seq %d: more than max_seq_length %d (the original script accepts it, and pads)",
			o.MaxPredictionsPerSeq, o.MaxSeqLength)
	}
	share := func(name string, v float64) {
		if !(v >= 0 && v <= 1) { // also NaN
			problem("%s %v: must be from 0 to 1", name, v)
		}
	}
	share("masked_lm_prob", o.MaskedLMProb)
	share("short_seq_prob", o.ShortSeqProb)
	if o.DupeFactor < 1 {
		problem("dupe_factor %d: must be at least 1 (the original script writes no examples with less)", o.DupeFactor)
	}
	return errors.Join(errs...)
}

// Predictions returns how many of the n tokens of an example (special tokens
// included) are predicted. It equals min(max_predictions_per_seq, max(1,
// int(round(n * masked_lm_prob)))) in Python.
func (o Options) Predictions(n int) int {
	return min(o.MaxPredictionsPerSeq, o.WantedPredictions(n))
}

// WantedPredictions returns the number of tokens that [Options.Predictions]
// would return without the limit MaxPredictionsPerSeq: the fraction
// MaskedLMProb of the n tokens of an example, but at least 1.
func (o Options) WantedPredictions(n int) int {
	return max(1, int(math.RoundToEven(float64(n)*o.MaskedLMProb)))
}

// A Vocab is the part of a vocabulary that example building needs.
type Vocab struct {
	Size           int   // number of entries; ids are below it
	CLS, SEP, Mask int32 // ids of [CLS], [SEP] and [MASK]
	Pad            int32 // padding id of input_ids; the original script always pads with 0

	// IsSubword reports whether an entry continues a word ("##ing"). It is
	// needed only for DoWholeWordMask, and is called once for each id.
	IsSubword func(id int32) bool

	// Marked means that the corpus comes from [NewMarkedCorpus]: the flag
	// [Continues] of each token, not the vocabulary entry, shows what continues
	// a word, as byte-level vocabularies need it. IsSubword is then not called.
	Marked bool
}

// NewVocab returns the Vocab of a vocab.txt. Like the original script it pads
// with 0, whatever the id of [PAD] is.
func NewVocab(v *tokenize.Vocab) Vocab {
	return Vocab{Size: v.Len(), CLS: v.CLS(), SEP: v.SEP(), Mask: v.MASK(), IsSubword: v.IsSubword}
}

func (v Vocab) validate(o Options) error {
	var errs []error
	if v.Size < 1 || v.Size > math.MaxInt32 || v.Marked && v.Size > int(Continues) {
		errs = append(errs, fmt.Errorf("vocabulary has %d entries, want a positive 32-bit number, below 2^30 with Marked", v.Size))
	}
	for _, special := range []struct {
		name string
		id   int32
	}{{"[CLS]", v.CLS}, {"[SEP]", v.SEP}, {"[MASK]", v.Mask}, {"[PAD]", v.Pad}} {
		if special.id < 0 || int(special.id) >= v.Size {
			errs = append(errs, fmt.Errorf("id %d of %s: not an id of a vocabulary of %d tokens", special.id, special.name, v.Size))
		}
	}
	if o.DoWholeWordMask && v.IsSubword == nil && !v.Marked {
		errs = append(errs, errors.New("do_whole_word_mask needs Vocab.IsSubword or Vocab.Marked"))
	}
	return errors.Join(errs...)
}
