package pretrain

import (
	"context"
	"slices"

	"pretext/internal/pyrandom"
	"pretext/records"
)

// tokensRecipe is the recipe for whole documents without special tokens and masks.
func tokensRecipe() Recipe {
	return Recipe{
		Name: "tokens", About: "ids of documents, no masks", Record: "tokenized document", Form: records.Tokens,
		Defaults: Options{MaxSeqLength: records.MaxValues, DupeFactor: 1}, Least: 1, Most: records.MaxValues,
		WholeTexts: true, Unsplit: true,
		New: func(o Options, v Vocab, _ Scratch) (Maker, error) { return NewSplitter(o, v) },
		Expect: func(o Options, tokens, documents float64) float64 {
			return max(documents, tokens/float64(o.MaxSeqLength))
		},
	}
}

// A Splitter makes records of the form [records.Tokens]: the token ids of each document,
// without special tokens and masks. They are for readers that cut, pack and mask when they
// make a batch.
//
// Documents are shuffled once. A document of more than MaxSeqLength tokens is cut into
// several consecutive records: at the last end of a sentence that fits, or, in a sentence
// longer than a record, after MaxSeqLength tokens. Every token is in one record.
type Splitter struct {
	opts    Options
	vocab   Vocab
	rng     *pyrandom.Rand
	encoder *records.Encoder
	order   []uint32
	ids     []int32
	lengths []int32 // of the sentences of a record
	packed  []byte
	ends    []byte // packed lengths
	payload []byte
}

// NewSplitter returns a Splitter, or an error that lists all problems of the options and
// the vocabulary.
func NewSplitter(o Options, v Vocab) (*Splitter, error) {
	if err := tokensRecipe().validate(o, v); err != nil {
		return nil, err
	}
	return &Splitter{opts: o, vocab: v, rng: pyrandom.New(0), encoder: records.NewEncoder(0, 0, 0).For(records.Tokens)}, nil
}

// Build makes the records of a corpus, as [Builder.Build] does.
func (b *Splitter) Build(ctx context.Context, corpus *Corpus, seed int64, yield func(Record) error) (counts Counts, err error) {
	if err := corpus.fits(b.vocab); err != nil {
		return Counts{}, err
	}
	b.rng.Seed(seed)
	b.order = corpus.shuffled(b.rng, b.order)
	for i, document := range b.order {
		if i%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return counts, err
			}
		}
		s := corpus.document(document)
		if s.len() > b.opts.MaxSeqLength {
			counts.CutDocuments++
		}
		for s.from < s.to {
			part := s
			if s.len() > b.opts.MaxSeqLength {
				part.to = corpus.cut(document, s, b.opts.MaxSeqLength, b.opts.MaxSeqLength)
			}
			s.from = part.to
			counts.Examples++
			counts.Tokens += int64(part.len())
			b.ids = slices.Grow(b.ids[:0], part.len())[:part.len()]
			corpus.read(b.ids, part)
			b.packed = records.AppendPacked(b.packed[:0], b.ids)
			if b.encoder.Form() == records.Sentences {
				b.lengths = corpus.sentenceLengths(b.lengths[:0], document, part)
				b.ends = records.AppendPacked(b.ends[:0], b.lengths)
			}
			b.payload = b.encoder.Append(b.payload[:0], records.Parts{Tokens: part.len(), IDs: b.packed, Lengths: b.ends})
			if err := yield(Record{Payload: b.payload, Tokens: part.len()}); err != nil {
				return counts, err
			}
		}
	}
	return counts, nil
}
