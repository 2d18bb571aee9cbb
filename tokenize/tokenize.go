// Package tokenize turns text into the token ids of BERT's WordPiece model. The ids are
// exactly those of tokenization.py of google-research/bert; encoding is about 200 times as
// fast.
//
//	vocab, err := tokenize.LoadVocab(file)
//	...
//	tok, err := tokenize.New(vocab, tokenize.DefaultOptions())
//	...
//	enc := tok.NewEncoder() // one for each goroutine
//	for _, sentence := range sentences {
//		ids = enc.AppendIDs(ids[:0], sentence)
//	}
//
// # Algorithm
//
// AppendIDs(text) = convert_tokens_to_ids(FullTokenizer.tokenize(text)):
//
//  1. Clean: drop what is not valid UTF-8, U+0000, U+FFFD and all control and
//     format characters (Cc, Cf) except tab, LF and CR. The text around a
//     dropped character is joined.
//  2. Split at white space: tab, LF, CR, and categories Zs, Zl and Zp. Every
//     ideograph (eight CJK blocks) is a word of its own.
//  3. In uncased mode: lower-case by the full rules of Unicode (final sigma
//     included), decompose (NFD), drop accents (Mn).
//  4. Every punctuation character (P*, and all of ASCII that is neither a
//     letter nor a digit) is a word of its own.
//  5. A word of more than 200 characters is [UNK]. Any other word is split
//     greedily into the longest pieces in the vocabulary; pieces after the
//     first have "##" in front. A word that cannot be split this way is [UNK].
//
// A special token in the text is treated as text: "[MASK]" becomes "[", "mask",
// "]".
//
// This is the default profile. [Profile] selects the rules of NVIDIA's or
// Hugging Face's tokenizer instead; it has a table of the differences.
//
// [Encoder.AppendOffsets] also returns the location of each token in the text.
// For whole-word masking, a token begins a word unless [Vocab.IsSubword] is
// true for its id.
//
// White space, punctuation, case and accents follow the Unicode version
// [UnicodeVersion]. The tables are part of this package, so the ids do not
// depend on the Go version. The reference uses the Unicode version of its
// Python.
//
// # Concurrency
//
// [Vocab] and [Tokenizer] are immutable and may be shared. An [Encoder] or a
// [WordSplitter] must not be used by several goroutines at once. Results do not
// depend on earlier calls.
//
// # Implementation and cost
//
// Text is cut into words of ASCII letters and digits, ASCII punctuation and runs of other
// text, 64 bytes at a time, with AVX2 if the processor has it. The words of up to a
// kilobyte of text are found, lower-cased and packed into two integers each before they are
// looked up in the encoder's cache of words, so that the cache lines can be prefetched.
// Text in other scripts is looked up in pieces between ASCII white space or punctuation;
// ideographs and punctuation beyond ASCII have a table of ids. A word that is not cached is
// normalized with one table lookup for each character and split with a double-array trie.
// Nothing allocates.
//
// Time is linear for any text. Memory is 8 MiB for an encoder, about 1 MB for
// the trie of bert-base-uncased, and the result. Profiles other than google
// also copy a text that is not valid UTF-8.
package tokenize

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// A Tokenizer is a vocabulary with options, prepared for encoding. It is
// immutable and may be shared.
type Tokenizer struct {
	vocab   *Vocab
	options Options
	rules   *rules
	special []specialToken // tokens that the profile keeps whole in a text

	built sync.Once // guards the fields below
	trie  *trie
	wide  []int32 // by character from wideFirst to wideLast: an id, wideSpace or wideOther
}

// The range of three-byte characters with a table of ids: punctuation, symbols
// and the common ideographs.
const (
	wideFirst = 0x2000
	wideLast  = 0x9fff
)

// Entries of Tokenizer.wide for characters that are not words by themselves.
const (
	wideSpace = -1 // white space
	wideOther = -2 // part of a word, or deleted
)

// New returns a tokenizer for v. It fails if v is nil or o is invalid.
func New(v *Vocab, o Options) (*Tokenizer, error) {
	if v == nil {
		return nil, fmt.Errorf("new tokenizer: no vocabulary")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("new tokenizer: %w", err)
	}
	t := &Tokenizer{vocab: v, options: o, rules: newRules(o)}
	if o.Profile == ProfileNVIDIA || o.Profile == ProfileHF {
		t.special = v.specials()
	}
	return t, nil
}

// build makes the tables that encoders share. The first NewEncoder calls it, not New,
// because it takes longer than everything else and a tokenizer that is only validated does
// not need the tables.
func (t *Tokenizer) build() {
	t.trie = newTrie(t.vocab.tokens, t.options.MaxChars())
	t.wide = make([]int32, wideLast-wideFirst+1)
	for i := range t.wide {
		t.wide[i] = t.alone(wideFirst + rune(i))
	}
	for id, token := range t.vocab.tokens {
		if len(token) != 3 || token[0] < firstWideLead || token[0] > lastWideLead {
			continue
		}
		r, size := utf8.DecodeRuneInString(token)
		if size == 3 && wideFirst <= r && r <= wideLast && t.wide[r-wideFirst] >= 0 {
			t.wide[r-wideFirst] = int32(id)
		}
	}
}

// alone returns the entry of Tokenizer.wide for r, if the vocabulary lacks r: the id of
// [UNK], wideSpace or wideOther.
func (t *Tokenizer) alone(r rune) int32 {
	c := t.rules.classes.of(r)
	switch kind := c & kindMask; {
	case kind == kindSpace:
		return wideSpace
	case kind != kindPunct && kind != kindCJK, (t.options.DoLowerCase || t.options.StripsAccents()) && c&lowerMask != lowerSame:
		return wideOther
	}
	return t.vocab.unk
}

// Vocab returns the vocabulary.
func (t *Tokenizer) Vocab() *Vocab { return t.vocab }

// Options returns the options.
func (t *Tokenizer) Options() Options { return t.options }
