package loader

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"pretext/records"
	"pretext/trainer/dropout"
)

// Masking is dynamic masking (RoBERTa, Liu et al. 2019, arXiv 1907.11692): every
// epoch predicts newly drawn tokens instead of those in the records.
//
// It first restores the unmasked example from its masked_lm_ids. Then it draws
// targets by the rules of create_pretraining_data.py of google-research/bert:
// round(n·Prob) for an example of n tokens (half to even), at least 1, at most
// MaxPredictions. 80 % of the targets become [MASK], 10 % stay, 10 % become a
// random token of the vocabulary. [CLS], [SEP] and [PAD] are never targets.
//
// Records without masks (documents, packed rows) need no restoring. n is then the
// length of the whole packed row, or of the piece of a document with [CLS] and
// [SEP].
//
// The draws depend only on the seed, the epoch, the file's number in its folder,
// the record's number in the file and the piece's number in a document. They do not
// depend on the position in the run, the rank or the number of readers. The
// generator is Philox4x32-10, as in trainer/dropout:
//
//	key of an epoch = words 0 and 1 of Philox(Seed, (epoch low, epoch high, "mask", "keys"))
//	word w of a record = word w mod 4 of Philox(key, (w div 4, file, record low, record high + 256·piece))
//
// A random number below n is the upper half of the product of n and the next
// word; a word is rejected if the lower half is below 2^32 mod n (Lemire, Fast
// Random Integer Generation in an Interval, 2019). Draws are made in this
// order: a partial Fisher-Yates shuffle of the candidates selects the targets;
// then each target, by position, draws a word. Below 0.8·2^32 it becomes
// [MASK], below 0.9·2^32 it stays, otherwise it draws a random token. Replace
// sets other fractions.
type Masking struct {
	Seed uint64  `json:"seed"`
	Prob float64 `json:"masked_lm_prob"` // fraction of tokens to predict, in (0, 1)

	// Later lists further fractions, which replace Prob from their position on.
	// Positions are ascending.
	Later []MaskRate `json:"later,omitempty"`

	// Replace sets what targets become; nil: 80 % [MASK], 10 % a random token.
	Replace *Replacement `json:"replace,omitempty"`

	// MaxPredictions is the maximum number of targets in an example; 0 means as
	// many as the record has room for.
	MaxPredictions int `json:"max_predictions_per_seq"`

	// WholeWord masks all pieces of a word together: a token and all following
	// tokens for which Vocab.Continues is true. A word with more pieces than the
	// remaining number of predictions is skipped.
	WholeWord bool `json:"do_whole_word_mask"`

	// Vocab describes the vocabulary of the records.
	Vocab MaskVocab `json:"-"`
}

// A MaskVocab is the part of a vocabulary that [Masking] needs.
type MaskVocab struct {
	Size                int // number of tokens
	CLS, SEP, PAD, MASK int32

	// Continues reports whether a token continues the word of the token before
	// it. It is needed only for WholeWord.
	Continues func(before, id int32) bool
}

// A MaskRate is a fraction of tokens to predict and the first position it applies to.
type MaskRate struct {
	Position int64   `json:"position"`
	Prob     float64 `json:"masked_lm_prob"`
}

// A Replacement sets how the tokens to predict change in the input. A token becomes
// [MASK] with the probability Mask, becomes a random token with the probability
// Random, and otherwise stays.
type Replacement struct {
	Mask   float64 `json:"mask"`
	Random float64 `json:"random"`
}

// Validate returns an error unless Mask, Random and their sum are in [0, 1].
func (r Replacement) Validate() error {
	if r.Mask >= 0 && r.Random >= 0 && r.Mask+r.Random <= 1 {
		return nil
	}
	return fmt.Errorf("mask_token_prob %v and random_token_prob %v: must not be negative, nor be above 1 together", r.Mask, r.Random)
}

// Validate reports every problem of m.
func (m Masking) Validate() error {
	var errs []error
	for i, r := range append([]MaskRate{{0, m.Prob}}, m.Later...) {
		if !(r.Prob > 0 && r.Prob < 1) {
			errs = append(errs, fmt.Errorf("masked_lm_prob %v: must be above 0 and below 1", r.Prob))
		}
		if i > 0 && r.Position <= 0 || i > 1 && r.Position <= m.Later[i-2].Position {
			errs = append(errs, fmt.Errorf("masked_lm_prob %v from position %d: positions must ascend from 1", r.Prob, r.Position))
		}
	}
	if m.Replace != nil {
		errs = append(errs, m.Replace.Validate())
	}
	if m.MaxPredictions < 0 {
		errs = append(errs, fmt.Errorf("max_predictions_per_seq %d: must not be negative", m.MaxPredictions))
	}
	if m.Vocab.Size < 1 || m.WholeWord && m.Vocab.Continues == nil {
		errs = append(errs, errors.New("dynamic masking needs the vocabulary of the records; of whole words, its pieces"))
	}
	return errors.Join(errs...)
}

// A masker applies a Masking. It must not be used by several goroutines at
// once.
type masker struct {
	Masking
	epoch   int64 // epoch of key; -1: none
	key     uint64
	words   []word // candidates of an example
	targets []int32
	draws   draws

	belowMask, belowKeep uint64 // thresholds of the draw that decides what a target becomes
}

// A word is a candidate: tokens [from, to) of an example.
type word struct{ from, to int32 }

func newMasker(m Masking) *masker {
	out := &masker{Masking: m, epoch: -1, belowMask: 8 * (1 << 32) / 10, belowKeep: 9 * (1 << 32) / 10}
	if r := m.Replace; r != nil {
		out.belowMask, out.belowKeep = uint64(r.Mask*(1<<32)), uint64((1-r.Random)*(1<<32))
	}
	return out
}

// A draw identifies an example of a run.
type draw struct {
	epoch    int64
	file     int64 // number of its file in the folder
	record   int64 // number of its record in the file
	piece    int64 // number of the piece of a document
	position int64
}

// rate returns the fraction of tokens to predict at a position.
func (m *masker) rate(position int64) float64 {
	rate := m.Prob
	for _, r := range m.Later {
		if position >= r.Position {
			rate = r.Prob
		}
	}
	return rate
}

// mask replaces the targets of e, a valid example.
func (m *masker) mask(e *records.Example, d draw) {
	places := len(e.MaskedLMPositions)
	restore(e)
	n := e.Tokens()
	m.findWords(e.InputIDs[:n])
	most := places
	if len(e.InputMask) == 0 {
		most = n // the record has no masks
	}
	if m.MaxPredictions > 0 {
		most = m.MaxPredictions
	}
	count := min(most, max(1, int(math.RoundToEven(float64(n)*m.rate(d.position)))))
	m.seek(d)
	m.choose(count)
	m.replace(e)
}

// restore replaces the masked tokens of an example by the original ones.
func restore(e *records.Example) {
	for i, w := range e.MaskedLMWeights {
		if w > 0 {
			e.InputIDs[e.MaskedLMPositions[i]] = e.MaskedLMIDs[i]
		}
	}
}

// findWords sets m.words to the candidate words of an example.
func (m *masker) findWords(ids []int32) {
	m.words = m.words[:0]
	cls, sep, pad := m.Vocab.CLS, m.Vocab.SEP, m.Vocab.PAD
	for i, id := range ids {
		if id == cls || id == sep || id == pad {
			continue
		}
		at := int32(i)
		if last := len(m.words) - 1; m.WholeWord && last >= 0 && m.words[last].to == at && m.Vocab.Continues(ids[i-1], id) {
			m.words[last].to++
			continue
		}
		m.words = append(m.words, word{at, at + 1})
	}
}

// choose draws at most count target tokens from m.words and writes their
// positions to m.targets, in ascending order.
func (m *masker) choose(count int) {
	m.targets = m.targets[:0]
	for i := range m.words {
		if len(m.targets) >= count {
			break
		}
		j := i + int(m.draws.below(uint32(len(m.words)-i)))
		w := m.words[j]
		m.words[i], m.words[j] = w, m.words[i]
		if len(m.targets)+int(w.to-w.from) > count {
			continue
		}
		for at := w.from; at < w.to; at++ {
			m.targets = append(m.targets, at)
		}
	}
	slices.Sort(m.targets)
}

// replace writes m.targets to the masked_lm fields of e, and masks, keeps or
// replaces each target in e.InputIDs.
func (m *masker) replace(e *records.Example) {
	e.MaskedLMPositions = append(e.MaskedLMPositions[:0], m.targets...)
	e.MaskedLMIDs, e.MaskedLMWeights = e.MaskedLMIDs[:0], e.MaskedLMWeights[:0]
	for _, at := range m.targets {
		e.MaskedLMIDs = append(e.MaskedLMIDs, e.InputIDs[at])
		e.MaskedLMWeights = append(e.MaskedLMWeights, 1)
		switch u := uint64(m.draws.word()); {
		case u < m.belowMask:
			e.InputIDs[at] = m.Vocab.MASK
		case u >= m.belowKeep:
			e.InputIDs[at] = int32(m.draws.below(uint32(m.Vocab.Size)))
		}
	}
}

// seek starts the draws of a record.
func (m *masker) seek(d draw) {
	if epoch := d.epoch; m.epoch != epoch {
		const domain0, domain1 = 'm' | 'a'<<8 | 's'<<16 | 'k'<<24, 'k' | 'e'<<8 | 'y'<<16 | 's'<<24
		b := dropout.Philox(m.Seed, [4]uint32{uint32(epoch), uint32(epoch >> 32), domain0, domain1})
		m.epoch, m.key = epoch, uint64(b[0])|uint64(b[1])<<32
	}
	m.draws = draws{key: m.key, file: uint32(d.file), record: uint64(d.record) + uint64(d.piece)<<40}
}

// draws is the sequence of random words of a record.
type draws struct {
	key    uint64
	file   uint32
	record uint64
	next   uint32 // number of the next word
	block  [4]uint32
}

func (d *draws) word() uint32 {
	if d.next%4 == 0 {
		d.block = dropout.Philox(d.key, [4]uint32{d.next / 4, d.file, uint32(d.record), uint32(d.record >> 32)})
	}
	w := d.block[d.next%4]
	d.next++
	return w
}

// below returns a uniformly distributed number below n, which must not be 0.
func (d *draws) below(n uint32) uint32 {
	for {
		hi, lo := bits.Mul32(d.word(), n)
		if lo >= n || lo >= -n%n { // -n%n is 2^32 mod n
			return hi
		}
	}
}
