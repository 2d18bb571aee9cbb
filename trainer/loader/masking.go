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

// Masking draws the tokens to predict anew in every epoch, instead of taking
// those of the records: dynamic masking, as RoBERTa (Liu et al., 2019) named it.
//
// An example is first put back to what it was before it was masked, from its
// masked_lm_ids; then targets are drawn as create_pretraining_data.py of
// google-research/bert draws them: round(n·Prob) of an example of n tokens,
// halves to even, at least 1, at most MaxPredictions; 80 % of them become
// [MASK], 10 % stay, 10 % become a token drawn from the whole vocabulary. Never
// is [CLS], [SEP] or [PAD] a target.
//
// What is drawn is a function of the seed, the epoch, the file's place in its
// folder and the record's in the file: not of the position in the run, the
// rank, or the number of readers. The generator is that of trainer/dropout,
// Philox4x32-10:
//
//	key of an epoch = words 0 and 1 of Philox(Seed, (epoch low, epoch high, "mask", "keys"))
//	word w of a record = word w mod 4 of Philox(key, (w div 4, file, record low, record high))
//
// A number below n is the upper half of the product of n and the next word;
// words whose product has a lower half below 2^32 mod n are passed over (Lemire,
// 2019). In this order: a partial Fisher-Yates shuffle of the candidates gives
// the targets; then each target, by position, draws a word that is below
// 0.8·2^32 for [MASK], below 0.9·2^32 for none, and else a token.
type Masking struct {
	Seed uint64  `json:"seed"`
	Prob float64 `json:"masked_lm_prob"` // share of tokens to predict, in (0, 1)

	// MaxPredictions is the most targets of an example; 0 means as many as
	// the record has places for.
	MaxPredictions int `json:"max_predictions_per_seq"`

	// WholeWord takes the pieces of a word together: a token and those behind
	// it that begin with ##. A word that has more pieces than are left to draw
	// is passed over.
	WholeWord bool `json:"do_whole_word_mask"`

	// Vocab is what must be known of the vocabulary of the records.
	Vocab MaskVocab `json:"-"`
}

// A MaskVocab is a vocabulary as [Masking] sees it.
type MaskVocab struct {
	Size                int // tokens
	CLS, SEP, PAD, MASK int32

	// IsPiece tells whether a token continues the word of the one before it;
	// it is needed for whole words alone.
	IsPiece func(id int32) bool
}

// Validate reports every problem of m.
func (m Masking) Validate() error {
	var errs []error
	if !(m.Prob > 0 && m.Prob < 1) {
		errs = append(errs, fmt.Errorf("masked_lm_prob %v: must be between 0 and 1", m.Prob))
	}
	if m.MaxPredictions < 0 {
		errs = append(errs, fmt.Errorf("max_predictions_per_seq %d: must not be negative", m.MaxPredictions))
	}
	if m.Vocab.Size < 1 || m.WholeWord && m.Vocab.IsPiece == nil {
		errs = append(errs, errors.New("dynamic masking needs the vocabulary of the records; of whole words, its pieces"))
	}
	return errors.Join(errs...)
}

// A masker applies a Masking. It is for one goroutine.
type masker struct {
	Masking
	epoch   int64 // -1: none
	key     uint64
	words   []word // candidates of an example
	targets []int32
	draws   draws
}

// A word is a candidate: tokens [from, to) of an example.
type word struct{ from, to int32 }

func newMasker(m Masking) *masker { return &masker{Masking: m, epoch: -1} }

// Thresholds of a draw that says what becomes of a target.
const (
	belowMask = uint32(8 * (1 << 32) / 10)
	belowKeep = uint32(9 * (1 << 32) / 10)
)

// mask gives a sound example new targets. file and record are its place.
func (m *masker) mask(e *records.Example, epoch, file, record int64) {
	places := len(e.MaskedLMPositions)
	restore(e)
	n := e.Tokens()
	m.findWords(e.InputIDs[:n])
	most := places
	if m.MaxPredictions > 0 {
		most = m.MaxPredictions
	}
	count := min(most, max(1, int(math.RoundToEven(float64(n)*m.Prob))))
	m.seek(epoch, file, record)
	m.choose(count)
	m.replace(e)
}

// restore undoes the masks of an example.
func restore(e *records.Example) {
	for i, w := range e.MaskedLMWeights {
		if w > 0 {
			e.InputIDs[e.MaskedLMPositions[i]] = e.MaskedLMIDs[i]
		}
	}
}

// findWords lists the candidates of an example's tokens.
func (m *masker) findWords(ids []int32) {
	m.words = m.words[:0]
	cls, sep, pad := m.Vocab.CLS, m.Vocab.SEP, m.Vocab.PAD
	for i, id := range ids {
		if id == cls || id == sep || id == pad {
			continue
		}
		at := int32(i)
		if last := len(m.words) - 1; m.WholeWord && last >= 0 && m.words[last].to == at && m.Vocab.IsPiece(id) {
			m.words[last].to++
			continue
		}
		m.words = append(m.words, word{at, at + 1})
	}
}

// choose draws at most count targets, in ascending order.
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

// replace writes the targets into the example and hides them.
func (m *masker) replace(e *records.Example) {
	e.MaskedLMPositions = append(e.MaskedLMPositions[:0], m.targets...)
	e.MaskedLMIDs, e.MaskedLMWeights = e.MaskedLMIDs[:0], e.MaskedLMWeights[:0]
	for _, at := range m.targets {
		e.MaskedLMIDs = append(e.MaskedLMIDs, e.InputIDs[at])
		e.MaskedLMWeights = append(e.MaskedLMWeights, 1)
		switch u := m.draws.word(); {
		case u < belowMask:
			e.InputIDs[at] = m.Vocab.MASK
		case u >= belowKeep:
			e.InputIDs[at] = int32(m.draws.below(uint32(m.Vocab.Size)))
		}
	}
}

// seek begins the draws of a record.
func (m *masker) seek(epoch, file, record int64) {
	if m.epoch != epoch {
		const domain0, domain1 = 'm' | 'a'<<8 | 's'<<16 | 'k'<<24, 'k' | 'e'<<8 | 'y'<<16 | 's'<<24
		b := dropout.Philox(m.Seed, [4]uint32{uint32(epoch), uint32(epoch >> 32), domain0, domain1})
		m.epoch, m.key = epoch, uint64(b[0])|uint64(b[1])<<32
	}
	m.draws = draws{key: m.key, file: uint32(file), record: uint64(record)}
}

// draws are the random words of a record.
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

// below returns a number below n, each as likely as any other; n is not 0.
func (d *draws) below(n uint32) uint32 {
	for {
		hi, lo := bits.Mul32(d.word(), n)
		if lo >= n || lo >= -n%n { // -n%n is 2^32 mod n
			return hi
		}
	}
}
