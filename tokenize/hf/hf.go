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
// [Load] supports the components that the library's own trainers and today's models use:
//
//   - models: BPE (without dropout), Unigram, WordPiece, WordLevel
//   - normalizers: BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD,
//     Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents
//   - pre-tokenizers: BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits,
//     FixedLength, Metaspace, Punctuation, Sequence, Split, UnicodeScripts,
//     Whitespace, WhitespaceSplit
//   - added tokens with all their options
//   - post-processors; only the names of the tokens around a text are used
//
// It rejects every other file with an error that names the unsupported part, so
// that ids are never wrong silently; docs/tokenizers.md lists what is rejected.
// Ids are those of the text alone. The caller adds the special tokens that a
// post-processor would add, as with package tokenize.
//
// Ids equal those of tokenizers 0.23.3 for every text that is valid UTF-8, including its
// deviations from Unicode: the character properties were derived from the library's output,
// and regular expressions match as Oniguruma's do. A BERT tokenizer (BertNormalizer,
// BertPreTokenizer and WordPiece, without further added tokens) is encoded by package
// tokenize with [tokenize.ProfileHF].
//
// # Words
//
// For whole-word masks, a word is one of the pieces into which the pre-tokenizer splits a
// text (word_ids in the library); an added token is also a word. With a BERT tokenizer, a
// word is a token without ## and all tokens with ## after it.
//
// # Concurrency and cost
//
// A [Tokenizer] is immutable and may be shared. An [Encoder] must not be used
// by several goroutines at once. Time is linear in the text, times the logarithm
// of its longest word for BPE; a regular expression of Split or Replace can take
// longer. Memory is the tables, a word cache of a few MB, and some 20 times the
// text.
//
// A malicious file can require any amount of work and memory: an expression with nested
// loops, or a chain of Replace steps that each double the text. So every text has a budget
// of steps (of matching and of reading bytes) and of bytes and ids that are added to it. It
// is many times what ordinary files need. If the budget is exceeded, [Encoder.Err] returns
// an error.
package hf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"pretext/tokenize"
)

// maxFile is the maximum size of a tokenizer.json in bytes; the largest in use
// have about 35 MB.
const maxFile = 128 << 20

// A Tokenizer is a parsed tokenizer.json. It is immutable and may be shared.
type Tokenizer struct {
	bert     *tokenize.Tokenizer // if set, encodes the text; the fields up to words are then unset
	raw      *finder             // finds added tokens in the original text
	normal   normalizer          // nil if there is none
	changed  *finder             // finds added tokens in the normalized text
	words    pretokenizer        // nil if there is none
	model    wordModel
	kind     string   // type of the model
	tokens   []string // by id; "" for an unused id
	specials Specials
	missing  error // why specials cannot be used; nil if they can
}

// ErrUnsupported is the error of [Load] for a valid JSON file with a part that is not
// supported; the message names the part.
var ErrUnsupported = errors.New("unsupported tokenizer")

// unsupported wraps an error so that it is [ErrUnsupported].
type unsupported struct{ error }

func (e *unsupported) Is(target error) bool { return target == ErrUnsupported }
func (e *unsupported) Unwrap() error        { return e.error }

// Load parses the content of a tokenizer.json. Errors begin with name.
func Load(name string, data []byte) (*Tokenizer, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes: not a tokenizer", name, maxFile)
	}
	var c config
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t, err := c.tokenizer()
	if err != nil {
		return nil, &unsupported{fmt.Errorf("%s: %w", name, err)}
	}
	if t.specials, err = c.specials(t); err != nil {
		t.missing = fmt.Errorf("%s: no examples can be made with it: %w", name, err)
	}
	return t, nil
}

// tokenizer returns the tokenizer in the file, without its special tokens.
func (c *config) tokenizer() (*Tokenizer, error) {
	if c.Version != nil && *c.Version != "1.0" {
		return nil, fmt.Errorf("version %.40q: not supported, only 1.0 is", *c.Version)
	}
	t := &Tokenizer{kind: c.Model.kind()}
	vocab, err := c.load(t)
	if err != nil {
		return nil, err
	}
	if err := c.checkAdded(t, vocab); err != nil {
		return nil, err
	}
	if t.tokens, err = c.list(vocab); err != nil {
		return nil, err
	}
	if t.kind == modelWordPiece {
		if t.bert = c.bert(); t.bert != nil {
			return t, nil
		}
	}
	if t.normal, err = newNormalizer(c.Normalizer, topPlace()); err != nil {
		return nil, err
	}
	if t.words, err = newPretokenizer(c.PreTokenizer, topPlace()); err != nil {
		return nil, err
	}
	if m, ok := t.model.(*bpe); ok {
		if last := lastByteLevel(t.words); last != nil {
			last.raw = m.useRaw()
		}
		m.prepare()
	}
	return t, c.findAdded(t)
}

// load sets the model of t and returns its vocabulary.
func (c *config) load(t *Tokenizer) (vocab map[string]int32, err error) {
	switch t.kind {
	case modelWordPiece:
		m, err := newWordPiece(&c.Model)
		if err != nil {
			return nil, err
		}
		t.model = m
		return m.vocab, nil
	case modelBPE:
		m, err := newBPE(&c.Model)
		if err != nil {
			return nil, err
		}
		t.model = m
		return m.vocab, nil
	case modelUnigram:
		m, err := newUnigram(&c.Model)
		if err != nil {
			return nil, err
		}
		t.model = m
		return m.ids, nil
	case modelWordLevel:
		m, err := newWordLevel(&c.Model)
		if err != nil {
			return nil, err
		}
		t.model = m
		return m.vocab, nil
	}
	return nil, fmt.Errorf("model %.40q: not supported, only BPE, Unigram, WordPiece and WordLevel are", t.kind)
}

// lastByteLevel returns p, or the last pre-tokenizer of the sequence p, if that is
// ByteLevel; else nil.
func lastByteLevel(p pretokenizer) *byteLevel {
	switch p := p.(type) {
	case *byteLevel:
		return p
	case pretokenizers:
		if len(p) > 0 {
			return lastByteLevel(p[len(p)-1])
		}
	}
	return nil
}

// checkAdded returns an error if the library would give an added token an id other than the
// one in the file: the library numbers tokens that are not in the vocabulary consecutively.
func (c *config) checkAdded(t *Tokenizer, vocab map[string]int32) error {
	next := int32(len(vocab))
	if u, ok := t.model.(*unigram); ok {
		next = int32(len(u.scores)) // includes duplicate tokens
	}
	seen := map[string]bool{}
	for _, a := range c.AddedTokens {
		want, known := vocab[a.Content]
		switch {
		case a.Content == "":
			return errors.New("added token \"\": not supported, it has no text")
		case seen[a.Content]:
			return fmt.Errorf("added token %q: given twice", a.Content)
		case !known:
			want = next
			next++
		}
		if a.ID != want {
			return fmt.Errorf("added token %q: its id is %d, but by its place in the file %d: the library would use the latter", a.Content, a.ID, want)
		}
		seen[a.Content] = true
	}
	return nil
}

// findAdded sets the finders of t.
func (c *config) findAdded(t *Tokenizer) (err error) {
	var raw, changed []addedToken
	var rawForms, changedForms []string
	for _, a := range c.AddedTokens {
		if !a.Normalized {
			raw, rawForms = append(raw, a), append(rawForms, a.Content)
			continue
		}
		form := a.Content
		if t.normal != nil {
			b := newBudget(form)
			if form, _ = t.normal.normalize(b, form, 0); b.spent() {
				return b.err()
			}
		}
		changed, changedForms = append(changed, a), append(changedForms, form)
	}
	if t.raw, err = newFinder(raw, rawForms); err != nil {
		return err
	}
	t.changed, err = newFinder(changed, changedForms)
	return err
}

// Len returns the number of ids, which are 0 to Len()-1.
func (t *Tokenizer) Len() int { return len(t.tokens) }

// Token returns the token of an id as the file writes it ("Ġthe"), or "" for an
// unused id. The id must be between 0 and Len()-1.
func (t *Tokenizer) Token(id int32) string { return t.tokens[id] }

// Model returns the type of the model as manifests name it: wordpiece, byte-level-bpe, bpe,
// unigram or wordlevel.
func (t *Tokenizer) Model() string {
	if m, ok := t.model.(*bpe); ok && m.raw != nil {
		return "byte-level-bpe"
	}
	return strings.ToLower(t.kind)
}

// Specials returns the ids of the special tokens that examples with masks need. Missing
// tokens have the id -1, and the error names them.
func (t *Tokenizer) Specials() (Specials, error) { return t.specials, t.missing }

// WordPiece returns the tokenizer of package tokenize that encodes the text if the file is
// a BERT tokenizer; otherwise nil.
func (t *Tokenizer) WordPiece() *tokenize.Tokenizer { return t.bert }

// An Encoder turns text into token ids. It must not be used by several
// goroutines at once.
type Encoder struct {
	bert *tokenize.Encoder
	*Tokenizer
	worker  *worker
	budget  budget
	err     error
	scratch scratch
	parts   []piece // pieces of the text, split by t.raw
	inner   []piece // pieces of one part, split by t.changed
	pieces  []piece // words of one inner piece
}

// NewEncoder returns an encoder with an empty cache.
func (t *Tokenizer) NewEncoder() *Encoder {
	if t.bert != nil {
		return &Encoder{bert: t.bert.NewEncoder()}
	}
	e := &Encoder{Tokenizer: t, worker: newWorker(t.model)}
	e.worker.budget, e.scratch.budget = &e.budget, &e.budget
	return e
}

// Err returns an error that is [ErrBudget] if a text has exceeded its budget since the last
// call of Err. That text, and all texts after it, produced no ids.
func (e *Encoder) Err() error {
	err := e.err
	e.err = nil
	return err
}

// AppendIDs appends the token ids of text to dst. Bytes that are not UTF-8 are
// dropped.
func (e *Encoder) AppendIDs(dst []int32, text string) []int32 {
	if e.bert != nil {
		return e.bert.AppendIDs(dst, text)
	}
	for range e.encode(&dst, text) {
	}
	return dst
}

// AppendIDsBytes appends the token ids of text, given as bytes, to dst. Bytes
// that are not UTF-8 are dropped.
func (e *Encoder) AppendIDsBytes(dst []int32, text []byte) []int32 {
	if e.bert != nil {
		return e.bert.AppendIDsBytes(dst, text)
	}
	return e.AppendIDs(dst, string(text))
}

// AppendWords appends the token ids of text to dst, as [Encoder.AppendIDs] does. For each
// id it also appends to starts whether the id begins a word.
func (e *Encoder) AppendWords(dst []int32, starts []bool, text string) ([]int32, []bool) {
	first := len(dst)
	if e.bert != nil {
		dst = e.bert.AppendIDs(dst, text)
		for _, id := range dst[first:] {
			starts = append(starts, !e.bert.Vocab().IsSubword(id))
		}
		return dst, starts
	}
	before := len(starts)
	for n := range e.encode(&dst, text) {
		for i := range n {
			starts = append(starts, i == 0)
		}
	}
	if e.err != nil {
		starts = starts[:before]
	}
	return dst, starts
}

// Words yields the words of text as the model receives them: normalized and split, without
// added tokens. For a BERT tokenizer it yields none; use [tokenize.WordSplitter] instead.
func (e *Encoder) Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if e.bert != nil {
			return
		}
		e.budget.reset(text)
		for p := range e.wordsOf(text) {
			if p.id == noToken && !yield(p.text) {
				return
			}
		}
		e.err = cmp.Or(e.err, e.budget.err())
	}
}

// encode appends the ids of text to dst. After each word it yields the number of ids of the
// word.
func (e *Encoder) encode(dst *[]int32, text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		if e.err != nil {
			return
		}
		e.budget.reset(text)
		first := len(*dst)
		for p := range e.wordsOf(text) {
			before := len(*dst)
			if p.id != noToken {
				*dst = append(*dst, p.id)
			} else {
				*dst = e.worker.appendWord(*dst, p.text)
			}
			if e.budget.spent() {
				break
			}
			if n := len(*dst) - before; n > 0 && !yield(n) {
				return
			}
		}
		if e.err = e.budget.err(); e.err != nil {
			*dst = (*dst)[:first]
		}
	}
}

// wordsOf yields the words and the added tokens of text. It stops when the budget is spent.
func (e *Encoder) wordsOf(text string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, "")
		}
		_, zero := utf8.DecodeRuneInString(text)
		e.parts = e.Tokenizer.raw.split(&e.budget, e.parts[:0], piece{text, zero, noToken})
		for _, p := range e.parts {
			if p.id != noToken {
				if !yield(p) {
					return
				}
				continue
			}
			if e.normal != nil {
				p.text, p.zero = e.normal.normalize(&e.budget, p.text, p.zero)
			}
			e.inner = e.changed.split(&e.budget, e.inner[:0], p)
			for _, q := range e.inner {
				if e.budget.spent() {
					return
				}
				e.pieces = e.pieces[:0]
				if q.id != noToken || e.words == nil {
					e.pieces = append(e.pieces, q)
				} else {
					e.pieces = e.words.split(&e.scratch, e.pieces, q)
				}
				for _, word := range e.pieces {
					if !yield(word) {
						return
					}
				}
			}
		}
	}
}
