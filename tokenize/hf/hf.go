// Package hf reads Hugging Face's tokenizer.json and encodes text with it, for
// tokenizers that are not a BERT vocabulary.
//
//	tok, err := hf.Load("tokenizer.json", data)
//	...
//	enc := tok.NewEncoder() // one for each goroutine
//	for _, sentence := range sentences {
//		ids = enc.AppendIDs(ids[:0], sentence)
//	}
//
// # Supported files
//
// There are two kinds of supported files:
//
//   - BERT: BertNormalizer, BertPreTokenizer and a WordPiece model. Ids equal
//     those of package tokenize with [tokenize.ProfileHF].
//   - Byte-level BPE, as in GPT-2 and RoBERTa: no normalizer, the ByteLevel
//     pre-tokenizer, a BPE model without dropout, affixes or byte fallback.
//
// [Load] rejects every other file with an error that names the unsupported
// part, so that ids are never wrong silently. Ids are those of the text alone.
// The caller adds the special tokens that a post-processor would add, as with
// package tokenize.
//
// # Use of sugarme/tokenizer
//
// github.com/sugarme/tokenizer parses the vocabulary and the merges of BPE; a
// guard turns its panics into errors. Its encoder is not used: it can end the
// process (log.Fatal), splits white space at the end of a text differently from
// GPT-2, and applies equal merges in the wrong order ("2000").
//
// # Concurrency and cost
//
// A [Tokenizer] is immutable and may be shared. An [Encoder] must not be used
// by several goroutines at once. Time is linear in the text, times the
// logarithm of its longest word. Memory is the tables, a word cache of a few
// MB, and the longest word.
package hf

import (
	"encoding/json"
	"fmt"

	"pretext/tokenize"
)

// maxFile is the maximum size of a tokenizer.json in bytes; the largest in use
// have about 30 MB.
const maxFile = 128 << 20

// A Tokenizer is a parsed tokenizer.json. It is immutable and may be shared.
type Tokenizer struct {
	bert     *tokenize.Tokenizer // nil if the model is BPE
	bpe      *byteLevel          // nil if the model is WordPiece
	tokens   []string            // by id; "" for an unused id
	specials Specials
	missing  error // why specials cannot be used; nil if they can
}

// Load parses the content of a tokenizer.json. Errors begin with name.
func Load(name string, data []byte) (*Tokenizer, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes: not a tokenizer", name, maxFile)
	}
	var c config
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t := &Tokenizer{}
	var err error
	switch kind := c.Model.kind(); kind {
	case "WordPiece":
		t.bert, err = c.bert()
	case "BPE":
		t.bpe, err = c.byteLevel()
	default:
		err = fmt.Errorf("model %q: not supported, only WordPiece and BPE are", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if t.tokens, err = c.tokens(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if t.specials, err = c.specials(t.tokens); err != nil {
		t.missing = fmt.Errorf("%s: no examples can be made with it: %w", name, err)
	}
	return t, nil
}

// Len returns the number of ids, which are 0 to Len()-1.
func (t *Tokenizer) Len() int { return len(t.tokens) }

// Token returns the token of an id as the file writes it ("Ġthe"), or "" for an
// unused id. The id must be between 0 and Len()-1.
func (t *Tokenizer) Token(id int32) string { return t.tokens[id] }

// Specials returns the ids of the special tokens that examples need, or an
// error that names the missing ones.
func (t *Tokenizer) Specials() (Specials, error) { return t.specials, t.missing }

// WordPiece returns the tokenizer of a WordPiece model, or nil if the model is
// BPE.
func (t *Tokenizer) WordPiece() *tokenize.Tokenizer { return t.bert }

// Warning returns a warning that a program should show to the user before
// encoding much text. It is "" if there is nothing to warn of.
func (t *Tokenizer) Warning() string {
	if t.bert != nil {
		return ""
	}
	return "byte-level BPE: ids are compared with Hugging Face's on samples only, letters and digits are those of the Go toolchain's Unicode, " +
		"and encoding is some five times slower than WordPiece"
}

// An Encoder turns text into token ids. It must not be used by several
// goroutines at once.
type Encoder struct {
	bert *tokenize.Encoder
	bpe  *bpeEncoder
}

// NewEncoder returns an encoder with an empty cache.
func (t *Tokenizer) NewEncoder() *Encoder {
	if t.bert != nil {
		return &Encoder{bert: t.bert.NewEncoder()}
	}
	return &Encoder{bpe: newBPEEncoder(t.bpe)}
}

// AppendIDs appends the token ids of text to dst. Bytes that are not UTF-8 are
// dropped.
func (e *Encoder) AppendIDs(dst []int32, text string) []int32 {
	if e.bert != nil {
		return e.bert.AppendIDs(dst, text)
	}
	return e.bpe.appendIDs(dst, text)
}

// AppendIDsBytes appends the token ids of text, given as bytes, to dst. Bytes
// that are\n// not UTF-8 are dropped.
func (e *Encoder) AppendIDsBytes(dst []int32, text []byte) []int32 {
	if e.bert != nil {
		return e.bert.AppendIDsBytes(dst, text)
	}
	return e.bpe.appendIDs(dst, string(text))
}

// AppendWords appends the token ids of text to dst, as [Encoder.AppendIDs]
// does, and appends to starts, for each id, whether it begins a word. In
// byte-level BPE the words are the matches of GPT-2's regular expression: a
// word, a number, a run of punctuation, each with the space before it, or an
// ending such as "'s". An added token is a word.
func (e *Encoder) AppendWords(dst []int32, starts []bool, text string) ([]int32, []bool) {
	if e.bert == nil {
		e.bpe.starts = starts
		e.bpe.marking = true
		dst = e.bpe.appendIDs(dst, text)
		starts = e.bpe.starts
		e.bpe.starts, e.bpe.marking = nil, false
		return dst, starts
	}
	first := len(dst)
	dst = e.bert.AppendIDs(dst, text)
	for _, id := range dst[first:] {
		starts = append(starts, !e.bert.Vocab().IsSubword(id))
	}
	return dst, starts
}
