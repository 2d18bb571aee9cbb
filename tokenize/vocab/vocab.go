// Package vocab trains WordPiece vocabularies, and tokenizers of the kinds
// byte-level BPE and Unigram.
//
// Parallel tasks count words, the counts are merged, and one trainer learns the
// tokens:
//
//	counts, err := vocab.NewCounts(options) // in every task
//	for _, text := range documents {
//		counts.Add(text)
//	}
//	_, err = counts.WriteTo(file)
//	...
//	trainer := vocab.Trainer{Options: options, Temp: temp} // once
//	tokens, err := trainer.Vocabulary(ctx, vocab.Merge(files...))
//	err = vocab.Write(out, tokens)
//
// For models other than WordPiece, call [Trainer.Tokenizer] instead of Vocabulary. Their
// words are the words that the tokenizer will pass to its model; see docs/tokenizers.md.
// The rest of this comment describes WordPiece.
//
// # Word counts
//
// A word-counts file has one line for each word, "word TAB count LF". Lines are
// sorted by the bytes of the word, without duplicates. Counts are decimal
// without sign or leading zeros. [Merge] merges any number of such files.
//
// # Algorithm
//
// The algorithm is that of Hugging Face's BertWordPieceTrainer: byte-pair
// encoding on words, with "##" in front of tokens that continue a word.
//
//  1. The alphabet: the LimitAlphabet most frequent characters.
//  2. A word is the list of its characters in the alphabet, those after the
//     first with "##" in front. Other characters are dropped.
//  3. The vocabulary begins with the special tokens, the alphabet, and the
//     characters with "##" that occur, both in the order of code points.
//  4. The most frequent pair of neighbouring tokens is joined to a new token,
//     in all words. This is repeated until VocabSize is reached or no pair
//     occurs MinFrequency times. Of equally frequent pairs, the one with the
//     smaller id of the left token, then of the right token, comes first.
//
// The result depends only on the counts and the options, byte for byte, however
// the counting is divided. The original trainer's result changes from run to
// run, because its order in step 3 is that of a hash table. On large texts
// about one token in a thousand differs from the original, as between two runs
// of the original.
//
// # Concurrency and memory
//
// A [Counts] must not be used by several goroutines at once. It takes about 50
// bytes for each distinct word; see [Counts.Size]. [Merge] takes 16 KiB for
// each file. A [Trainer] with temporary files takes the same memory for any
// number of words, about 200 MB; Unigram takes about 400.
package vocab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pretext/tokenize"
)

// Options configures counting and training. Start from [DefaultOptions] and change fields;
// [Options.Validate] reports all problems at once.
type Options struct {
	// Model is [WordPiece], [BPE] or [Unigram]; "" means WordPiece.
	Model string `json:"model,omitempty"`

	// VocabSize is the number of tokens to learn, special tokens included.
	VocabSize int `json:"vocab_size"`

	// LimitAlphabet is the maximum number of different characters. Other
	// characters become [UNK]. BPE has no limit: its characters are bytes.
	LimitAlphabet int `json:"limit_alphabet"`

	// MinFrequency is the minimum number of occurrences of a pair that becomes a token, at
	// least 1.
	MinFrequency int64 `json:"min_frequency"`

	// MaxWords limits the memory of training: only the most frequent words are used. Of
	// words with equal counts, those that sort first are used. The alphabet is taken from
	// all words.
	MaxWords int `json:"max_words"`

	// DoLowerCase counts words in lower case and without accents. WordPiece only.
	DoLowerCase bool `json:"do_lower_case"`

	// TokenizerProfile selects how text is split into words: which characters
	// are deleted, how long a word may be, the lower case of a capital sigma.
	// Empty means [tokenize.ProfileGoogle]. WordPiece only.
	TokenizerProfile tokenize.Profile `json:"tokenizer_profile,omitempty"`
}

// DefaultOptions returns the options for a vocabulary like that of
// bert-base-uncased.
func DefaultOptions() Options {
	return Options{
		VocabSize:     30522,
		LimitAlphabet: 1000,
		MinFrequency:  2,
		MaxWords:      2_000_000,
		DoLowerCase:   true,

		TokenizerProfile: tokenize.ProfileGoogle,
	}
}

const (
	maxVocabSize = 2_000_000 // four times the largest multilingual vocabularies
	maxMaxWords  = 1 << 24   // more than the distinct words of all Wikipedias
)

// Validate returns all problems of o, joined by [errors.Join].
func (o Options) Validate() error {
	var errs []error
	if special := len(tokenize.SpecialTokens()); o.VocabSize <= special || o.VocabSize > maxVocabSize {
		errs = append(errs, fmt.Errorf("vocab_size %d: must be between %d and %d", o.VocabSize, special+1, maxVocabSize))
	}
	if least := len(tokenize.SpecialTokens()) + 256; o.Model == BPE && o.VocabSize < least {
		errs = append(errs, fmt.Errorf("vocab_size %d: too small for the special tokens and the bytes, %d together", o.VocabSize, least))
	}
	if o.LimitAlphabet < 1 {
		errs = append(errs, fmt.Errorf("limit_alphabet %d: must be at least 1", o.LimitAlphabet))
	}
	if o.MinFrequency < 1 {
		errs = append(errs, fmt.Errorf("min_frequency %d: must be at least 1", o.MinFrequency))
	}
	if o.MaxWords < 1 || o.MaxWords > maxMaxWords {
		errs = append(errs, fmt.Errorf("max_words %d: must be between 1 and %d", o.MaxWords, maxMaxWords))
	}
	if o.Model != "" && !slices.Contains(models(), o.Model) {
		errs = append(errs, fmt.Errorf("model %q: unknown, want one of %q", o.Model, models()))
	}
	if p := o.TokenizerProfile; p != "" && !slices.Contains(tokenize.Profiles(), p) {
		errs = append(errs, fmt.Errorf("tokenizer_profile %q: unknown, want one of %q", p, tokenize.Profiles()))
	}
	return errors.Join(errs...)
}

// Write writes tokens as a vocab.txt, one token on each line.
func Write(w io.Writer, tokens []string) error {
	out := bufio.NewWriter(w)
	for i, token := range tokens {
		if strings.Contains(token, "\n") {
			return fmt.Errorf("write vocabulary: token %d %q: contains a line end", i, token)
		}
		out.WriteString(token)
		out.WriteByte('\n')
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write vocabulary: %w", err)
	}
	return nil
}
