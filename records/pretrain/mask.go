package pretrain

import (
	"math/bits"

	"pretext/internal/pyrandom"
)

// A masker chooses the tokens to predict and replaces them. It makes the same
// random draws as create_masked_lm_predictions in create_pretraining_data.py.
type masker struct {
	opts  Options
	vocab Vocab
	rng   *pyrandom.Rand
	mask  uint64 // a random draw below this number makes a token [MASK]

	subword   []bool // by id: whether the token continues a word; nil without whole-word masking or with a marked corpus
	continued []bool // by position: whether the token continues a word; nil without a marked corpus

	places []uint16 // candidate positions, word after word
	words  []word   // with whole-word masking: ranges of places
	chosen []uint64 // bit set of the chosen positions
	became []int32  // by position: the replacement of a chosen token
}

// A word is a range of masker.places.
type word struct{ from, to uint16 }

// maskProb is the fraction of predicted tokens that become [MASK]. Half of the
// others stay unchanged.
const maskProb = 0.8

func newMasker(o Options, v Vocab, rng *pyrandom.Rand) *masker {
	m := &masker{
		opts: o, vocab: v, rng: rng,
		mask:   pyrandom.Threshold(maskProb),
		places: make([]uint16, 0, o.MaxSeqLength),
		chosen: make([]uint64, (o.MaxSeqLength+63)/64),
		became: make([]int32, o.MaxSeqLength),
	}
	if o.DoWholeWordMask {
		m.words = make([]word, 0, o.MaxSeqLength)
	}
	switch {
	case v.Marked:
		m.continued = make([]bool, o.MaxSeqLength)
	case o.DoWholeWordMask:
		m.subword = make([]bool, v.Size)
		for id := range m.subword {
			m.subword[id] = v.IsSubword(int32(id))
		}
	}
	return m
}

// apply masks the tokens of an example in place. It appends the positions of
// the predicted tokens, ascending, to positions, and the original tokens at
// these positions to labels.
func (m *masker) apply(tokens []int32, positions, labels []int32) (_, _ []int32) {
	want := m.opts.Predictions(len(tokens))
	if m.continued != nil {
		m.unmark(tokens)
	}
	if !m.opts.DoWholeWordMask {
		m.choosePieces(tokens, want)
	} else {
		m.chooseWords(tokens, want)
	}
	for i, set := range m.chosen {
		for m.chosen[i] = 0; set != 0; set &= set - 1 {
			at := i*64 + bits.TrailingZeros64(set)
			positions = append(positions, int32(at))
			labels = append(labels, tokens[at])
			tokens[at] = m.became[at]
		}
	}
	return positions, labels
}

// unmark removes the Continues flags from the ids of a marked corpus.
func (m *masker) unmark(tokens []int32) {
	for i, id := range tokens {
		m.continued[i] = id&Continues != 0
		tokens[i] = id &^ Continues
	}
}

// continues reports whether the token id at position at continues a word.
func (m *masker) continues(at int, id int32) bool {
	if m.continued != nil {
		return m.continued[at]
	}
	return m.subword[id]
}

// special reports whether id is [CLS] or [SEP], which are never predicted. Like
// the original script, it does so even where a "[SEP]" comes from the text
// itself.
func (m *masker) special(id int32) bool { return id == m.vocab.CLS || id == m.vocab.SEP }

func (m *masker) choosePieces(tokens []int32, want int) {
	places := m.places[:0]
	for i, id := range tokens {
		if !m.special(id) {
			places = append(places, uint16(i))
		}
	}
	pyrandom.Shuffle(m.rng, places)
	for _, at := range places[:min(want, len(places))] {
		m.choose(tokens, at)
	}
}

// chooseWords chooses random whole words to mask, with at most want tokens in
// all. It skips a word that would exceed want and tries the next. A piece that
// continues a word belongs to the word before it, even across a [SEP].
func (m *masker) chooseWords(tokens []int32, want int) {
	places, words := m.places[:0], m.words[:0]
	for i, id := range tokens {
		if m.special(id) {
			continue
		}
		if len(words) == 0 || !m.continues(i, id) {
			words = append(words, word{from: uint16(len(places))})
		}
		places = append(places, uint16(i))
		words[len(words)-1].to = uint16(len(places))
	}
	pyrandom.Shuffle(m.rng, words)
	for _, w := range words {
		if want == 0 {
			break
		}
		if n := int(w.to - w.from); n <= want {
			want -= n
			for _, at := range places[w.from:w.to] {
				m.choose(tokens, at)
			}
		}
	}
}

// choose marks the token at position at as predicted and draws its replacement.
func (m *masker) choose(tokens []int32, at uint16) {
	became := m.vocab.Mask
	if m.rng.Bits53() >= m.mask {
		if m.rng.Coin() {
			became = tokens[at]
		} else {
			became = int32(m.rng.Below(uint64(m.vocab.Size)))
		}
	}
	m.became[at] = became
	m.chosen[at/64] |= 1 << (at % 64)
}
