package pretrain

import (
	"context"

	"pretext/internal/pyrandom"
)

// otherDocumentTries is the number of draws for another document after which the same
// document is accepted, as in the original script.
const otherDocumentTries = 10

// A walker divides documents into pairs of segments. It makes the same random
// draws as create_instances_from_document and truncate_seq_pair in
// create_pretraining_data.py.
type walker struct {
	corpus *Corpus
	rng    *pyrandom.Rand
	order  []uint32 // document numbers, shuffled
	room   int      // maximum total number of tokens of both segments
	short  uint64   // a random draw below this number makes the examples of a document shorter

	rightLabels bool // [NegativesCorpus]; otherwise as in the original script
}

// A pair holds the two segments of an example.
type pair struct {
	a, b       span
	bDocument  uint32 // document of segment B
	randomNext bool
}

// walk calls emit for each pair made from the document w.order[place].
func (w *walker) walk(ctx context.Context, place int, emit func(pair) error) error {
	target := w.room
	if w.rng.Bits53() < w.short {
		target = int(w.rng.RandInt(2, int64(w.room)))
	}
	start, end := w.corpus.sentences(w.order[place])
	made := 0
	for i := start; i < end; i++ {
		last := i == end-1
		if !last && int(w.corpus.sentenceEnds[i]-w.corpus.tokenStart(start)) < target {
			continue
		}
		if made++; made%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		p, used := w.pair(place, span{start, i + 1}, target)
		if p.b.len() > 0 {
			if err := emit(p); err != nil {
				return err
			}
		}
		start += used
		i = start - 1
	}
	return nil
}

// checkEvery is the number of pairs or records that are made between two checks of the
// context.
const checkEvery = 256

// pair makes a pair from the given sentences of the document w.order[place]. target is the
// wanted length of the pair in tokens. used is the number of sentences, from the first,
// that the pair contains; the caller uses the others again. With rightLabels, segment B may
// be empty; the caller must then discard the pair.
func (w *walker) pair(place int, sentences span, target int) (p pair, used uint32) {
	start, gathered := sentences.from, sentences.to-sentences.from
	used = 1
	if gathered >= 2 {
		used = uint32(w.rng.RandInt(1, int64(gathered)-1))
	}
	p.a = span{w.corpus.tokenStart(start), w.corpus.tokenStart(start + used)}
	p.bDocument = w.order[place]
	if gathered == 1 || w.rng.Coin() {
		p.randomNext = w.elsewhere(place, target-p.a.len(), &p)
	}
	if !p.randomNext {
		p.b = span{p.a.to, w.corpus.tokenStart(sentences.to)}
		used = gathered
	}
	// With rightLabels, a single sentence may have no other document to be paired with. It
	// is then cut in two at a random token, and B is its end. From a single token no pair
	// can be made.
	if n := p.a.len(); p.b.len() == 0 && n > 1 {
		p.b = span{p.a.from + uint32(w.rng.RandInt(1, int64(n)-1)), p.a.to}
		p.a.to = p.b.from
	}
	w.truncate(&p)
	return p, used
}

// elsewhere sets segment B of p to a random passage of whole sentences from another
// document than w.order[place]. The passage begins at a random sentence and ends as soon as
// it has want tokens, or at the end of the document. If there is no other document, ok is
// false with rightLabels. Without rightLabels, the same document is used if ten draws find
// no other.
func (w *walker) elsewhere(place, want int, p *pair) (ok bool) {
	var other uint32
	if w.rightLabels {
		if other, ok = w.corpus.other(w.order[place], w.rng); !ok {
			return false
		}
	} else { // as the original script does
		at := place
		for try := 0; try < otherDocumentTries && at == place; try++ {
			at = int(w.rng.Below(uint64(len(w.order))))
		}
		other = w.order[at]
	}
	s := &p.b
	p.bDocument = other
	first, end := w.corpus.sentences(other)
	sentence := first + uint32(w.rng.Below(uint64(end-first)))
	s.from = w.corpus.tokenStart(sentence)
	for ; sentence < end; sentence++ {
		s.to = w.corpus.sentenceEnds[sentence]
		if s.len() >= want {
			break
		}
	}
	return true
}

// truncate removes tokens from the longer segment (B if they are equal) until both together
// fit in w.room. A random draw decides for each token whether it is removed at the front or
// at the end. While the same segment stays the longer one, only the number of tokens
// removed at the front matters, so these draws are made at once.
func (w *walker) truncate(p *pair) {
	for {
		a, b := p.a.len(), p.b.len()
		excess := a + b - w.room
		if excess <= 0 {
			return
		}
		longer, lead := &p.b, b-a+1
		if a > b {
			longer, lead = &p.a, a-b
		}
		n := min(excess, lead)
		heads := w.rng.Coins(n)
		longer.from += uint32(heads)
		longer.to -= uint32(n - heads)
	}
}
