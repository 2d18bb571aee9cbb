package vocab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/tokenize"
)

// subwordPrefix begins the tokens that continue a word.
const subwordPrefix = "##"

// Train learns a vocabulary from words and returns its tokens. The words must
// ascend in byte order without duplicates, as [Merge] yields them. Train stops
// at the first error of words or of ctx.
//
// The result has fewer than VocabSize tokens if the text has too few different
// words. It is an error if VocabSize is too small for the special tokens and
// the alphabet.
func Train(ctx context.Context, words iter.Seq2[WordCount, error], o Options) ([]string, error) {
	c, err := o.corpus(ctx, words)
	if err != nil {
		return nil, err
	}
	v := newVocabulary(tokenize.SpecialTokens())
	v.addAlphabet(c, o.LimitAlphabet)
	if len(v.tokens) > o.VocabSize {
		return nil, fmt.Errorf("train vocabulary: vocab_size %d: too small for the special tokens and the characters of the text, %d together (limit_alphabet %d)",
			o.VocabSize, len(v.tokens), o.LimitAlphabet)
	}
	if err := newMerger(c, v, o.MinFrequency).run(ctx, o.VocabSize); err != nil {
		return nil, fmt.Errorf("train vocabulary: %w", err)
	}
	return v.tokens, nil
}

// corpus returns the words to learn from.
func (o Options) corpus(ctx context.Context, words iter.Seq2[WordCount, error]) (*corpus, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("train vocabulary: %w", err)
	}
	c := newCorpus(o.MaxWords)
	for w, err := range words {
		if err == nil && len(c.words)%checkEvery == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = c.add(w)
		}
		if err != nil {
			return nil, fmt.Errorf("train vocabulary: %w", err)
		}
	}
	c.prune()
	return c, nil
}

// checkEvery is the number of words between two checks of ctx.
const checkEvery = 4096

// maxSymbols limits the total number of characters of all distinct words. A
// merger makes at most three links for each character, and their indexes must
// fit an int32.
const maxSymbols = 1 << 29

// A corpus holds the words to learn from.
type corpus struct {
	maxWords int
	words    []word  // in ascending order
	symbols  []int32 // all words concatenated: characters, later tokens
	letters  []int64 // occurrences of each character in all words
	total    int64   // number of characters in all words
	last     string  // the word added last
}

type word struct {
	count int64
	start int   // index of the first symbol in corpus.symbols
	n     int32 // number of symbols
}

func newCorpus(maxWords int) *corpus {
	return &corpus{maxWords: maxWords, letters: make([]int64, utf8.MaxRune+1)}
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
	start := len(c.symbols)
	for _, r := range w.Word {
		c.letters[r] += w.Count
		c.symbols = append(c.symbols, r)
	}
	c.words = append(c.words, word{count: w.Count, start: start, n: int32(len(c.symbols) - start)})
	if len(c.words) >= 2*c.maxWords {
		c.prune()
	}
	if len(c.symbols) > maxSymbols {
		return fmt.Errorf("more than %d characters in %d words: lower max_words", maxSymbols, len(c.words))
	}
	return nil
}

// prune keeps only the maxWords most frequent words. Of equally frequent words
// it keeps those that sort first.
func (c *corpus) prune() {
	if len(c.words) <= c.maxWords {
		return
	}
	counts := make([]int64, len(c.words))
	for i, w := range c.words {
		counts[i] = w.count
	}
	slices.Sort(counts)
	least := counts[len(counts)-c.maxWords]
	first, _ := slices.BinarySearch(counts, least+1)
	ties := c.maxWords - (len(counts) - first) // number of words with the lowest kept count that stay
	kept, end := c.words[:0], 0
	for _, w := range c.words {
		if w.count == least {
			ties--
		}
		if w.count < least || w.count == least && ties < 0 {
			continue
		}
		copy(c.symbols[end:], c.symbols[w.start:w.start+int(w.n)])
		w.start = end
		end += int(w.n)
		kept = append(kept, w)
	}
	c.words, c.symbols = kept, c.symbols[:end]
}

// A vocabulary is the list of tokens learned so far.
type vocabulary struct {
	tokens []string
	ids    map[string]int32
	plain  bool       // tokens that continue a word have no prefix
	merges [][2]int32 // the tokens joined, in order; only with plain
}

func newVocabulary(tokens []string) *vocabulary {
	v := &vocabulary{ids: map[string]int32{}}
	for _, token := range tokens {
		v.add(token)
	}
	return v
}

// add returns the id of a token, adding it if it is new.
func (v *vocabulary) add(token string) int32 {
	id, ok := v.ids[token]
	if !ok {
		id = int32(len(v.tokens))
		v.tokens = append(v.tokens, token)
		v.ids[token] = id
	}
	return id
}

// join adds the concatenation of two neighbouring tokens and returns its id.
func (v *vocabulary) join(left, right int32) int32 {
	if v.plain {
		v.merges = append(v.merges, [2]int32{left, right})
		return v.add(v.tokens[left] + v.tokens[right])
	}
	return v.add(v.tokens[left] + strings.TrimPrefix(v.tokens[right], subwordPrefix))
}

// addAlphabet adds the limit most frequent characters to the vocabulary and
// converts the words of c from characters to tokens. Other characters are
// dropped from the words.
func (v *vocabulary) addAlphabet(c *corpus, limit int) {
	const (
		first = 0 // a character at the beginning of a word
		later = 1 // a character after it
		none  = -1
	)
	ids := [2][]int32{slices.Repeat([]int32{none}, len(c.letters)), slices.Repeat([]int32{none}, len(c.letters))}
	alphabet := topLetters(c.letters, limit)
	for _, r := range alphabet {
		ids[first][r] = v.add(string(r))
	}
	continues := make([]bool, len(c.letters))
	for _, w := range c.words {
		for _, r := range c.symbols[w.start+1 : w.start+int(w.n)] {
			continues[r] = true
		}
	}
	for _, r := range alphabet {
		if continues[r] {
			ids[later][r] = v.add(subwordPrefix + string(r))
		}
	}
	for i := range c.words {
		w := &c.words[i]
		kept := c.symbols[w.start:w.start]
		for j, r := range c.symbols[w.start : w.start+int(w.n)] {
			if id := ids[min(j, later)][r]; id != none {
				kept = append(kept, id)
			}
		}
		w.n = int32(len(kept))
	}
}

// topLetters returns the limit most frequent characters, in ascending order.
// counts is indexed by character. Of equally frequent characters, the lower
// code points are chosen.
func topLetters(counts []int64, limit int) []rune {
	var letters []rune
	for r, n := range counts {
		if n > 0 {
			letters = append(letters, rune(r))
		}
	}
	slices.SortStableFunc(letters, func(a, b rune) int { return cmp.Compare(counts[b], counts[a]) })
	letters = letters[:min(limit, len(letters))]
	slices.Sort(letters)
	return letters
}
