package command

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"pretext/tokenize"
	"pretext/trainer/loader"
)

// maskOptions say how masks are drawn when they are drawn anew in every epoch.
type maskOptions struct {
	dynamic bool
	prob    float64 // 0: as the records were made
	most    int     // 0: likewise
	whole   tristate
}

func (o *maskOptions) add(fs *pflag.FlagSet) {
	fs.BoolVar(&o.dynamic, "dynamic-masking", false, "draw the tokens to predict anew in every epoch")
	fs.Float64Var(&o.prob, "masked-lm-prob", 0, "with --dynamic-masking: share of tokens to predict; default: as the records were made, or 0.15")
	fs.IntVar(&o.most, "max-predictions-per-seq", 0, "with --dynamic-masking: most of them in an example; default: as many as the records have room for")
	fs.Var(&o.whole, "do-whole-word-mask", "with --dynamic-masking: mask all pieces of a word together; default: as the records were made")
	fs.Lookup("do-whole-word-mask").NoOptDefVal = "true"
}

// masking returns what the options and the records say together, nil where
// masks stay as they are.
func (o *maskOptions) masking(seed uint64, data *corpus) (*loader.Masking, error) {
	if !o.dynamic {
		if o.prob != 0 || o.most != 0 || o.whole.given {
			return nil, usagef("--masked-lm-prob, --max-predictions-per-seq and --do-whole-word-mask say how masks are drawn: give --dynamic-masking too")
		}
		return nil, nil
	}
	made := struct {
		Prob  float64 `json:"masked_lm_prob"`
		Whole bool    `json:"do_whole_word_mask"`
	}{Prob: 0.15}
	if m := data.shards.Manifest(); m != nil {
		if err := json.Unmarshal(m.Options, &made); err != nil {
			return nil, fmt.Errorf("%w: options of %s: %w", errDamaged, data.path, err)
		}
	}
	if o.prob > 0 {
		made.Prob = o.prob
	}
	if o.whole.given {
		made.Whole = o.whole.value
	}
	if _, words := data.vocab.(*tokenize.Vocab); made.Whole && !words {
		return nil, usagef("%s: its vocabulary does not say where words begin: give --do-whole-word-mask=false", data.path)
	}
	return &loader.Masking{Seed: seed, Prob: made.Prob, MaxPredictions: o.most, WholeWord: made.Whole,
		Vocab: data.maskVocab()}, nil
}

// maskVocab is what masking must know of the vocabulary.
func (c *corpus) maskVocab() loader.MaskVocab {
	v := loader.MaskVocab{Size: c.vocab.Len(), CLS: c.vocab.CLS(), SEP: c.vocab.SEP(), MASK: c.vocab.MASK()}
	switch vocab := c.vocab.(type) {
	case *tokenize.Vocab:
		v.PAD, v.IsPiece = vocab.PAD(), vocab.IsSubword
	case *fileVocab: // its words are not known here
		v.PAD = vocab.Pad
	}
	return v
}

// recorded is what a checkpoint keeps of a masking: a run goes on with the same
// one only.
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

// A tristate is a flag that is true, false or not given.
type tristate struct{ given, value bool }

func (t *tristate) Set(s string) (err error) {
	t.value, err = strconv.ParseBool(s)
	t.given = true
	return err
}

func (t *tristate) Type() string { return "bool" }

func (t *tristate) String() string {
	if !t.given {
		return ""
	}
	return strconv.FormatBool(t.value)
}
