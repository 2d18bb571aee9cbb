// Package tokenize turns text into the token ids of BERT's WordPiece model,
// exactly as tokenization.py of google-research/bert does, some 200 times as
// fast.
//
//	vocab, err := tokenize.LoadVocab(file)
//	...
//	tok, err := tokenize.New(vocab, tokenize.DefaultOptions())
//	...
//	enc := tok.NewEncoder() // one a goroutine
//	for _, sentence := range sentences {
//		ids = enc.AppendIDs(ids[:0], sentence)
//	}
//
// # What is computed
//
// AppendIDs(text) = convert_tokens_to_ids(FullTokenizer.tokenize(text)):
//
//  1. Clean: drop what is not valid UTF-8, U+0000, U+FFFD and all control and
//     format characters (Cc, Cf) except tab, LF and CR. What stood around a
//     dropped character is joined.
//  2. Split at white space: tab, LF, CR, and categories Zs, Zl and Zp. Every
//     ideograph (eight CJK blocks) is a word of its own.
//  3. In uncased mode: lower-case by the full rules of Unicode (final sigma
//     included), decompose (NFD), drop accents (Mn).
//  4. Every punctuation character (P*, and all of ASCII that is neither letter
//     nor digit) is a word of its own.
//  5. A word of more than 200 characters is [UNK]. Any other is cut greedily into
//     the longest pieces of the vocabulary, those after the first with "##" in
//     front; a word that cannot be cut is [UNK].
//
// A special token in the text is text: "[MASK]" becomes "[", "mask", "]".
//
// That is the default profile; [Profile] has a table of how the tokenizers of
// NVIDIA and Hugging Face differ, whose rules can be followed instead.
//
// [Encoder.AppendOffsets] also says where in the text each token comes from. What
// begins a word, which masking of whole words needs, is told by the ids: all but
// those of [Vocab.IsSubword].
//
// White space, punctuation, case and accents are those of the Unicode version
// in [UnicodeVersion], from tables that are part of this package, whatever the
// Go toolchain: the same text gives the same ids for ever. The reference takes
// them from the Python it runs under.
//
// # Sharing
//
// [Vocab] and [Tokenizer] do not change and may be shared. An [Encoder] and a
// [WordSplitter] belong to one goroutine each. Results do not depend on what an
// encoder did before.
//
// # How
//
// Text is read eight bytes at a time: a word of ASCII letters and digits is
// found, lower-cased and packed into two integers without looking at single
// bytes, then looked up in a cache of the encoder that holds the ids of words
// seen before. So is text in other scripts, piece by piece between white space or
// punctuation of ASCII; ideographs and punctuation beyond ASCII have a table. What is in
// no cache is normalized character by character with one table look-up each and
// cut on a double-array trie. No step allocates.
//
// Time is linear in the text, whatever it is. Memory is 6 MiB for an encoder,
// about 1 MB for the trie of bert-base-uncased, and nothing that grows with the
// text but the result; under other profiles than google also a copy of a text
// that is not valid UTF-8.
package tokenize

import (
	"fmt"
	"unicode/utf8"
)

// A Tokenizer holds what encoders share. It does not change and may be shared.
type Tokenizer struct {
	vocab   *Vocab
	options Options
	trie    *trie
	rules   *rules
	special []specialToken // those that the profile keeps whole in a text
	ascii   [256]int32     // of a byte that is a word: its id; else one of the below
	wide    []int32        // the same of the characters from wideFirst to wideLast
}

// The characters of three bytes whose ids are looked up at once: punctuation,
// symbols, and the ideographs in use.
const (
	wideFirst = 0x2000
	wideLast  = 0x9fff
)

// What a byte is that is not a word of its own.
const (
	asciiSpace = -1 // white space
	asciiOther = -2 // part of a word, deleted, or not ASCII
)

// New returns a tokenizer for a vocabulary.
func New(v *Vocab, o Options) (*Tokenizer, error) {
	if v == nil {
		return nil, fmt.Errorf("new tokenizer: no vocabulary")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("new tokenizer: %w", err)
	}
	t := &Tokenizer{vocab: v, options: o, trie: newTrie(v.tokens, o.maxChars()), rules: newRules(o)}
	if o.Profile == ProfileNVIDIA || o.Profile == ProfileHF {
		t.special = v.specials()
	}
	for b := range t.ascii {
		if t.ascii[b] = asciiOther; b < utf8.RuneSelf {
			t.ascii[b] = t.aloneID(rune(b))
		}
	}
	t.wide = make([]int32, wideLast-wideFirst+1)
	for i := range t.wide {
		t.wide[i] = t.aloneID(wideFirst + rune(i))
	}
	return t, nil
}

// aloneID returns the entry of Tokenizer.ascii or wide for a character.
func (t *Tokenizer) aloneID(r rune) int32 {
	c := t.rules.classes.of(r)
	switch kind := c & kindMask; {
	case kind == kindSpace:
		return asciiSpace
	case kind != kindPunct && kind != kindCJK, (t.options.DoLowerCase || t.options.stripAccents()) && c&lowerMask != lowerSame:
		return asciiOther
	}
	if id, ok := t.vocab.ID(string(r)); ok {
		return id
	}
	return t.vocab.unk
}

// Vocab returns the vocabulary.
func (t *Tokenizer) Vocab() *Vocab { return t.vocab }

// Options returns the options.
func (t *Tokenizer) Options() Options { return t.options }
