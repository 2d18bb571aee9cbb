package pretrain

import (
	"context"

	"pretext/internal/pyrandom"
	"pretext/records"
	"pretext/tokenize"
)

// googleRecipe is the recipe of the original script.
func googleRecipe() Recipe {
	return Recipe{
		Name: "google", About: "as create_pretraining_data.py does", Record: "masked-LM and next-sentence example", Form: records.Pairs,
		Defaults: DefaultOptions(), Options: append([]string{"nsp_negatives"}, maskOptions...), Least: minPair, Most: maxSeqLength,
		Specials: maskSpecials, Original: true,
		New:    func(o Options, v Vocab, s Scratch) (Maker, error) { return NewBuilder(o, v, s) },
		Expect: expectExamples,
		Check:  checkPredictions,
	}
}

// maskSpecials are the special tokens in records with masks.
var maskSpecials = []string{tokenize.ClsToken, tokenize.SepToken, tokenize.MaskToken, tokenize.PadToken}

// NewBuilder returns a Builder of the examples of the original script, or an error that
// lists all problems of the options and the vocabulary.
func NewBuilder(o Options, v Vocab, s Scratch) (*Builder, error) {
	b, err := newBuilder(googleRecipe(), o, v, s)
	if err != nil {
		return nil, err
	}
	w := walker{rng: b.rng, room: o.MaxSeqLength - 3, short: pyrandom.Threshold(o.ShortSeqProb), rightLabels: o.NSPNegatives == NegativesCorpus}
	b.pass = func(ctx context.Context) error {
		w.corpus, w.order = b.corpus, b.order
		defer func() { w.corpus = nil }()
		for place := range w.order {
			if place%checkEvery == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			if err := w.walk(ctx, place, b.keepPair); err != nil {
				return err
			}
		}
		return nil
	}
	return b, nil
}

// keepPair stores a pair as an instance: [CLS] A [SEP] B [SEP].
func (b *Builder) keepPair(p pair) error {
	if len(b.followed) > 0 {
		b.follow(p)
	}
	in, first, second := &b.current, p.a.len(), p.b.len()
	in.randomNext = p.randomNext
	in.second = first + 2
	in.tokens = in.tokens[:first+second+3]
	in.tokens[0] = b.vocab.CLS
	b.corpus.read(in.tokens[1:1+first], p.a)
	in.tokens[1+first] = b.vocab.SEP
	b.corpus.read(in.tokens[2+first:2+first+second], p.b)
	in.tokens[2+first+second] = b.vocab.SEP
	return b.keep()
}
