package vocab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/tokenize"
)

// subwordPrefix is the prefix of tokens that continue a word.
const subwordPrefix = "##"

// A Trainer learns a vocabulary or a tokenizer from word counts.
type Trainer struct {
	Options

	// Temp creates temporary files for words that do not fit in memory. If it is nil, all
	// words are held in memory. It is not called by several goroutines at once.
	Temp func() (TempFile, error)

	symbols int // characters of words in memory; 0 means maxSymbols
	memory  int // bytes of a list of words in memory; 0 means listMemory
}

// list returns an empty list of words.
func (t Trainer) list() wordList { return wordList{temp: t.Temp, memory: t.memory} }

// Vocabulary learns a WordPiece vocabulary from words and returns its tokens. The
// words must ascend in byte order without duplicates, as [Merge] yields them. It
// stops at the first error of words or of ctx.
//
// The result has fewer than VocabSize tokens if the text has too few different
// words. It is an error if VocabSize is too small for the special tokens and
// the alphabet.
func (t Trainer) Vocabulary(ctx context.Context, words iter.Seq2[WordCount, error]) ([]string, error) {
	tokens, err := t.vocabulary(ctx, words)
	if err != nil {
		return nil, fmt.Errorf("train vocabulary: %w", err)
	}
	return tokens, nil
}

func (t Trainer) vocabulary(ctx context.Context, words iter.Seq2[WordCount, error]) (tokens []string, err error) {
	c, err := t.corpus(ctx, words)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.list.close()) }()
	v := newVocabulary(tokenize.SpecialTokens())
	spelling, err := v.addAlphabet(ctx, c, t.LimitAlphabet)
	if err != nil {
		return nil, err
	}
	if len(v.tokens) > t.VocabSize {
		return nil, &sizeError{t.VocabSize, len(v.tokens), t.LimitAlphabet}
	}
	if err := t.learn(ctx, c, v, spelling); err != nil {
		return nil, err
	}
	return v.tokens, nil
}

// learn adds tokens to v until it has VocabSize of them or no pair is frequent
// enough.
func (t Trainer) learn(ctx context.Context, c *corpus, v *vocabulary, s spelling) (err error) {
	l := &learner{vocab: v, merger: newMerger(v, t.MinFrequency), empty: t.list(), limit: cmp.Or(t.symbols, maxSymbols)}
	defer func() { err = errors.Join(err, l.list.close()) }()
	if err := l.spell(ctx, c, s); err != nil {
		return err
	}
	return l.run(ctx, t.VocabSize)
}

// corpus reads the words into a new corpus.
func (t Trainer) corpus(ctx context.Context, words iter.Seq2[WordCount, error]) (*corpus, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	c := newCorpus(t.MaxWords, t.list())
	for w, err := range words {
		if err == nil && c.list.n%checkEvery == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = c.add(w)
		}
		if err != nil {
			return nil, errors.Join(err, c.list.close())
		}
	}
	return c, nil
}

// checkEvery is the number of words between two checks of ctx.
const checkEvery = 4096

// A vocabulary is the list of tokens learned so far.
type vocabulary struct {
	tokens []string
	ids    map[string]int32
	plain  bool       // tokens that continue a word have no prefix
	merges [][2]int32 // the two tokens of each merge, in order; only with plain
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

// A spelling maps characters, by code point, to tokens: spelling[first] for a character
// that begins a word, spelling[later] for any other. Characters without a token (noToken)
// are dropped.
type spelling [2][]int32

const (
	first   = 0 // for the first character of a word
	later   = 1 // for all others
	noToken = -1
)

func newSpelling() spelling {
	return spelling{slices.Repeat([]int32{noToken}, utf8.MaxRune+1), slices.Repeat([]int32{noToken}, utf8.MaxRune+1)}
}

// addAlphabet adds the most frequent characters, at most limit, to the vocabulary, and
// returns their tokens.
func (v *vocabulary) addAlphabet(ctx context.Context, c *corpus, limit int) (spelling, error) {
	s := newSpelling()
	alphabet := topLetters(c.letters, limit)
	for _, r := range alphabet {
		s[first][r] = v.add(string(r))
	}
	continues := make([]bool, len(c.letters))
	err := c.most(ctx, c.maxWords, func(_ int64, word []byte) error {
		_, size := utf8.DecodeRune(word)
		for _, r := range string(word[size:]) {
			continues[r] = true
		}
		return nil
	})
	for _, r := range alphabet {
		if continues[r] {
			s[later][r] = v.add(subwordPrefix + string(r))
		}
	}
	return s, err
}

// topLetters returns the most frequent characters, at most limit, in ascending order.
// counts is indexed by character. Of characters with equal counts, lower code points are
// preferred.
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

// A sizeError reports that VocabSize is too small for the text.
type sizeError struct{ size, least, alphabet int }

func (e *sizeError) Error() string {
	return fmt.Sprintf("vocab_size %d: too small for the special tokens and the characters of the text, %d together (limit_alphabet %d)", e.size, e.least, e.alphabet)
}

// Usage marks the error as a usage error, which determines the exit code.
func (e *sizeError) Usage() bool { return true }
