package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/trainer/checkpoint"
)

// A vocabulary has the properties of a token vocabulary that training needs.
// They come from vocab.txt, or from the manifest's description of a
// tokenizer.json.
type vocabulary interface {
	Len() int
	CLS() int32
	SEP() int32
	PAD() int32
	MASK() int32
	SHA256() string
}

// A fileVocab is the vocabulary of a tokenizer.json, as the manifest describes it.
type fileVocab struct {
	*sharding.TokenizerInfo
	sha256 string
	tokens map[int32]string // by id, as the file writes them
}

func (v *fileVocab) Len() int       { return v.VocabSize }
func (v *fileVocab) CLS() int32     { return v.Specials.CLS }
func (v *fileVocab) SEP() int32     { return v.Specials.SEP }
func (v *fileVocab) PAD() int32     { return v.Pad }
func (v *fileVocab) MASK() int32    { return v.Mask }
func (v *fileVocab) SHA256() string { return v.sha256 }

// readTokenizer reads the tokenizer.json beside the records.
func (c *Corpus) readTokenizer(v *fileVocab) error {
	path := store.Join(c.folder(), sharding.TokenizerName)
	b, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if err != nil {
		return err
	}
	special, err := v.names(b)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errDamaged, path, err)
	}
	v.sha256 = sharding.Hash(b)
	c.vocab, c.tokenizer = v, checkpoint.Tokenizer{File: b, Special: special}
	return nil
}

// readForeignTokenizer reads the tokenizer.json of records without a manifest of
// ours.
func (c *Corpus) readForeignTokenizer(path string, file []byte) error {
	o, err := sharding.TokenizerOptions(path, file, sharding.DefaultExamplesOptions())
	if err != nil {
		return err
	}
	v := &fileVocab{TokenizerInfo: o.Tokenizer, sha256: sharding.Hash(file)}
	special, err := v.names(file)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errDamaged, path, err)
	}
	c.vocab, c.tokenizer = v, checkpoint.Tokenizer{File: file, Special: special}
	return nil
}

// names returns the special tokens under the names of tokenizer_config.json.
func (v *fileVocab) names(file []byte) (map[string]string, error) {
	var f struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
		Model struct {
			Vocab json.RawMessage `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, err
	}
	byID, err := tokensByID(f.Model.Vocab)
	if err != nil {
		return nil, err
	}
	for _, a := range f.Added {
		byID[a.ID] = a.Content
	}
	v.tokens = byID
	out := map[string]string{}
	for name, id := range map[string]int32{"pad_token": v.Pad, "unk_token": v.Unk, "cls_token": v.Specials.CLS, "sep_token": v.Specials.SEP, "mask_token": v.Mask} {
		if token := byID[id]; token != "" {
			out[name] = token
		} else if id >= 0 {
			return nil, fmt.Errorf("no token of id %d, which the manifest calls %s", id, name)
		}
	}
	return out, nil
}

// tokensByID reads the vocabulary of a model: an object of ids by token or, for
// Unigram, a list of tokens with their scores.
func tokensByID(raw json.RawMessage) (map[int32]string, error) {
	byID := map[int32]string{}
	if !bytes.HasPrefix(raw, []byte("[")) {
		var ids map[string]int32
		if err := json.Unmarshal(raw, &ids); len(raw) > 0 && err != nil {
			return nil, err
		}
		for token, id := range ids {
			byID[id] = max(byID[id], token)
		}
		return byID, nil
	}
	var pieces [][2]any
	if err := json.Unmarshal(raw, &pieces); err != nil {
		return nil, err
	}
	for id, piece := range pieces {
		byID[int32(id)], _ = piece[0].(string)
	}
	return byID, nil
}

// continues returns a function that reports whether the token id continues the word of
// the token before it. It returns nil if the tokens do not show where words begin.
func (c *Corpus) continues() func(before, id int32) bool {
	switch v := c.vocab.(type) {
	case *tokenize.Vocab:
		return func(_, id int32) bool { return v.IsSubword(id) }
	case *fileVocab:
		return v.continues()
	}
	return nil
}

// metaspace is the first character of tokens that begin a word in SentencePiece's
// vocabularies.
const metaspace = "\u2581"

func (v *fileVocab) continues() func(before, id int32) bool {
	begins := func(prefix string) bool {
		for _, token := range v.tokens {
			if strings.HasPrefix(token, prefix) {
				return true
			}
		}
		return false
	}
	switch {
	case v.Model == "byte-level-bpe":
		return v.continuesBytes
	case v.Model == "wordpiece":
		return func(_, id int32) bool { return strings.HasPrefix(v.tokens[id], "##") }
	case (v.Model == "unigram" || v.Model == "bpe") && begins(metaspace):
		return func(_, id int32) bool { return !strings.HasPrefix(v.tokens[id], metaspace) }
	}
	return nil
}

// continuesBytes reports whether the token id of a byte-level vocabulary continues the
// word of the token before it. As in GPT-2's pre-tokenizer, words end at white space,
// and between letters, digits and other characters.
func (v *fileVocab) continuesBytes(before, id int32) bool {
	first, _ := utf8.DecodeRuneInString(v.tokens[id])
	last, _ := utf8.DecodeLastRuneInString(v.tokens[before])
	return byteClass(first) != white && byteClass(first) == byteClass(last)
}

// Classes of bytes.
const (
	white = iota
	letter
	digit
	punctuation
)

// byteClass returns the class of a byte, given its character r in a byte-level
// vocabulary. Bytes 0 to 32 are written as U+0100 to U+0120. Bytes above 127 are parts
// of characters outside ASCII, which are classified as letters.
func byteClass(r rune) int {
	switch {
	case r >= 0x100 && r <= 0x120:
		return white
	case r >= '0' && r <= '9':
		return digit
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > '~':
		return letter
	}
	return punctuation
}
