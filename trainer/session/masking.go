package session

import (
	"strconv"

	"pretext/sharding"
	"pretext/tokenize"
	"pretext/trainer/loader"
)

// MaskOptions configure dynamic masking: masks drawn anew in every epoch.
type MaskOptions struct {
	DynamicMasking       bool    // false: the records' masks are used, and the other fields must be zero
	MaskedLMProb         float64 // 0: as the records were made, or 0.15
	MaxPredictionsPerSeq int     // 0: as many as each record has room for
	DoWholeWordMask      *bool   // nil: as the records were made
}

// masking returns the dynamic masking of a run: the options o, completed by
// those that the records were made with. It returns nil if the records' own
// masks are used.
func (o *MaskOptions) masking(seed uint64, data *Corpus) (*loader.Masking, error) {
	if !o.DynamicMasking {
		if o.MaskedLMProb != 0 || o.MaxPredictionsPerSeq != 0 || o.DoWholeWordMask != nil {
			return nil, usagef("--masked-lm-prob, --max-predictions-per-seq and --do-whole-word-mask apply only with --dynamic-masking")
		}
		return nil, nil
	}
	made := data.shards.Made()
	if data.shards.Manifest() == nil {
		made = sharding.DefaultExamplesOptions()
	}
	if o.MaskedLMProb > 0 {
		made.MaskedLMProb = o.MaskedLMProb
	}
	if o.DoWholeWordMask != nil {
		made.DoWholeWordMask = *o.DoWholeWordMask
	}
	if _, words := data.vocab.(*tokenize.Vocab); made.DoWholeWordMask && !words {
		return nil, usagef("%s: its vocabulary does not say where words begin: give --do-whole-word-mask=false", data.path)
	}
	return &loader.Masking{Seed: seed, Prob: made.MaskedLMProb, MaxPredictions: o.MaxPredictionsPerSeq, WholeWord: made.DoWholeWordMask,
		Vocab: data.maskVocab()}, nil
}

// maskVocab returns the vocabulary's properties that masking needs.
func (c *Corpus) maskVocab() loader.MaskVocab {
	v := loader.MaskVocab{Size: c.vocab.Len(), CLS: c.vocab.CLS(), SEP: c.vocab.SEP(), MASK: c.vocab.MASK()}
	switch vocab := c.vocab.(type) {
	case *tokenize.Vocab:
		v.PAD, v.IsPiece = vocab.PAD(), vocab.IsSubword
	case *fileVocab: // its words are not known here
		v.PAD = vocab.Pad
	}
	return v
}

// recorded returns the masking as options of a checkpoint. A run resumes from a
// checkpoint only if these options are equal.
func recorded(m *loader.Masking) map[string]string {
	if m == nil {
		return nil
	}
	return map[string]string{
		"dynamic_masking":         "true",
		"masked_lm_prob":          strconv.FormatFloat(m.Prob, 'g', -1, 64),
		"max_predictions_per_seq": strconv.Itoa(m.MaxPredictions),
		"do_whole_word_mask":      strconv.FormatBool(m.WholeWord),
	}
}
