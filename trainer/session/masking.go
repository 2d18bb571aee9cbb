package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pretext/sharding"
	"pretext/trainer/loader"
)

// MaskOptions configure dynamic masking: masks drawn anew in every epoch. It is
// always on for records without masks.
type MaskOptions struct {
	DynamicMasking       bool      // false: use the records' masks if they have any; the other fields must then be zero
	MaskedLMProb         MaskRates // nil: the value the records were made with, or 0.15
	MaxPredictionsPerSeq int       // 0: as many as each record has room for
	DoWholeWordMask      *bool     // nil: the value the records were made with, or false
	MaskTokenProb        *float64  // probability that a token to predict becomes [MASK]; nil: 0.8
	RandomTokenProb      *float64  // probability that a token to predict becomes a random token; nil: 0.1
}

// MaskRates are fractions of tokens to predict, each from a given step on. Steps are
// ascending; the first is 0.
type MaskRates []MaskRate

// A MaskRate is a fraction of tokens to predict and the first step it applies to.
type MaskRate struct {
	Prob float64
	Step int64
}

// ParseMaskRates parses "0.15", or rates and the steps from which they apply:
// "0.3@0,0.15@50000". "" gives nil.
func ParseMaskRates(s string) (rates MaskRates, err error) {
	if s == "" {
		return nil, nil
	}
	for i, item := range strings.Split(s, ",") {
		prob, step, from := strings.Cut(item, "@")
		r := MaskRate{}
		if r.Prob, err = strconv.ParseFloat(prob, 64); err == nil && from {
			r.Step, err = strconv.ParseInt(step, 10, 64)
		}
		switch {
		case err != nil || !from && i > 0:
			return nil, fmt.Errorf("%q: write a fraction, as in 0.15, or fractions and the steps from which they apply, as in 0.3@0,0.15@50000", s)
		case !(r.Prob > 0 && r.Prob < 1):
			return nil, fmt.Errorf("%q: %v must be above 0 and below 1", s, r.Prob)
		case i == 0 && r.Step != 0 || i > 0 && r.Step <= rates[i-1].Step:
			return nil, fmt.Errorf("%q: the steps must ascend from 0", s)
		}
		rates = append(rates, r)
	}
	return rates, nil
}

// String returns the rates in the form that [ParseMaskRates] reads.
func (m MaskRates) String() string {
	var items []string
	for _, r := range m {
		item := strconv.FormatFloat(r.Prob, 'g', -1, 64)
		if len(m) > 1 {
			item += "@" + strconv.FormatInt(r.Step, 10)
		}
		items = append(items, item)
	}
	return strings.Join(items, ",")
}

// replacement returns the probabilities with which tokens to predict become [MASK] or
// a random token; nil: the defaults.
func (o *MaskOptions) replacement() *loader.Replacement {
	was := loader.Replacement{Mask: 0.8, Random: 0.1}
	r := was
	if o.MaskTokenProb != nil {
		r.Mask = *o.MaskTokenProb
	}
	if o.RandomTokenProb != nil {
		r.Random = *o.RandomTokenProb
	}
	if r == was {
		return nil
	}
	return &r
}

// given reports whether an option is set that only dynamic masking uses.
func (o *MaskOptions) given() bool {
	return o.MaskedLMProb != nil || o.MaxPredictionsPerSeq != 0 || o.DoWholeWordMask != nil || o.MaskTokenProb != nil || o.RandomTokenProb != nil
}

// masking returns the dynamic masking of a run with batch examples per step. Options
// that are not set in o are those that the records were made with. It returns nil if
// the records' own masks are used.
func (o *MaskOptions) masking(seed uint64, data *Corpus, batch int) (*loader.Masking, error) {
	form := data.shards.Form()
	if !o.DynamicMasking && form.Masks() {
		if o.given() {
			return nil, usagef("%s has masks: --masked-lm-prob, --max-predictions-per-seq, --do-whole-word-mask, --mask-token-prob and --random-token-prob apply only with --dynamic-masking", data.path)
		}
		return nil, nil
	}
	made := data.shards.Made()
	if made.Recipe == "" || !form.Masks() { // not known, or without options for masks
		made = sharding.DefaultExamplesOptions()
	}
	if o.DoWholeWordMask != nil {
		made.DoWholeWordMask = *o.DoWholeWordMask
	}
	vocab, err := data.maskVocab(made.DoWholeWordMask)
	if err != nil {
		return nil, err
	}
	m := &loader.Masking{Seed: seed, Prob: made.MaskedLMProb, MaxPredictions: o.MaxPredictionsPerSeq, WholeWord: made.DoWholeWordMask, Replace: o.replacement(), Vocab: vocab}
	for i, r := range o.MaskedLMProb {
		if i == 0 {
			m.Prob = r.Prob
			continue
		}
		m.Later = append(m.Later, loader.MaskRate{Position: r.Step * int64(batch), Prob: r.Prob})
	}
	return m, nil
}

// evalMasking returns the masking of held-out examples: nil if the records have masks.
// Otherwise 15 % of their tokens are masked. All evaluations of all runs mask the same
// tokens, whatever their options.
func evalMasking(data *Corpus) (*loader.Masking, error) {
	return (&MaskOptions{}).masking(0, data, 1)
}

// maskVocab returns the properties of the vocabulary that masking needs. words is set
// if whole words are masked.
func (c *Corpus) maskVocab(words bool) (v loader.MaskVocab, err error) {
	v = loader.MaskVocab{Size: c.vocab.Len(), CLS: c.vocab.CLS(), SEP: c.vocab.SEP(), PAD: c.vocab.PAD(), MASK: c.vocab.MASK()}
	if v.MASK < 0 {
		return v, usagef("%s: its tokenizer has no mask token, so no masks can be drawn: make the data with a tokenizer that has [MASK] or <mask>", c.path)
	}
	if words {
		if v.Continues = c.continues(); v.Continues == nil {
			return v, usagef("%s: its vocabulary does not say where words begin: give --do-whole-word-mask=false", c.path)
		}
	}
	return v, nil
}

// recorded returns the masking as options of a checkpoint. A run resumes from a
// checkpoint only if these options are equal.
func (o *MaskOptions) recorded(m *loader.Masking) map[string]string {
	if m == nil {
		return nil
	}
	rates := slices.Clone(o.MaskedLMProb)
	if rates == nil {
		rates = MaskRates{{Prob: m.Prob}}
	}
	out := map[string]string{
		"dynamic_masking":         "true",
		"masked_lm_prob":          rates.String(),
		"max_predictions_per_seq": strconv.Itoa(m.MaxPredictions),
		"do_whole_word_mask":      strconv.FormatBool(m.WholeWord),
	}
	if r := m.Replace; r != nil {
		out["mask_token_prob"], out["random_token_prob"] = fmt.Sprint(r.Mask), fmt.Sprint(r.Random)
	}
	return out
}
