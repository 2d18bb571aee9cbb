package pretrain

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"pretext/tokenize"
)

// Options configures example building. Start from [DefaultOptions] and change fields;
// [Options.Validate] reports all problems at once. Names and defaults are those of the
// flags of create_pretraining_data.py. The seed is an argument of [Builder.Build].
type Options struct {
	// MaxSeqLength is the length of an example in tokens, with [CLS] and both
	// [SEP], in [5, 65535]. Below 5 there is no room for a token in each
	// segment, and the original script fails.
	MaxSeqLength int `json:"max_seq_length"`

	// MaxPredictionsPerSeq is the maximum number of tokens to predict in an example, in [1,
	// MaxSeqLength]. The original script also accepts larger values; it pads the lists to
	// them.
	MaxPredictionsPerSeq int `json:"max_predictions_per_seq"`

	// MaskedLMProb is the fraction of tokens to predict, in [0, 1]. At least one token is
	// predicted, whatever the fraction.
	MaskedLMProb float64 `json:"masked_lm_prob"`

	// ShortSeqProb is the probability, drawn for each document and walk, that
	// the examples are shorter than the maximum, in [0, 1].
	ShortSeqProb float64 `json:"short_seq_prob"`

	// DupeFactor is the number of passes over each document, at least 1; each pass masks
	// other tokens.
	DupeFactor int `json:"dupe_factor"`

	// DoWholeWordMask predicts either all pieces of a word or none.
	DoWholeWordMask bool `json:"do_whole_word_mask"`

	// The original script does not have the options below. Their zero values give its
	// behaviour and are omitted in JSON.

	// Replace determines what predicted tokens become; nil is [DefaultReplacement].
	Replace *Replacement `json:"replace,omitempty"`

	// SpanMask predicts spans of whole words, as SpanBERT does; see [NewMLMBuilder].
	SpanMask bool `json:"span_mask,omitempty"`

	// CrossDocuments makes [NewMLMBuilder] continue an example with sentences of the next
	// document when a document ends.
	CrossDocuments bool `json:"cross_documents,omitempty"`

	// PackSlack is the fraction of a row of [NewPacker], or of the length of a piece of
	// the recipe pieces, in [0, 1), that may stay empty so that a document can be cut at the end
	// of a sentence.
	PackSlack float64 `json:"pack_slack,omitempty"`

	// NSPNegatives selects the documents from which [NewBuilder] takes random segments: ""
	// for those of the original script, or [NegativesCorpus].
	NSPNegatives string `json:"nsp_negatives,omitempty"`

	// LengthBins are the lengths to which examples are padded: each example to the smallest
	// length that it fits in. The last length is MaxSeqLength. Nil pads all to
	// MaxSeqLength.
	LengthBins []int `json:"length_bins,omitempty"`
}

// NegativesCorpus is a value of Options.NSPNegatives: a random segment never comes from the
// document of the example, but from the documents described at [Corpus.BeginNegatives]. If
// there is no other document, all labels are 0.
const NegativesCorpus = "corpus"

// PaddedLength returns the length to which an example of n tokens is padded.
func (o Options) PaddedLength(n int) int {
	if i, _ := slices.BinarySearch(o.LengthBins, n); i < len(o.LengthBins) {
		return o.LengthBins[i]
	}
	return o.MaxSeqLength
}

// A Replacement determines what a predicted token becomes: [MASK] with probability
// MaskTokenProb, a random entry of the vocabulary with probability RandomTokenProb;
// otherwise it stays unchanged.
type Replacement struct {
	MaskTokenProb   float64 `json:"mask_token_prob"`
	RandomTokenProb float64 `json:"random_token_prob"`
}

// DefaultReplacement is the Replacement of the original script.
var DefaultReplacement = Replacement{MaskTokenProb: 0.8, RandomTokenProb: 0.1}

// StayTokenProb returns the probability that a predicted token stays unchanged.
func (r Replacement) StayTokenProb() float64 {
	if r == DefaultReplacement {
		return 0.1 // exactly
	}
	return max(0, 1-r.MaskTokenProb-r.RandomTokenProb)
}

// Replacement returns o.Replace or its default.
func (o Options) Replacement() Replacement {
	if o.Replace == nil {
		return DefaultReplacement
	}
	return *o.Replace
}

// Limits of max_seq_length.
const (
	minPair      = 5     // [CLS] a [SEP] b [SEP]
	minOneText   = 3     // [CLS] a [SEP]
	maxSeqLength = 65535 // for a [Builder]: positions are stored in 16 bits
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

// Validate returns all problems of o as options of [NewBuilder], joined by [errors.Join].
func (o Options) Validate() error { return googleRecipe().Validate(o) }

// maxBins is the maximum number of length bins, since each is an open file.
const maxBins = 64

// validateBins checks the length bins. least is the minimum number of tokens of a record.
func (o Options) validateBins(p *problems, least int) {
	bins := o.LengthBins
	switch {
	case len(bins) > maxBins:
		p.add("length_bins: %d bins, at most %d are possible", len(bins), maxBins)
	case !slices.IsSorted(bins) || len(slices.Compact(slices.Clone(bins))) != len(bins) || bins[0] < max(least, o.MaxPredictionsPerSeq):
		p.add("length_bins %v: must ascend from at least %d, the largest of max_predictions_per_seq and the shortest example", bins, max(least, o.MaxPredictionsPerSeq))
	case bins[len(bins)-1] != o.MaxSeqLength:
		p.add("length_bins %v: the last must be max_seq_length, %d", bins, o.MaxSeqLength)
	}
}

// problems collects the problems of options.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) fraction(name string, v float64) {
	if !(v >= 0 && v <= 1) { // also NaN
		p.add("%s %v: must be from 0 to 1", name, v)
	}
}

// validateMasks checks the options of recipes with masks.
func (o Options) validateMasks(p *problems) {
	switch {
	case o.MaxPredictionsPerSeq < 1:
		p.add("max_predictions_per_seq %d: must be at least 1", o.MaxPredictionsPerSeq)
	case o.MaxPredictionsPerSeq > o.MaxSeqLength:
		p.add("max_predictions_per_seq %d: more than max_seq_length %d (the original script accepts it, and pads)",
			o.MaxPredictionsPerSeq, o.MaxSeqLength)
	}
	p.fraction("masked_lm_prob", o.MaskedLMProb)
	p.fraction("short_seq_prob", o.ShortSeqProb)
	if o.DupeFactor < 1 {
		p.add("dupe_factor %d: must be at least 1 (the original script writes no examples with less)", o.DupeFactor)
	}
	r := o.Replacement()
	p.fraction("mask_token_prob", r.MaskTokenProb)
	p.fraction("random_token_prob", r.RandomTokenProb)
	if r.MaskTokenProb+r.RandomTokenProb > 1+1e-9 {
		p.add("mask_token_prob %v and random_token_prob %v: together more than 1", r.MaskTokenProb, r.RandomTokenProb)
	}
	if o.SpanMask && o.DoWholeWordMask {
		p.add("span_mask and do_whole_word_mask: spans are of whole words already")
	}
}

// WholeWords reports whether masks depend on word boundaries.
func (o Options) WholeWords() bool { return o.DoWholeWordMask || o.SpanMask }

// Predictions returns the number of tokens to predict in an example of n tokens, special
// tokens included. It equals min(max_predictions_per_seq, max(1, int(round(n *
// masked_lm_prob)))) in Python.
func (o Options) Predictions(n int) int {
	return min(o.MaxPredictionsPerSeq, o.WantedPredictions(n))
}

// slack returns the number of tokens of a row or piece that may stay empty at a cut.
func (o Options) slack() int { return int(o.PackSlack * float64(o.MaxSeqLength)) }

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

	// Marked means that the corpus comes from [NewMarkedCorpus]: the flag [Continues] of
	// each token, not the vocabulary entry, marks the tokens that continue a word.
	// Byte-level vocabularies need this. IsSubword is then not called.
	Marked bool
}

// NewVocab returns the Vocab of a vocab.txt. Like the original script it pads
// with 0, whatever the id of [PAD] is.
func NewVocab(v *tokenize.Vocab) Vocab {
	return Vocab{Size: v.Len(), CLS: v.CLS(), SEP: v.SEP(), Mask: v.MASK(), IsSubword: v.IsSubword}
}

// validate checks the fields of v that a recipe with the given options and special tokens
// needs.
func (v Vocab) validate(o Options, specials []string) error {
	var errs []error
	if v.Size < 1 || v.Size > math.MaxInt32 || v.Marked && v.Size > int(Continues) {
		errs = append(errs, fmt.Errorf("vocabulary has %d entries, want a positive 32-bit number, below 2^30 with Marked", v.Size))
	}
	ids := map[string]int32{tokenize.ClsToken: v.CLS, tokenize.SepToken: v.SEP, tokenize.MaskToken: v.Mask, tokenize.PadToken: v.Pad}
	for _, name := range specials {
		if id := ids[name]; id < 0 || int(id) >= v.Size {
			errs = append(errs, fmt.Errorf("id %d of %s: not an id of a vocabulary of %d tokens", id, name, v.Size))
		}
	}
	if o.WholeWords() && v.IsSubword == nil && !v.Marked {
		name := "do_whole_word_mask"
		if o.SpanMask {
			name = "span_mask"
		}
		errs = append(errs, fmt.Errorf("%s needs Vocab.IsSubword or Vocab.Marked", name))
	}
	return errors.Join(errs...)
}
