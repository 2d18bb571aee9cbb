package pretrain

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"pretext/internal/pyrandom"
)

// A Corpus holds the token ids of documents, divided into sentences, in a compact form. It
// drops sentences without tokens and documents without sentences, as the original script
// does.
//
// It may be shared by several Builders, but must not be changed while a
// [Builder] reads it.
type Corpus struct {
	vocabSize int
	narrow    idStore[uint16] // the ids, if they all fit in 16 bits
	wide      idStore[uint32] // the ids otherwise
	isWide    bool
	marked    bool // ids may have the flag [Continues]

	tokens       uint32
	sentenceEnds []uint32 // end of each sentence, in tokens
	documentEnds []uint32 // end of each document, in sentences

	negatives negatives
	followed  []followed
}

// negatives describes the documents from which random segments are drawn, with
// [NegativesCorpus].
type negatives struct {
	begun  bool
	own    int      // number of documents from which examples are made: the first ones
	marked []uint32 // those of the own documents from which random segments may be drawn
}

// MarkNegative allows random segments from the last ended document, with [NegativesCorpus].
// It must be called before [Corpus.BeginNegatives].
func (c *Corpus) MarkNegative() {
	c.negatives.marked = append(c.negatives.marked, uint32(c.Documents()-1))
}

// BeginNegatives states that the documents added so far are the corpus' own documents:
// those from which examples are made. Documents added later only provide random segments,
// with [NegativesCorpus]. Random segments are drawn with equal probability from the later
// documents and the marked ones ([Corpus.MarkNegative]). If there are none besides the
// document of the example, all own documents are used.
func (c *Corpus) BeginNegatives() {
	c.negatives.begun, c.negatives.own = true, len(c.documentEnds)
}

// Own returns the number of the corpus' own documents, from which examples are made.
func (c *Corpus) Own() int {
	if c.negatives.begun {
		return c.negatives.own
	}
	return c.Documents()
}

// HasNegatives reports whether [Corpus.BeginNegatives] was called since the last
// [Corpus.Reset].
func (c *Corpus) HasNegatives() bool { return c.negatives.begun }

// other draws a document for a random segment, with [NegativesCorpus]: a marked one or one
// that was added after BeginNegatives, but never the given document. If there is none, it
// draws one of the own documents. ok is false if there is no other document at all.
func (c *Corpus) other(document uint32, rng *pyrandom.Rand) (other uint32, ok bool) {
	marked := c.negatives.marked
	at, has := slices.BinarySearch(marked, document)
	n := len(marked) + c.Documents() - c.Own()
	if has {
		n--
	}
	if n == 0 {
		return c.otherOwn(document, rng)
	}
	i := int(rng.Below(uint64(n)))
	if has && i >= at {
		i++
	}
	if i < len(marked) {
		return marked[i], true
	}
	return uint32(c.Own() + i - len(marked)), true
}

// otherOwn draws one of the corpus' own documents, but not the given one. ok is false if
// there is no other.
func (c *Corpus) otherOwn(document uint32, rng *pyrandom.Rand) (other uint32, ok bool) {
	if c.Own() == 1 {
		return 0, false
	}
	if other = uint32(rng.Below(uint64(c.Own() - 1))); other >= document {
		other++
	}
	return other, true
}

// maxTokens is the maximum number of tokens of a corpus, because token offsets
// have 32 bits.
const maxTokens = math.MaxUint32

// NewCorpus returns an empty corpus for token ids from 0 to vocabSize-1.
func NewCorpus(vocabSize int) *Corpus {
	return &Corpus{vocabSize: max(0, vocabSize), isWide: vocabSize > 1<<16}
}

// Continues is a flag on a token id in a corpus made by [NewMarkedCorpus]. It
// states that the token belongs to the same word as the token before it.
const Continues int32 = 1 << 30

// NewMarkedCorpus returns an empty corpus for token ids from 0 to vocabSize-1,
// which may have the flag [Continues]. It takes four bytes for each token.
func NewMarkedCorpus(vocabSize int) *Corpus {
	return &Corpus{vocabSize: max(0, vocabSize), isWide: true, marked: true}
}

// AddSentence appends a sentence to the current document. It does not retain ids. If an id
// is outside the vocabulary, or the corpus would have more than 2^32-1 tokens, it returns
// an error and does not add the sentence.
func (c *Corpus) AddSentence(ids []int32) error {
	if len(ids) == 0 {
		return nil
	}
	mark := int32(0)
	if c.marked {
		mark = Continues
	}
	for _, id := range ids {
		if uint(id&^mark) >= uint(c.vocabSize) {
			return fmt.Errorf("add sentence: id %d: not an id of a vocabulary of %d tokens", id, c.vocabSize)
		}
	}
	if uint64(len(ids)) > maxTokens-uint64(c.tokens) {
		return fmt.Errorf("add sentence: more than %d tokens in a shard: use more shards", uint32(maxTokens))
	}
	if c.isWide {
		c.wide.append(c.tokens, ids)
	} else {
		c.narrow.append(c.tokens, ids)
	}
	c.tokens += uint32(len(ids))
	c.sentenceEnds = append(c.sentenceEnds, c.tokens)
	return nil
}

// EndDocument ends the current document, to which [Corpus.AddSentence] appends. It must
// also be called after the last document. It does nothing if no sentence was added since
// the last call.
func (c *Corpus) EndDocument() {
	if n := uint32(len(c.sentenceEnds)); n > c.endedSentences() {
		c.documentEnds = append(c.documentEnds, n)
	}
}

// endedSentences returns the number of sentences in ended documents.
func (c *Corpus) endedSentences() uint32 {
	if len(c.documentEnds) == 0 {
		return 0
	}
	return c.documentEnds[len(c.documentEnds)-1]
}

// Reset empties the corpus and keeps its memory for reuse.
func (c *Corpus) Reset() {
	c.tokens = 0
	c.sentenceEnds = c.sentenceEnds[:0]
	c.documentEnds = c.documentEnds[:0]
	c.followed = c.followed[:0]
	c.negatives = negatives{marked: c.negatives.marked[:0]}
}

// Documents returns the number of ended documents.
func (c *Corpus) Documents() int { return len(c.documentEnds) }

// Sentences returns the number of sentences.
func (c *Corpus) Sentences() int { return len(c.sentenceEnds) }

// Tokens returns the number of tokens.
func (c *Corpus) Tokens() int64 { return int64(c.tokens) }

// MemoryBytes returns the size of the memory that the corpus has allocated.
func (c *Corpus) MemoryBytes() int64 {
	return 2*c.narrow.capacity() + 4*c.wide.capacity() +
		4*int64(cap(c.sentenceEnds)) + 4*int64(cap(c.documentEnds))
}

var errOpenDocument = errors.New("the last document of the corpus was not ended with EndDocument")

func (c *Corpus) validate() error {
	if int(c.endedSentences()) != len(c.sentenceEnds) {
		return errOpenDocument
	}
	return nil
}

// fits returns an error if c was not made for the vocabulary v, or if its last document was
// not ended.
func (c *Corpus) fits(v Vocab) error {
	if c.vocabSize != v.Size {
		return fmt.Errorf("build examples: the corpus was made for a vocabulary of %d tokens, but this vocabulary has %d", c.vocabSize, v.Size)
	}
	if c.marked != v.Marked {
		return fmt.Errorf("build examples: Marked is %t for the corpus, want %t as for the vocabulary", c.marked, v.Marked)
	}
	if err := c.validate(); err != nil {
		return fmt.Errorf("build examples: %w", err)
	}
	return nil
}

// shuffled returns the numbers of the corpus' own documents in random order. It reuses the
// memory of order.
func (c *Corpus) shuffled(rng *pyrandom.Rand, order []uint32) []uint32 {
	order = order[:0]
	for document := range c.Own() {
		order = append(order, uint32(document))
	}
	pyrandom.Shuffle(rng, order)
	return order
}

// document returns the range of tokens of a document.
func (c *Corpus) document(document uint32) span {
	first, end := c.sentences(document)
	return span{c.tokenStart(first), c.sentenceEnds[end-1]}
}

// cut returns the token index at which to cut s, which is text of a document and longer
// than room tokens. This is the end of the last sentence that fits in room, if at most
// slack tokens of room then stay empty. Otherwise it is s.from + room.
func (c *Corpus) cut(document uint32, s span, room, slack int) uint32 {
	first, end := c.sentences(document)
	ends := c.sentenceEnds[first:end]
	most := s.from + uint32(room)
	i, _ := slices.BinarySearch(ends, most+1) // index of the first end beyond room
	if i == 0 || ends[i-1] <= s.from || int(most-ends[i-1]) > slack {
		return most
	}
	return ends[i-1]
}

// sentences returns the range of a document's sentences: the index of the first, and the
// index after the last.
func (c *Corpus) sentences(document uint32) (first, end uint32) {
	if document > 0 {
		first = c.documentEnds[document-1]
	}
	return first, c.documentEnds[document]
}

// tokenStart returns the index of a sentence's first token.
func (c *Corpus) tokenStart(sentence uint32) uint32 {
	if sentence == 0 {
		return 0
	}
	return c.sentenceEnds[sentence-1]
}

// read copies the tokens of a span to dst, which must have the span's length.
func (c *Corpus) read(dst []int32, s span) {
	if c.isWide {
		c.wide.read(dst, s.from)
	} else {
		c.narrow.read(dst, s.from)
	}
}

// A span is a range of tokens of a corpus.
type span struct{ from, to uint32 }

func (s span) len() int { return int(s.to - s.from) }

// An idStore is a long array of ids. It is stored in chunks so that it grows without
// copying.
type idStore[T uint16 | uint32] struct {
	chunks [][]T
}

// chunkIDs is the number of ids in a chunk. Only the last chunk is partly unused, so a
// small shard takes little memory.
const chunkIDs = 1 << 15

// append stores ids at index at and after it. at must be the number of ids stored so far.
func (s *idStore[T]) append(at uint32, ids []int32) {
	for len(ids) > 0 {
		n, offset := int(at/chunkIDs), int(at%chunkIDs)
		if n == len(s.chunks) {
			s.chunks = append(s.chunks, make([]T, chunkIDs))
		}
		room := s.chunks[n][offset:]
		m := min(len(room), len(ids))
		for i, id := range ids[:m] {
			room[i] = T(id)
		}
		ids = ids[m:]
		at += uint32(m)
	}
}

func (s *idStore[T]) read(dst []int32, from uint32) {
	for len(dst) > 0 {
		chunk := s.chunks[from/chunkIDs][from%chunkIDs:]
		m := min(len(chunk), len(dst))
		widen(dst[:m], chunk[:m])
		dst = dst[m:]
		from += uint32(m)
	}
}

// widen copies ids to dst, which has the same length.
func widen[T uint16 | uint32](dst []int32, ids []T) {
	if narrow, ok := any(ids).([]uint16); ok {
		if hasWiden {
			widenVector(dst, narrow)
			return
		}
		if n := len(ids) &^ 7; n > 0 && hasEights {
			widenEights(dst[:n], narrow[:n])
			dst, ids = dst[n:], ids[n:]
		}
	}
	for i, id := range ids {
		dst[i] = int32(id)
	}
}

func (s *idStore[T]) capacity() int64 { return int64(len(s.chunks)) * chunkIDs }
