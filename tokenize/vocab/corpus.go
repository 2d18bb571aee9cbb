package vocab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// A corpus holds the words from which a model is trained.
type corpus struct {
	maxWords int
	list     wordList      // all words, in byte order
	sizes    map[int64]int // by count: the number of words with this count
	letters  []int64       // by character: number of occurrences in all words
	total    int64         // number of bytes in all occurrences of all words
	last     string        // the word added last
}

func newCorpus(maxWords int, list wordList) *corpus {
	return &corpus{maxWords: maxWords, list: list, sizes: map[int64]int{}, letters: make([]int64, utf8.MaxRune+1)}
}

// add adds a word with its count. It fails if the word cannot be a vocabulary
// line, is out of order, or exceeds a limit.
func (c *corpus) add(w WordCount) error {
	if reason := checkWord(w.Word); reason != "" {
		return fmt.Errorf("word %q: %s", w.Word, reason)
	}
	if w.Word <= c.last {
		return fmt.Errorf("word %q: not sorted after %q", w.Word, c.last)
	}
	if w.Count < 1 || w.Count > MaxCount {
		return fmt.Errorf("word %q: count %d: must be between 1 and %d", w.Word, w.Count, int64(MaxCount))
	}
	if c.total += w.Count * int64(len(w.Word)); c.total > math.MaxInt64/2 {
		return errors.New("the counts of all words exceed 62 bits")
	}
	c.last = w.Word
	for _, r := range w.Word {
		c.letters[r] += w.Count
	}
	c.sizes[w.Count]++
	return c.list.add(w.Count, []byte(w.Word))
}

// most calls do for the n most frequent words, at most maxWords, in byte order. Of words
// with equal counts, those that sort first are taken.
func (c *corpus) most(ctx context.Context, n int, do func(count int64, word []byte) error) error {
	least, ties := c.least(min(n, c.maxWords))
	return c.list.each(ctx, func(count int64, word []byte) error {
		if count == least {
			ties--
		}
		if count < least || count == least && ties < 0 {
			return nil
		}
		return do(count, word)
	})
}

// least returns the lowest count among the n most frequent words, and the number of words
// with this count among them. Both are 0 if there are fewer than n words.
func (c *corpus) least(n int) (count int64, words int) {
	left := n
	for _, count := range slices.Backward(slices.Sorted(maps.Keys(c.sizes))) {
		if left <= c.sizes[count] {
			return count, left
		}
		left -= c.sizes[count]
	}
	return 0, 0
}
