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
	keep  uint64 // otherwise, another draw below this number keeps the token unchanged
	apart bool   // a word never continues across a [SEP]

	subword   []bool // by id: whether the token continues a word; nil without whole-word masking or with a marked corpus
	continued []bool // by position: whether the token continues a word; nil without a marked corpus

	places []uint16 // candidate positions, word after word
	words  []word   // with whole-word or span masking: ranges of places
	chosen []uint64 // bit set of the chosen positions
	became []int32  // by position: the replacement of a chosen token
}

// A word is a range of masker.places.
type word struct{ from, to uint16 }

func newMasker(o Options, v Vocab, rng *pyrandom.Rand) *masker {
	r := o.Replacement()
	m := &masker{
		opts: o, vocab: v, rng: rng,
		mask:   pyrandom.Threshold(r.MaskTokenProb),
		keep:   pyrandom.Threshold(r.keepProb()),
		places: make([]uint16, 0, o.MaxSeqLength+compressSpare),
		chosen: make([]uint64, (o.MaxSeqLength+63)/64),
		became: make([]int32, o.MaxSeqLength),
	}
	if o.WholeWords() {
		m.words = make([]word, 0, o.MaxSeqLength)
	}
	switch {
	case v.Marked:
		m.continued = make([]bool, o.MaxSeqLength)
	case o.WholeWords():
		m.subword = make([]bool, v.Size)
		for id := range m.subword {
			m.subword[id] = v.IsSubword(int32(id))
		}
	}
	return m
}

// keepProb returns the probability that a predicted token that does not become
// [MASK] stays.
func (r Replacement) keepProb() float64 {
	if r == DefaultReplacement {
		return 0.5 // exact, as in the original script
	}
	if r.MaskTokenProb >= 1 {
		return 1 // not used: the token always becomes [MASK]
	}
	return min(1, r.StayTokenProb()/(1-r.MaskTokenProb))
}

// apply masks the tokens of an example in place. It appends the positions of
// the predicted tokens, ascending, to positions, and the original tokens at
// these positions to labels.
func (m *masker) apply(tokens []int32, positions, labels []int32) (_, _ []int32) {
	want := m.opts.Predictions(len(tokens))
	if m.continued != nil {
		m.unmark(tokens)
	}
	switch {
	case m.opts.SpanMask:
		m.chooseSpans(tokens, want)
	case m.opts.DoWholeWordMask:
		m.chooseWords(tokens, want)
	default:
		m.choosePieces(tokens, want)
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

// continues reports whether the token with the given id at position at continues a word.
func (m *masker) continues(at int, id int32) bool {
	if m.continued != nil {
		return m.continued[at]
	}
	return m.subword[id]
}

// special reports whether id is [CLS] or [SEP], which are never predicted. Like the
// original script, it does not distinguish a "[SEP]" that comes from the text itself.
func (m *masker) special(id int32) bool { return id == m.vocab.CLS || id == m.vocab.SEP }

// choosePieces chooses want random tokens to predict, or all candidates if there are fewer.
func (m *masker) choosePieces(tokens []int32, want int) {
	places := m.candidates(tokens)
	want = min(want, len(places))
	order := m.rng.Permutation(len(places), want)
	words := m.rng.Unused()
	used := 0
	for _, i := range order {
		at := places[i]
		if used+2 > len(words) {
			m.rng.Skip(used)
			m.choose(tokens, at)
			words, used = m.rng.Unused(), 0
			continue
		}
		became := m.vocab.Mask
		draw := pyrandom.Join(words[used], words[used+1])
		used += 2
		if draw >= m.mask {
			m.rng.Skip(used)
			became = m.unmasked(tokens[at])
			words, used = m.rng.Unused(), 0
		}
		m.became[at] = became
		m.chosen[at/64] |= 1 << (at % 64)
	}
	m.rng.Skip(used)
}

// candidates returns the positions of all tokens except [CLS] and [SEP].
func (m *masker) candidates(tokens []int32) []uint16 {
	switch {
	case hasCompress:
		places := m.places[:len(tokens)+compressSpare]
		return places[:putCandidates(places, tokens, m.vocab.CLS, m.vocab.SEP)]
	case hasEights:
		return m.candidatesByEights(tokens)
	}
	return m.plainCandidates(m.places[:0], tokens, 0)
}

// candidatesByEights implements candidates with putEights.
func (m *masker) candidatesByEights(tokens []int32) []uint16 {
	all := len(tokens) &^ 7
	places := m.places[:len(tokens)+compressSpare]
	n := putEights(places, tokens[:all], m.vocab.CLS, m.vocab.SEP, &keptPlaces)
	return m.plainCandidates(places[:n], tokens, all)
}

// plainCandidates appends the candidates from a position on, without vector instructions.
func (m *masker) plainCandidates(places []uint16, tokens []int32, from int) []uint16 {
	for i, id := range tokens[from:] {
		if !m.special(id) {
			places = append(places, uint16(from+i))
		}
	}
	return places
}

// keptPlaces has, for each set of eight tokens that are kept, their indexes.
var keptPlaces = func() (all [256][8]uint16) {
	for set := range all {
		n := 0
		for i := range uint16(8) {
			if set>>i&1 == 1 {
				all[set][n] = i
				n++
			}
		}
	}
	return all
}()

// compressSpare is the number of elements that putCandidates and putEights may
// overwrite after the end of their result.
const compressSpare = 16

// unmasked draws the replacement of a predicted token that does not become [MASK].
func (m *masker) unmasked(id int32) int32 {
	if m.rng.Bits53() < m.keep {
		return id
	}
	return int32(m.rng.Below(uint64(m.vocab.Size)))
}

// findWords returns the candidate positions, and the words as ranges of these. A piece that
// continues a word belongs to the word before it, even across a [SEP] unless m.apart is set.
func (m *masker) findWords(tokens []int32) (places []uint16, words []word) {
	places, words = m.places[:0], m.words[:0]
	begins := true
	for i, id := range tokens {
		if m.special(id) {
			begins = begins || m.apart
			continue
		}
		if begins || !m.continues(i, id) {
			words = append(words, word{from: uint16(len(places))})
		}
		begins = false
		places = append(places, uint16(i))
		words[len(words)-1].to = uint16(len(places))
	}
	return places, words
}

// chooseWords chooses random whole words to mask, with at most want tokens in all. It skips
// words that would exceed want.
func (m *masker) chooseWords(tokens []int32, want int) {
	places, words := m.findWords(tokens)
	for _, i := range m.rng.Permutation(len(words), len(words)) {
		if want == 0 {
			break
		}
		w := words[i]
		if n := int(w.to - w.from); n <= want {
			want -= n
			for _, at := range places[w.from:w.to] {
				m.choose(tokens, at)
			}
		}
	}
}

// choose marks the token at position at as predicted and draws its replacement.
func (m *masker) choose(tokens []int32, at uint16) { m.become(tokens, at, m.draw()) }

// A fate is the kind of replacement of a predicted token.
type fate int

const (
	fateMask fate = iota
	fateStay
	fateRandom
)

func (m *masker) draw() fate {
	if m.rng.Bits53() < m.mask {
		return fateMask
	}
	if m.rng.Bits53() < m.keep {
		return fateStay
	}
	return fateRandom
}

// become marks the token at position at as predicted, and sets its replacement according to
// f.
func (m *masker) become(tokens []int32, at uint16, f fate) {
	became := m.vocab.Mask
	switch f {
	case fateStay:
		became = tokens[at]
	case fateRandom:
		became = int32(m.rng.Below(uint64(m.vocab.Size)))
	}
	m.became[at] = became
	m.chosen[at/64] |= 1 << (at % 64)
}
