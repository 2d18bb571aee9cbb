package pretrain

import (
	"fmt"
	"slices"

	"pretext/records"
)

// longestSentence is the largest number of tokens of a sentence in a record of
// [newSentenceSplitter]. Megatron-LM leaves out every document with a longer one
// (LONG_SENTENCE_LEN in megatron/core/datasets/helpers.cpp).
const longestSentence = 512

// sentencesRecipe is the recipe for whole documents whose sentences are known, without
// special tokens and masks.
func sentencesRecipe() Recipe {
	r := tokensRecipe()
	r.Name, r.About, r.Form = "sentences", "ids of documents with the lengths of sentences, no masks", records.Sentences
	r.WholeTexts, r.Unsplit = false, false
	r.New = func(o Options, v Vocab, _ Scratch) (Maker, error) { return newSentenceSplitter(o, v) }
	r.Check = func(_ Options, _ records.Rules, e *records.Example) error {
		if n := slices.Max(e.SentenceLengths); n > longestSentence {
			return fmt.Errorf("a sentence of %d tokens, want at most %d", n, longestSentence)
		}
		return nil
	}
	return r
}

// newSentenceSplitter returns a [Splitter] that makes records of the form
// [records.Sentences]: those of [NewSplitter], with the token count of each sentence.
// Readers that make pairs of segments when they make a batch need the counts. A sentence of
// more than 512 tokens is divided into as few parts of about equal length as possible, and
// each part counts as a sentence.
func newSentenceSplitter(o Options, v Vocab) (*Splitter, error) {
	b, err := NewSplitter(o, v)
	if err != nil {
		return nil, err
	}
	b.encoder = b.encoder.For(records.Sentences)
	return b, nil
}

// sentenceLengths appends the numbers of tokens of the sentences in s, which is text of a
// document, to lengths.
func (c *Corpus) sentenceLengths(lengths []int32, document uint32, s span) []int32 {
	first, end := c.sentences(document)
	ends := c.sentenceEnds[first:end]
	i, _ := slices.BinarySearch(ends, s.from+1) // the sentence of the first token
	for ; s.from < s.to; i++ {
		to := min(ends[i], s.to)
		n := int(to - s.from)
		parts := (n + longestSentence - 1) / longestSentence
		for part := range parts {
			lengths = append(lengths, int32((part+1)*n/parts-part*n/parts))
		}
		s.from = to
	}
	return lengths
}
