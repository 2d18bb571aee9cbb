package pretrain

import (
	"context"
	"math"

	"pretext/internal/pyrandom"
	"pretext/records"
	"pretext/tokenize"
)

// piecesRecipe is the recipe for sequences of text, each of one document, without masks and
// padding.
func piecesRecipe() Recipe {
	return Recipe{
		Name: "pieces", About: "pieces of documents, one a record", Record: "piece", Form: records.Pieces,
		Defaults: Options{MaxSeqLength: 512, DupeFactor: 1, PackSlack: 0.01},
		Options:  []string{"pack_slack"}, Least: minOneText, Most: records.MaxValues,
		Specials: []string{tokenize.ClsToken, tokenize.SepToken}, WholeTexts: true,
		New:    func(o Options, v Vocab, _ Scratch) (Maker, error) { return newSlicer(o, v) },
		Expect: expectPieces,
	}
}

// expectPieces is the number of pieces if the lengths of documents are distributed
// exponentially.
func expectPieces(o Options, tokens, documents float64) float64 {
	room := float64(o.MaxSeqLength - 2)
	if documents == 0 || tokens == 0 {
		return tokens / room
	}
	return documents / -math.Expm1(-room*documents/tokens)
}

// A slicer makes records of the form [records.Pieces]: [CLS] text [SEP], at most
// MaxSeqLength tokens. They are for readers that make batches of sequences, mask
// and pad them, and truncate what is too long: none is.
//
// A document of more than MaxSeqLength-2 tokens is cut into consecutive pieces, where a
// [Packer] cuts it: at the end of a sentence if the piece is then shorter than
// MaxSeqLength by at most PackSlack, else after MaxSeqLength-2 tokens. Every token of every
// document is in one piece. All pieces are shuffled once, so that a reader that does not
// shuffle gets batches of many documents. Besides the corpus, a slicer takes eight bytes of
// memory for each piece.
type slicer struct {
	opts    Options
	vocab   Vocab
	rng     *pyrandom.Rand
	encoder *records.Encoder
	pieces  []span
	ids     []int32
	packed  []byte
	payload []byte
}

// newSlicer returns a slicer, or an error that lists all problems of the options and the
// vocabulary.
func newSlicer(o Options, v Vocab) (*slicer, error) {
	if err := piecesRecipe().validate(o, v); err != nil {
		return nil, err
	}
	return &slicer{opts: o, vocab: v, rng: pyrandom.New(0), encoder: records.NewEncoder(0, 0, 0).For(records.Pieces), ids: make([]int32, o.MaxSeqLength)}, nil
}

// Build makes the records of a corpus, as [Builder.Build] does.
func (b *slicer) Build(ctx context.Context, corpus *Corpus, seed int64, yield func(Record) error) (counts Counts, err error) {
	if err := corpus.fits(b.vocab); err != nil {
		return Counts{}, err
	}
	counts.CutDocuments = b.slice(corpus)
	b.rng.Seed(seed)
	pyrandom.Shuffle(b.rng, b.pieces)
	for i, piece := range b.pieces {
		if i%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return counts, err
			}
		}
		ids := b.ids[:piece.len()+2]
		ids[0], ids[len(ids)-1] = b.vocab.CLS, b.vocab.SEP
		corpus.read(ids[1:len(ids)-1], piece)
		b.packed = records.AppendPacked(b.packed[:0], ids)
		b.payload = b.encoder.Append(b.payload[:0], records.Parts{Tokens: len(ids), IDs: b.packed})
		counts.Examples++
		counts.Tokens += int64(len(ids))
		if err := yield(Record{Payload: b.payload, Tokens: len(ids)}); err != nil {
			return counts, err
		}
	}
	return counts, nil
}

// slice cuts the documents of a corpus into b.pieces, in order. It returns the number of
// documents with more than one piece.
func (b *slicer) slice(corpus *Corpus) (cut int64) {
	room := b.opts.MaxSeqLength - 2
	slack := b.opts.slack()
	b.pieces = b.pieces[:0]
	for document := range uint32(corpus.Own()) {
		s := corpus.document(document)
		if s.len() > room {
			cut++
		}
		for s.len() > room {
			at := corpus.cut(document, s, room, slack)
			b.pieces = append(b.pieces, span{s.from, at})
			s.from = at
		}
		b.pieces = append(b.pieces, s)
	}
	return cut
}
