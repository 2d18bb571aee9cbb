package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pretext/tokenize"
)

// config holds the fields of a tokenizer.json that affect token ids.
type config struct {
	Version      *string         `json:"version"`
	AddedTokens  []addedToken    `json:"added_tokens"`
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	Model        modelFile       `json:"model"`

	PostProcessor json.RawMessage `json:"post_processor"`
}

// modelFile holds the fields of the model in the file.
type modelFile struct {
	Type            string            `json:"type"`
	Vocab           json.RawMessage   `json:"vocab"` // map of tokens to ids; for Unigram a list of tokens and scores
	Merges          []json.RawMessage `json:"merges"`
	UnkToken        *string           `json:"unk_token"`
	UnkID           *int              `json:"unk_id"`
	SubwordPrefix   *string           `json:"continuing_subword_prefix"`
	EndOfWordSuffix *string           `json:"end_of_word_suffix"`
	MaxCharsPerWord *int              `json:"max_input_chars_per_word"`
	Dropout         *float64          `json:"dropout"`
	FuseUnk         bool              `json:"fuse_unk"`
	ByteFallback    bool              `json:"byte_fallback"`
	IgnoreMerges    bool              `json:"ignore_merges"`
}

// Models of a tokenizer.json.
const (
	modelWordPiece = "WordPiece"
	modelBPE       = "BPE"
	modelUnigram   = "Unigram"
	modelWordLevel = "WordLevel"
)

// kind returns the type of the model. For older files, which do not name the
// type, it infers it from the other fields.
func (m *modelFile) kind() string {
	switch {
	case m.Type != "":
		return m.Type
	case m.Merges != nil:
		return modelBPE
	case m.MaxCharsPerWord != nil:
		return modelWordPiece
	case len(m.Vocab) > 0 && m.Vocab[0] == '[':
		return modelUnigram
	case len(m.Vocab) > 0 && m.UnkToken != nil:
		return modelWordLevel
	}
	return ""
}

// maxID is the number of ids that are accepted: the largest id is maxID-1. Real
// vocabularies are far smaller.
const maxID = 1 << 24

// ids returns the vocabulary of a model other than Unigram.
func (m *modelFile) ids() (map[string]int32, error) {
	vocab := map[string]int32{}
	if len(m.Vocab) == 0 {
		return nil, errors.New("vocab: missing")
	}
	if err := json.Unmarshal(m.Vocab, &vocab); err != nil {
		return nil, fmt.Errorf("vocab: want an object of tokens and ids: %w", err)
	}
	for token, id := range vocab {
		if id < 0 || id >= maxID {
			return nil, fmt.Errorf("vocab: id %d of %q is not between 0 and %d", id, token, maxID-1)
		}
	}
	return vocab, nil
}

// pairs returns the merges. In the file, each is a list of two tokens or, in older files, a
// string with a space between them.
func (m *modelFile) pairs() ([][2]string, error) {
	var out [][2]string
	for i, raw := range m.Merges {
		var line string
		var two []string
		if json.Unmarshal(raw, &line) == nil {
			if strings.HasPrefix(line, "#version") {
				continue
			}
			two = strings.Split(line, " ")
		} else if err := json.Unmarshal(raw, &two); err != nil {
			return nil, fmt.Errorf("merge %d: want a string or a list of two strings", i)
		}
		if len(two) != 2 {
			return nil, fmt.Errorf("merge %d: want two tokens, got %d", i, len(two))
		}
		out = append(out, [2]string{two[0], two[1]})
	}
	return out, nil
}

// bertNormalizer holds the options of a BertNormalizer.
type bertNormalizer struct {
	Type               string `json:"type"`
	CleanText          *bool  `json:"clean_text"`
	HandleChineseChars *bool  `json:"handle_chinese_chars"`
	StripAccents       *bool  `json:"strip_accents"` // null: same as Lowercase
	Lowercase          *bool  `json:"lowercase"`
}

// maxCharsPerWord limits max_input_chars_per_word of a BERT tokenizer, which is usually
// 100. For a word of n characters, package tokenize may need n² steps.
const maxCharsPerWord = 256

// bert returns a tokenizer of package tokenize that gives the same ids as the file, if the
// file is a BERT tokenizer; nil for any other WordPiece file.
func (c *config) bert() *tokenize.Tokenizer {
	var n bertNormalizer
	var p struct {
		Type string `json:"type"`
	}
	m := &c.Model
	switch {
	case json.Unmarshal(c.Normalizer, &n) != nil || n.Type != "BertNormalizer" || n.CleanText == nil || !*n.CleanText,
		n.HandleChineseChars == nil || n.Lowercase == nil,
		json.Unmarshal(c.PreTokenizer, &p) != nil || p.Type != "BertPreTokenizer",
		m.UnkToken == nil || *m.UnkToken != tokenize.UnkToken || m.SubwordPrefix == nil || *m.SubwordPrefix != "##",
		m.MaxCharsPerWord == nil || *m.MaxCharsPerWord < 1 || *m.MaxCharsPerWord > maxCharsPerWord:
		return nil
	}
	ids, err := m.ids()
	if err != nil || !c.onlyBERTSpecials(ids) {
		return nil
	}
	tokens := make([]string, len(ids))
	for token, id := range ids {
		if int(id) >= len(ids) || tokens[id] != "" || token == "" {
			return nil
		}
		tokens[id] = token
	}
	v, err := tokenize.NewVocab(tokens)
	if err != nil {
		return nil
	}
	o := n.options()
	o.MaxCharsPerWord = *m.MaxCharsPerWord
	t, err := tokenize.New(v, o)
	if err != nil {
		return nil
	}
	return t
}

// options converts the normalizer's options to those of package tokenize. CleanText,
// HandleChineseChars and Lowercase must be set.
func (n *bertNormalizer) options() tokenize.Options {
	o := tokenize.Options{DoLowerCase: *n.Lowercase, Profile: tokenize.ProfileHF}
	if n.StripAccents != nil && *n.StripAccents != *n.Lowercase {
		o.StripAccents = n.StripAccents
	}
	if !*n.HandleChineseChars {
		o.TokenizeChineseChars = n.HandleChineseChars
	}
	return o
}

// onlyBERTSpecials reports whether the added tokens are exactly BERT's five
// special tokens, with plain options.
func (c *config) onlyBERTSpecials(ids map[string]int32) bool {
	for _, a := range c.AddedTokens {
		id, ok := ids[a.Content]
		if !ok || id != a.ID || !slices.Contains(tokenize.SpecialTokens(), a.Content) || a.SingleWord || a.LStrip || a.RStrip || a.Normalized {
			return false
		}
	}
	return len(c.AddedTokens) == len(tokenize.SpecialTokens())
}
