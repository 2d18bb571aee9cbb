package pretrain

import (
	"context"

	"pretext/internal/pyrandom"
	"pretext/records"
)

// mlmRecipe is the recipe for masked language modelling without sentence pairs.
func mlmRecipe() Recipe {
	defaults := DefaultOptions()
	defaults.ShortSeqProb = 0 // as RoBERTa does
	return Recipe{
		Name: "mlm", About: "sentences with masks, no pairs", Record: "masked-LM example", Form: records.Masked,
		Defaults: defaults, Options: append([]string{"cross_documents"}, maskOptions...), Least: minOneText, Most: maxSeqLength,
		Specials: maskSpecials, WholeTexts: true,
		New:    func(o Options, v Vocab, s Scratch) (Maker, error) { return NewMLMBuilder(o, v, s) },
		Expect: expectExamples,
		Check:  checkPredictions,
	}
}

// NewMLMBuilder returns a Builder of examples for masked language modelling without
// sentence pairs, of the form [records.Masked]: [CLS] text [SEP]. It prepares data as
// RoBERTa does (Liu et al. 2019, arXiv 1907.11692):
//
//   - Consecutive sentences fill an example until the next would not fit
//     MaxSeqLength (DOC-SENTENCES). With CrossDocuments the sentences of the next
//     document follow, after a [SEP] (FULL-SENTENCES).
//   - With probability ShortSeqProb an example is filled only up to a random
//     length from 2 to MaxSeqLength-2 tokens: drawn once for each document and
//     pass, with CrossDocuments once for each example. A single sentence may be
//     longer than that.
//   - A sentence longer than an example is cut into examples; its rest begins the
//     next. So every pass has every token once.
//   - Masks are chosen as in the original script, again in each of the DupeFactor
//     passes. A word does not continue across a [SEP].
//   - At the end all examples are shuffled.
//
// With SpanMask the masks are those of SpanBERT (Joshi et al. 2019, arXiv 1907.10529):
// spans of whole words. The number of words of a span is drawn from a geometric
// distribution with p = 0.2, cut off at 10. All tokens of a span have the same fate: they
// all become [MASK], all stay, or all become random entries.
func NewMLMBuilder(o Options, v Vocab, s Scratch) (*Builder, error) {
	b, err := newBuilder(mlmRecipe(), o, v, s)
	if err != nil {
		return nil, err
	}
	b.masker.apart = true
	fill := filler{rng: b.rng, room: o.MaxSeqLength - 2, short: pyrandom.Threshold(o.ShortSeqProb), across: o.CrossDocuments}
	b.pass = func(ctx context.Context) error {
		fill.corpus = b.corpus
		defer func() { fill.corpus = nil }()
		return fill.pass(ctx, b.order, b.keepTexts)
	}
	return b, nil
}

// A filler fills examples with consecutive sentences.
type filler struct {
	corpus *Corpus
	rng    *pyrandom.Rand
	room   int    // maximum number of tokens besides [CLS] and the last [SEP]
	short  uint64 // a random draw below this number makes examples shorter
	across bool   // an example may have text of several documents

	target int    // number of tokens after which the example is complete
	used   int    // tokens in texts, plus one [SEP] between each two texts
	texts  []span // of the example being filled, one for each document
	emit   func(texts []span) error
}

// pass calls emit for each example of all documents, in the given order. texts
// is valid during the call.
func (f *filler) pass(ctx context.Context, order []uint32, emit func(texts []span) error) error {
	f.emit, f.texts, f.used = emit, f.texts[:0], 0
	if f.across {
		f.aim()
	}
	for i, document := range order {
		if i%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if !f.across {
			f.aim()
		}
		first, end := f.corpus.sentences(document)
		for i := first; i < end; i++ {
			if (i-first)%checkEvery == checkEvery-1 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			if err := f.sentence(span{f.corpus.tokenStart(i), f.corpus.sentenceEnds[i]}, i == first); err != nil {
				return err
			}
		}
		if f.across {
			continue
		}
		if err := f.close(); err != nil {
			return err
		}
	}
	if f.used == 0 {
		return nil
	}
	return f.emit(f.texts)
}

// aim draws the target length of the next examples.
func (f *filler) aim() {
	f.target = f.room
	if f.rng.Bits53() < f.short {
		f.target = int(f.rng.RandInt(min(2, int64(f.room)), int64(f.room)))
	}
}

// sentence adds a sentence to the current example. first reports whether the sentence
// begins a document.
func (f *filler) sentence(s span, first bool) error {
	gap := 0
	if first && f.used > 0 {
		gap = 1 // the [SEP] between documents
	}
	if f.used > 0 && f.used+gap+s.len() > f.target {
		if err := f.close(); err != nil {
			return err
		}
		gap = 0
	}
	for s.len() > f.room {
		if err := f.emit(append(f.texts[:0], span{s.from, s.from + uint32(f.room)})); err != nil {
			return err
		}
		s.from += uint32(f.room)
	}
	f.used += gap + s.len()
	if last := len(f.texts) - 1; last >= 0 && !first {
		f.texts[last].to = s.to // continues the text of the sentence before
	} else {
		f.texts = append(f.texts, s)
	}
	return nil
}

// close emits the current example, if it has text, and begins the next.
func (f *filler) close() error {
	if f.used == 0 {
		return nil
	}
	err := f.emit(f.texts)
	f.texts, f.used = f.texts[:0], 0
	if f.across {
		f.aim()
	}
	return err
}

// keepTexts stores texts as an instance: [CLS] text [SEP] text [SEP] …
func (b *Builder) keepTexts(texts []span) error {
	in := &b.current
	tokens := append(in.tokens[:0], b.vocab.CLS)
	for _, s := range texts {
		at := len(tokens)
		tokens = tokens[:at+s.len()]
		b.corpus.read(tokens[at:], s)
		tokens = append(tokens, b.vocab.SEP)
	}
	in.tokens, in.second, in.randomNext = tokens, len(tokens), false // all tokens are in segment 0
	return b.keep()
}
