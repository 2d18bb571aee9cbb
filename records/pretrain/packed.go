package pretrain

import (
	"context"

	"pretext/internal/pyrandom"
	"pretext/records"
	"pretext/tokenize"
)

// packedRecipe is the recipe of rows without padding.
func packedRecipe() Recipe {
	return Recipe{
		Name: "packed", About: "rows filled with pieces of documents", Record: "packed row", Form: records.Packed,
		Defaults: Options{MaxSeqLength: 1024, DupeFactor: 1, PackSlack: 0.01},
		Options:  []string{"pack_slack"}, Least: minOneText, Most: records.MaxValues,
		Specials: []string{tokenize.ClsToken, tokenize.SepToken, tokenize.PadToken}, WholeTexts: true,
		New: func(o Options, v Vocab, _ Scratch) (Maker, error) { return NewPacker(o, v) },
		Expect: func(o Options, tokens, documents float64) float64 {
			return max(1, (tokens+2*documents)/float64(o.MaxSeqLength))
		},
	}
}

// A Packer makes records of the form [records.Packed]: rows of exactly
// MaxSeqLength values, filled with pieces of several documents, each [CLS] text
// [SEP]. Every token of every document is in one piece.
//
//  1. Documents are shuffled once.
//  2. A document that fits a row is one piece. A longer one is cut into parts that
//     fill a row each, and a rest. It is cut at the end of a sentence if that
//     leaves at most PackSlack of the row empty, else at the end of the row.
//  3. Documents and full parts, the longest first, go to the row with the least
//     room that suffices (best fit), or to a new row.
//  4. Then the rests, the longest first: also by best fit, but where no row has
//     room for a whole rest and the rows together do, it is cut again, as in 2,
//     to fill the emptiest rows one after the other.
//  5. Rows, and the pieces of each row, are shuffled.
//
// Best fit considers all rows of the corpus. Besides the corpus, a Packer takes about 30
// bytes of memory for each piece and row, and eight for each value of a row.
type Packer struct {
	opts    Options
	vocab   Vocab
	rng     *pyrandom.Rand
	encoder *records.Encoder
	corpus  *Corpus
	slack   int // maximum number of tokens of a row that stay empty at a cut

	order  []uint32
	fixed  []piece // documents and full parts
	rests  []piece
	sorted []piece // buffer for the result of bySize
	counts []uint32

	placed []placed // pieces that were placed in rows
	rows   []row
	room   roomIndex

	chain   []uint32 // indexes of the pieces of a row
	ids     []int32
	lengths []int32
	lists   []byte
	payload []byte
	made    Counts
}

// A piece is text of one document.
type piece struct {
	text     span
	document uint32
}

// size returns the number of values of the piece in a row, with [CLS] and [SEP].
func (p piece) size() int { return p.text.len() + 2 } // [CLS], [SEP]

// A placed piece is an element of the linked list of its row.
type placed struct {
	text span
	next uint32 // index of the next piece, plus 1; 0 for none
}

// A row is a linked list of pieces.
type row struct {
	first uint32 // index of its first piece, plus 1
	left  int32  // number of values that are still empty
	below uint32 // index of the next row with the same room in roomIndex, plus 1
}

// NewPacker returns a Packer, or an error that lists all problems of the options and the
// vocabulary.
func NewPacker(o Options, v Vocab) (*Packer, error) {
	if err := packedRecipe().validate(o, v); err != nil {
		return nil, err
	}
	slack := o.slack()
	return &Packer{opts: o, vocab: v, rng: pyrandom.New(0), slack: slack,
		encoder: records.NewEncoder(o.MaxSeqLength, 0, v.Pad).For(records.Packed),
		counts:  make([]uint32, o.MaxSeqLength+2),
		ids:     make([]int32, o.MaxSeqLength),
		room:    newRoomIndex(o.MaxSeqLength, slack)}, nil
}

// Build makes the rows of a corpus, as [Builder.Build] does.
func (b *Packer) Build(ctx context.Context, corpus *Corpus, seed int64, yield func(Record) error) (Counts, error) {
	if err := corpus.fits(b.vocab); err != nil {
		return Counts{}, err
	}
	b.corpus, b.made = corpus, Counts{}
	defer func() { b.corpus = nil }()
	b.rng.Seed(seed)
	b.fixed, b.rests, b.placed, b.rows = b.fixed[:0], b.rests[:0], b.placed[:0], b.rows[:0]
	b.room.reset()
	b.order = corpus.shuffled(b.rng, b.order)
	for _, document := range b.order {
		b.divide(piece{corpus.document(document), document})
	}
	for i, p := range b.bySize(b.fixed) {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return b.made, ctx.Err()
		}
		b.place(p)
	}
	for i, p := range b.bySize(b.rests) {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return b.made, ctx.Err()
		}
		b.pour(p)
	}
	err := b.emit(ctx, yield)
	return b.made, err
}

// divide divides a document, p, into pieces that fit in a row.
func (b *Packer) divide(p piece) {
	if p.size() <= b.opts.MaxSeqLength {
		b.fixed = append(b.fixed, p)
		return
	}
	b.made.CutDocuments++
	for p.size() > b.opts.MaxSeqLength {
		var part piece
		part, p = b.cut(p, b.opts.MaxSeqLength)
		b.fixed = append(b.fixed, part)
	}
	b.rests = append(b.rests, p)
}

// cut cuts p, which is too long, into a part that fits in room values of a row, and the
// rest.
func (b *Packer) cut(p piece, room int) (part, rest piece) {
	at := b.corpus.cut(p.document, p.text, room-2, b.slack)
	part, rest = p, p
	part.text.to, rest.text.from = at, at
	return part, rest
}

// bySize sorts pieces by size, the longest first; pieces of equal size keep their order.
// The result is valid until the next call.
func (b *Packer) bySize(pieces []piece) []piece {
	clear(b.counts)
	most := b.opts.MaxSeqLength
	for _, p := range pieces {
		b.counts[most-p.size()+1]++
	}
	for i := 1; i < len(b.counts); i++ {
		b.counts[i] += b.counts[i-1]
	}
	if cap(b.sorted) < len(pieces) {
		b.sorted = make([]piece, len(pieces))
	}
	out := b.sorted[:len(pieces)]
	for _, p := range pieces {
		at := &b.counts[most-p.size()]
		out[*at] = p
		*at++
	}
	return out
}

// place puts p into the row with the least room that suffices, or into a new row.
func (b *Packer) place(p piece) {
	r, ok := b.room.take(b.rows, p.size())
	if !ok {
		r = uint32(len(b.rows))
		b.rows = append(b.rows, row{left: int32(b.opts.MaxSeqLength)})
	}
	b.put(r, p)
}

// put puts p into row r, which must not be in the index b.room, and adds the row to the
// index.
func (b *Packer) put(r uint32, p piece) {
	row := &b.rows[r]
	b.placed = append(b.placed, placed{p.text, row.first})
	row.first = uint32(len(b.placed))
	row.left -= int32(p.size())
	b.room.add(b.rows, r)
}

// pour places p, the rest of a document. If no row has room for it but all together do, it
// cuts p to fill rows.
func (b *Packer) pour(p piece) {
	for {
		if r, ok := b.room.take(b.rows, p.size()); ok {
			b.put(r, p)
			return
		}
		if b.room.spare < int64(p.size()) {
			b.place(p)
			return
		}
		r := b.room.takeEmptiest(b.rows)
		var part piece
		part, p = b.cut(p, int(b.rows[r].left))
		b.put(r, part)
	}
}

// emit calls yield for every row as a Record, in random order.
func (b *Packer) emit(ctx context.Context, yield func(Record) error) error {
	order := b.order[:0]
	for r := range b.rows {
		order = append(order, uint32(r))
	}
	b.order = order
	pyrandom.Shuffle(b.rng, order)
	for i, r := range order {
		if i%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := yield(b.record(b.rows[r])); err != nil {
			return err
		}
	}
	return nil
}

// record makes the record of a row.
func (b *Packer) record(r row) Record {
	b.chain = b.chain[:0]
	for at := r.first; at != 0; at = b.placed[at-1].next {
		b.chain = append(b.chain, at-1)
	}
	pyrandom.Shuffle(b.rng, b.chain)
	n := 0
	b.lengths = b.lengths[:0]
	for _, at := range b.chain {
		text := b.placed[at].text
		size := text.len() + 2
		b.ids[n], b.ids[n+size-1] = b.vocab.CLS, b.vocab.SEP
		b.corpus.read(b.ids[n+1:n+size-1], text)
		b.lengths = append(b.lengths, int32(size))
		n += size
	}
	b.lists = records.AppendPacked(b.lists[:0], b.ids[:n])
	ids := len(b.lists)
	b.lists = records.AppendPacked(b.lists, b.lengths)
	b.payload = b.encoder.Append(b.payload[:0], records.Parts{Tokens: n, IDs: b.lists[:ids], Lengths: b.lists[ids:]})
	b.made.Examples++
	b.made.Tokens += int64(n)
	b.made.Pieces += int64(len(b.chain))
	return Record{Payload: b.payload, Tokens: n, Pieces: len(b.chain)}
}
