package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sugarme/tokenizer/model/bpe"

	"pretext/tokenize"
)

// config holds the fields of a tokenizer.json that affect token ids.
type config struct {
	AddedTokens  []addedToken `json:"added_tokens"`
	Normalizer   *normalizer  `json:"normalizer"`
	PreTokenizer *pretoken    `json:"pre_tokenizer"`
	Model        model        `json:"model"`

	PostProcessor *postProcessor `json:"post_processor"`
}

// An addedToken is a token that the encoder finds in the text before it
// processes the rest.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"` // also consumes the white space before the token
	RStrip     bool   `json:"rstrip"` // also consumes the white space after the token
	Normalized bool   `json:"normalized"`
}

type normalizer struct {
	Type               string `json:"type"`
	CleanText          *bool  `json:"clean_text"`
	HandleChineseChars *bool  `json:"handle_chinese_chars"`
	StripAccents       *bool  `json:"strip_accents"` // null: same as Lowercase
	Lowercase          *bool  `json:"lowercase"`
}

type pretoken struct {
	Type           string `json:"type"`
	AddPrefixSpace *bool  `json:"add_prefix_space"` // ByteLevel; default true
	UseRegex       *bool  `json:"use_regex"`        // default true
}

type model struct {
	Type            string            `json:"type"`
	Vocab           vocabulary        `json:"vocab"`
	Merges          []json.RawMessage `json:"merges"`
	UnkToken        *string           `json:"unk_token"`
	SubwordPrefix   *string           `json:"continuing_subword_prefix"`
	EndOfWordSuffix *string           `json:"end_of_word_suffix"`
	MaxCharsPerWord *int              `json:"max_input_chars_per_word"`
	Dropout         *float64          `json:"dropout"`
	ByteFallback    bool              `json:"byte_fallback"`
	IgnoreMerges    bool              `json:"ignore_merges"`
}

// A vocabulary maps tokens to ids. It stays empty for Unigram models, which
// store it in another form and are not supported.
type vocabulary map[string]int

// UnmarshalJSON reads a JSON object. It ignores any other JSON value.
func (v *vocabulary) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		return json.Unmarshal(data, (*map[string]int)(v))
	}
	return nil
}

// kind returns the type of the model, "WordPiece" or "BPE" if supported. For
// older files, which do not name the type, kind infers it from the other
// fields.
func (m *model) kind() string {
	switch {
	case m.Type != "":
		return m.Type
	case m.MaxCharsPerWord != nil:
		return "WordPiece"
	case m.Merges != nil:
		return "BPE"
	}
	return ""
}

// tokens returns the tokens, indexed by id. The ids must be 0 to len(v)-1.
func (v vocabulary) tokens() ([]string, error) {
	out, seen := make([]string, len(v)), make([]bool, len(v))
	for token, id := range v {
		if id < 0 || id >= len(v) || seen[id] {
			return nil, fmt.Errorf("vocab: ids must be 0 to %d without gaps or repetitions", len(v)-1)
		}
		out[id], seen[id] = token, true
	}
	return out, nil
}

func is(b *bool, want bool) bool { return b != nil && *b == want }

func isEmpty(s *string) bool { return s == nil || *s == "" }

// bert returns the tokenizer of a WordPiece model, or an error that names what
// is not supported.
func (c *config) bert() (*tokenize.Tokenizer, error) {
	n := c.Normalizer
	switch {
	case n == nil || n.Type != "BertNormalizer":
		return nil, errors.New("normalizer: not supported with WordPiece, only BertNormalizer is")
	case !is(n.CleanText, true) || n.HandleChineseChars == nil || n.Lowercase == nil:
		return nil, errors.New("normalizer: not supported without clean_text, handle_chinese_chars and lowercase")
	case c.PreTokenizer == nil || c.PreTokenizer.Type != "BertPreTokenizer":
		return nil, errors.New("pre_tokenizer: not supported with WordPiece, only BertPreTokenizer is")
	case c.Model.UnkToken == nil || *c.Model.UnkToken != tokenize.UnkToken:
		return nil, fmt.Errorf("unk_token: must be %s", tokenize.UnkToken)
	case c.Model.SubwordPrefix == nil || *c.Model.SubwordPrefix != "##":
		return nil, errors.New("continuing_subword_prefix: must be ##")
	}
	tokens, err := c.Model.Vocab.tokens()
	if err != nil {
		return nil, err
	}
	if err := c.checkBERTSpecials(); err != nil {
		return nil, err
	}
	v, err := tokenize.NewVocab(tokens)
	if err != nil {
		return nil, err
	}
	o := tokenize.Options{DoLowerCase: *n.Lowercase, Profile: tokenize.ProfileHF}
	if n.StripAccents != nil && *n.StripAccents != *n.Lowercase {
		o.StripAccents = n.StripAccents
	}
	if !*n.HandleChineseChars {
		o.TokenizeChineseChars = n.HandleChineseChars
	}
	if m := c.Model.MaxCharsPerWord; m != nil {
		if *m < 1 {
			return nil, fmt.Errorf("max_input_chars_per_word %d: must be at least 1", *m)
		}
		o.MaxCharsPerWord = *m
	}
	return tokenize.New(v, o)
}

// checkBERTSpecials returns an error unless the added tokens are exactly BERT's
// five special tokens, with plain options.
func (c *config) checkBERTSpecials() error {
	if len(c.AddedTokens) != len(tokenize.SpecialTokens()) {
		return fmt.Errorf("added_tokens: must be %s", strings.Join(tokenize.SpecialTokens(), " "))
	}
	for _, a := range c.AddedTokens {
		id, ok := c.Model.Vocab[a.Content]
		if !ok || id != int(a.ID) || !slices.Contains(tokenize.SpecialTokens(), a.Content) {
			return fmt.Errorf("added token %q: not a special token of BERT with the id of the vocabulary", a.Content)
		}
		if a.SingleWord || a.LStrip || a.RStrip || a.Normalized {
			return fmt.Errorf("added token %q: single_word, lstrip, rstrip and normalized are not supported with WordPiece", a.Content)
		}
	}
	return nil
}

// byteLevel returns the tables of a byte-level BPE model, or an error that
// names what is not supported.
func (c *config) byteLevel() (*byteLevel, error) {
	m, p := &c.Model, c.PreTokenizer
	switch {
	case c.Normalizer != nil:
		return nil, fmt.Errorf("normalizer %q: not supported with BPE", c.Normalizer.Type)
	case p == nil || p.Type != "ByteLevel" || is(p.UseRegex, false):
		return nil, errors.New("pre_tokenizer: not supported with BPE, only ByteLevel with its own expression is")
	case m.Dropout != nil && *m.Dropout != 0:
		return nil, errors.New("dropout: not supported, ids would be random")
	case !isEmpty(m.SubwordPrefix) || !isEmpty(m.EndOfWordSuffix) || m.ByteFallback || m.IgnoreMerges:
		return nil, errors.New("continuing_subword_prefix, end_of_word_suffix, byte_fallback and ignore_merges are not supported")
	}
	b := &byteLevel{prefixSpace: !is(p.AddPrefixSpace, false), added: c.AddedTokens, merges: map[pair]merged{}}
	for _, a := range c.AddedTokens {
		if a.Content == "" || a.ID < 0 || a.SingleWord {
			return nil, fmt.Errorf("added token %q: an empty text, a negative id and single_word are not supported", a.Content)
		}
		b.begins[a.Content[0]] = true
	}
	for i := range b.bytes {
		id, ok := m.Vocab[string(byteChar(byte(i)))]
		if !ok || id < 0 || id >= maxID {
			return nil, fmt.Errorf("vocab: no token for byte %#02x", i)
		}
		b.bytes[i] = int32(id)
	}
	return b, b.resolve(m)
}

// maxID is one more than the largest id accepted; real vocabularies are far
// smaller.
const maxID = 1 << 24

// resolve fills b.merges from the merges of m, using the parser of
// sugarme/tokenizer.
func (b *byteLevel) resolve(m *model) error {
	lines := make([]string, len(m.Merges))
	for i, raw := range m.Merges {
		var two [2]string
		if json.Unmarshal(raw, &lines[i]) == nil {
			continue
		}
		if err := json.Unmarshal(raw, &two); err != nil {
			return fmt.Errorf("merge %d: want a string or a list of two strings", i)
		}
		lines[i] = two[0] + " " + two[1]
	}
	var read *bpe.BPE
	err := guard(func() (err error) {
		read, err = bpe.New(map[string]int(m.Vocab), lines, nil, nil, nil, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("merges: %s", strings.TrimSpace(err.Error()))
	}
	for p, v := range *read.Merges {
		if max(p.C1, p.C2, v.NewId) >= maxID || min(p.C1, p.C2, v.NewId) < 0 {
			return fmt.Errorf("vocab: an id is not between 0 and %d", maxID-1)
		}
		b.merges[pair{int32(p.C1), int32(p.C2)}] = merged{int32(v.Rank), int32(v.NewId)}
	}
	return nil
}

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("sugarme/tokenizer: panic: %v", r)
		}
	}()
	return f()
}
