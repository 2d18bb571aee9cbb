// Package hf reads Hugging Face's tokenizer.json and encodes text with it, for
// tokenizers that are not a BERT vocabulary.
//
//	tok, err := hf.Load("tokenizer.json", data)
//	...
//	enc := tok.NewEncoder() // one a goroutine
//	for _, sentence := range sentences {
//		ids = enc.AppendIDs(ids[:0], sentence)
//	}
//
// # What is read
//
// Two kinds of file:
//
//   - BERT: BertNormalizer, BertPreTokenizer and a WordPiece model. Encoding is
//     that of package tokenize under [tokenize.ProfileHF], exact and fast.
//   - Byte-level BPE, as GPT-2 and RoBERTa have it: no normalizer, the ByteLevel
//     pre-tokenizer, a BPE model without dropout, affixes or byte fallback.
//
// Every other file is refused with an error that names what is not supported:
// no id is ever given that the file does not mean. Ids are those of the text
// alone; what post-processors put around it is left to the caller, as with
// package tokenize.
//
// # The part of sugarme/tokenizer
//
// Vocabulary and merges of BPE are resolved by github.com/sugarme/tokenizer,
// behind a guard that makes errors of its panics. Its encoder is not used: it
// ends the process (log.Fatal) in places that no guard can reach, splits white
// space at the end of a text unlike GPT-2's expression, and applies equal merges
// in the wrong order ("2000").
//
// # Sharing
//
// A [Tokenizer] does not change and may be shared. An [Encoder] belongs to one
// goroutine. Time is that of a text times the logarithm of its longest word;
// memory is the tables, a cache of words (a few MB) and the longest word.
package hf

import (
	"encoding/json"
	"fmt"

	"pretext/tokenize"
)

// maxFile bounds a tokenizer.json; the largest in use have some 30 MB.
const maxFile = 128 << 20

// A Tokenizer holds what encoders share. It does not change and may be shared.
type Tokenizer struct {
	bert     *tokenize.Tokenizer // nil if the model is BPE
	bpe      *byteLevel          // nil if the model is WordPiece
	tokens   []string            // by id; "" for an id that is nobody's
	specials Specials
	missing  error // why there are no specials
}

// Load reads the content of a tokenizer.json. Errors begin with name.
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

// Len returns the number of ids: every id is less.
func (t *Tokenizer) Len() int { return len(t.tokens) }

// Token returns the token of an id as the file writes it ("Ġthe"), "" for an id
// that the file gives to none. The id must be between 0 and Len()-1.
func (t *Tokenizer) Token(id int32) string { return t.tokens[id] }

// Specials returns the ids of the tokens that examples need, or an error that
// says which of them the file lacks.
func (t *Tokenizer) Specials() (Specials, error) { return t.specials, t.missing }

// WordPiece returns the tokenizer behind a BERT file, nil for any other.
func (t *Tokenizer) WordPiece() *tokenize.Tokenizer { return t.bert }

// Warning returns a sentence that a program should show before it encodes much
// text, or "" where there is nothing to warn of.
func (t *Tokenizer) Warning() string {
	if t.bert != nil {
		return ""
	}
	return "byte-level BPE: ids are compared with Hugging Face's on samples only, letters and digits are those of the Go toolchain's Unicode, " +
		"and encoding is some five times slower than WordPiece"
}

// An Encoder turns text into ids. One goroutine uses it at a time.
type Encoder struct {
	bert *tokenize.Encoder
	bpe  *bpeEncoder
}

// NewEncoder returns an encoder.
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

// AppendIDsBytes is [Encoder.AppendIDs] for a slice of bytes.
func (e *Encoder) AppendIDsBytes(dst []int32, text []byte) []int32 {
	if e.bert != nil {
		return e.bert.AppendIDsBytes(dst, text)
	}
	return e.bpe.appendIDs(dst, string(text))
}

// AppendWords is [Encoder.AppendIDs], and appends to starts for each id whether
// it begins a word. The words of byte-level BPE are those that its expression
// cuts a text into: with the space before it, a word, a number, a run of
// punctuation, or an ending such as "'s". An added token is a word.
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
