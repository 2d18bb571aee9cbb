package pretrain

import (
	"errors"
	"fmt"
	"math"
)

// A Corpus is documents of sentences of token ids, held compactly. What the
// original script drops is dropped here: sentences without tokens, and
// documents without sentences.
//
// It must not be changed while a [Builder] reads it, and may be read by many.
type Corpus struct {
	vocabSize int
	narrow    idStore[uint16] // in use while every id fits
	wide      idStore[uint32] // in use otherwise
	isWide    bool
	marked    bool // ids may carry Continues

	tokens       uint32
	sentenceEnds []uint32 // in tokens
	documentEnds []uint32 // in sentences
}

// maxTokens is what a corpus can hold: its marks have 32 bits.
const maxTokens = math.MaxUint32

// NewCorpus returns an empty corpus of ids below vocabSize.
func NewCorpus(vocabSize int) *Corpus {
	return &Corpus{vocabSize: max(0, vocabSize), isWide: vocabSize > 1<<16}
}

// Continues marks an id of a sentence that continues the word of the id before
// it, in a corpus of [NewMarkedCorpus].
const Continues int32 = 1 << 30

// NewMarkedCorpus returns an empty corpus of ids below vocabSize, to each of
// which [Continues] may be added. It takes four bytes a token.
func NewMarkedCorpus(vocabSize int) *Corpus {
	return &Corpus{vocabSize: max(0, vocabSize), isWide: true, marked: true}
}

// AddSentence appends a sentence to the document at the end. It keeps nothing
// of ids. An id outside of the vocabulary is an error, and so is a corpus of
// more than 2^32-1 tokens; the sentence is not added then.
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
			return fmt.Errorf("add sentence: id %d is not in a vocabulary of %d", id, c.vocabSize)
		}
	}
	if uint64(len(ids)) > maxTokens-uint64(c.tokens) {
		return fmt.Errorf("add sentence: more than %d tokens: use more shards", uint32(maxTokens))
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

// EndDocument ends the document that [Corpus.AddSentence] appends to. Without
// a sentence since the last call there is none, and nothing happens. The last
// document must be ended too.
func (c *Corpus) EndDocument() {
	if n := uint32(len(c.sentenceEnds)); n > c.endedSentences() {
		c.documentEnds = append(c.documentEnds, n)
	}
}

// endedSentences is the number of sentences in ended documents.
func (c *Corpus) endedSentences() uint32 {
	if len(c.documentEnds) == 0 {
		return 0
	}
	return c.documentEnds[len(c.documentEnds)-1]
}

// Reset empties the corpus and keeps its memory for the next documents.
func (c *Corpus) Reset() {
	c.tokens = 0
	c.sentenceEnds = c.sentenceEnds[:0]
	c.documentEnds = c.documentEnds[:0]
}

// Documents returns the number of ended documents.
func (c *Corpus) Documents() int { return len(c.documentEnds) }

// Sentences returns the number of sentences.
func (c *Corpus) Sentences() int { return len(c.sentenceEnds) }

// Tokens returns the number of tokens.
func (c *Corpus) Tokens() int64 { return int64(c.tokens) }

// MemoryBytes returns the memory that the corpus holds.
func (c *Corpus) MemoryBytes() int64 {
	return 2*c.narrow.capacity() + 4*c.wide.capacity() +
		4*int64(cap(c.sentenceEnds)) + 4*int64(cap(c.documentEnds))
}

var errOpenDocument = errors.New("the last document of the corpus is not ended")

func (c *Corpus) validate() error {
	if int(c.endedSentences()) != len(c.sentenceEnds) {
		return errOpenDocument
	}
	return nil
}

// sentences returns the first sentence of a document and the one after its
// last.
func (c *Corpus) sentences(document uint32) (first, end uint32) {
	if document > 0 {
		first = c.documentEnds[document-1]
	}
	return first, c.documentEnds[document]
}

// tokenStart returns the place of a sentence's first token.
func (c *Corpus) tokenStart(sentence uint32) uint32 {
	if sentence == 0 {
		return 0
	}
	return c.sentenceEnds[sentence-1]
}

// read copies the tokens of a span to dst, which has its length.
func (c *Corpus) read(dst []int32, s span) {
	if c.isWide {
		c.wide.read(dst, s.from)
	} else {
		c.narrow.read(dst, s.from)
	}
}

// A span is a stretch of a corpus, in tokens.
type span struct{ from, to uint32 }

func (s span) len() int { return int(s.to - s.from) }

// An idStore is a long array in chunks: it grows without copying what it
// holds.
type idStore[T uint16 | uint32] struct {
	chunks [][]T
}

// chunkIDs is the length of a chunk. All but the last document's share of one
// is in use, so that it is what a small shard costs.
const chunkIDs = 1 << 15

// append writes ids at a place that is the end of what was written so far.
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
		for i, id := range chunk[:m] {
			dst[i] = int32(id)
		}
		dst = dst[m:]
		from += uint32(m)
	}
}

func (s *idStore[T]) capacity() int64 { return int64(len(s.chunks)) * chunkIDs }
