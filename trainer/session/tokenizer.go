package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/hf"
	"pretext/trainer/checkpoint"
)

// tokenizerBeside reads the tokenizer in a model's folder: vocab.txt,
// tokenizer.json or both. Without either it returns an empty one, with neither
// Vocab nor File. Lower-casing, removal of accents and separation of ideographs
// are taken from tokenizer_config.json, else from tokenizer.json, else guessed
// from the vocabulary.
func tokenizerBeside(dir string) (t checkpoint.Tokenizer, err error) {
	if t.Vocab, err = readOptional(store.Join(dir, sharding.VocabName)); err != nil {
		return t, err
	}
	if t.File, err = readOptional(store.Join(dir, sharding.TokenizerName)); err != nil {
		return t, err
	}
	config, err := readTokenizerConfig(dir)
	if err != nil {
		return t, err
	}
	return settleTokenizer(t, dir, config)
}

// readTokenizer reads the vocabulary in a vocab.txt or tokenizer.json.
// Lower-casing and the other options of [tokenizerBeside] are taken from the
// tokenizer_config.json in the first of the folders that has one, else from the
// tokenizer_config.json beside the file.
func readTokenizer(path string, folders ...string) (t checkpoint.Tokenizer, err error) {
	b, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if err != nil {
		return t, err
	}
	if bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) {
		t.File = b
	} else {
		t.Vocab = b
	}
	var config tokenizerConfig
	for _, dir := range append(folders, store.Dir(path)) {
		if config, err = readTokenizerConfig(dir); err != nil || config != nil {
			break
		}
	}
	if err != nil {
		return t, err
	}
	return settleTokenizer(t, path, config)
}

// readOptional reads a file. It returns nil if the file does not exist.
func readOptional(path string) ([]byte, error) {
	b, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// settleTokenizer sets the options of t from config and the tokenizer files in t. where
// names these files in errors.
func settleTokenizer(t checkpoint.Tokenizer, where string, config tokenizerConfig) (checkpoint.Tokenizer, error) {
	t.Special = config.special()
	var bert *tokenize.Tokenizer
	if t.File != nil {
		file, err := hf.Load(sharding.TokenizerName, t.File)
		switch {
		case err == nil:
			bert = file.WordPiece()
		case t.Vocab != nil:
			t.File = nil // an unsupported kind; the model's tokens are in vocab.txt
		}
	}
	var v *tokenize.Vocab
	if t.Vocab != nil {
		var err error
		if v, err = tokenize.ReadVocab(where, t.Vocab); err != nil {
			return t, fmt.Errorf("%w: %w", errDamaged, err)
		}
	}
	switch {
	case bert == nil && v == nil:
		return t, nil // no vocab.txt, or not WordPiece
	case bert == nil:
	case v == nil:
		v = bert.Vocab()
		t.Vocab = []byte(strings.Join(tokensOf(v), "\n") + "\n")
	case !slices.Equal(tokensOf(v), tokensOf(bert.Vocab())):
		return t, usagef("%s: %s and %s hold different tokens: remove the one that is not the model's", where, sharding.VocabName, sharding.TokenizerName)
	}
	t.LowerCase = v.LooksUncased()
	if bert != nil {
		o := bert.Options()
		t.LowerCase, t.StripAccents, t.TokenizeChineseChars = o.DoLowerCase, o.StripAccents, o.TokenizeChineseChars
	}
	if bert == nil || strings.HasPrefix(config.text("tokenizer_class"), "Bert") || config["tokenizer_class"] == nil {
		config.casing(&t)
	}
	return t, nil
}

func tokensOf(v *tokenize.Vocab) []string {
	out := make([]string, v.Len())
	for i := range out {
		out[i] = v.Token(int32(i))
	}
	return out
}

// A tokenizerConfig holds the fields of tokenizer_config.json; nil if there is
// no file.
type tokenizerConfig map[string]json.RawMessage

func readTokenizerConfig(dir string) (c tokenizerConfig, err error) {
	path := store.Join(dir, "tokenizer_config.json")
	b, err := readOptional(path)
	if err != nil || b == nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errDamaged, path, err)
	}
	return c, nil
}

// text returns the value of a string field, "" if the file has none. Some
// versions of transformers write an added token as {"content": ...}.
func (c tokenizerConfig) text(name string) (s string) {
	if json.Unmarshal(c[name], &s) == nil {
		return s
	}
	var token struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(c[name], &token) == nil {
		return token.Content
	}
	return ""
}

// special returns the names of the special tokens; nil if there is no file.
func (c tokenizerConfig) special() map[string]string {
	if c == nil {
		return nil
	}
	out := map[string]string{}
	for _, name := range []string{"pad_token", "unk_token", "cls_token", "sep_token", "mask_token"} {
		if token := c.text(name); token != "" {
			out[name] = token
		}
	}
	return out
}

// casing applies the options of tokenizer_config.json to t. With strip_accents
// null, accents are stripped if do_lower_case is set. Options that the file
// does not have stay as they are.
func (c tokenizerConfig) casing(t *checkpoint.Tokenizer) {
	var b *bool
	if raw, ok := c["do_lower_case"]; ok && json.Unmarshal(raw, &b) == nil && b != nil {
		t.LowerCase = *b
	}
	for name, to := range map[string]**bool{"strip_accents": &t.StripAccents, "tokenize_chinese_chars": &t.TokenizeChineseChars} {
		b = nil
		if raw, ok := c[name]; ok && json.Unmarshal(raw, &b) == nil {
			*to = b
		}
	}
	if t.StripAccents != nil && *t.StripAccents == t.LowerCase {
		t.StripAccents = nil // as if it were not given
	}
	if t.TokenizeChineseChars != nil && *t.TokenizeChineseChars {
		t.TokenizeChineseChars = nil
	}
}

// TokenizerFor returns the tokenizer in the file given, or, if given is "", in
// a model's folder. It takes options such as do_lower_case from the folder in
// both cases. The tokenizer must be BERT's WordPiece. lower, unless nil,
// overrides do_lower_case.
func TokenizerFor(folder, given string, lower *bool) (t checkpoint.Tokenizer, err error) {
	switch {
	case given != "" && folder != "":
		t, err = readTokenizer(given, folder)
	case given != "":
		t, err = readTokenizer(given)
	case folder != "":
		t, err = tokenizerBeside(folder)
	}
	switch {
	case err != nil:
		return t, err
	case t.Vocab == nil && t.File != nil:
		where := given
		if where == "" {
			where = store.Join(folder, sharding.TokenizerName)
		}
		if _, err := hf.Load(where, t.File); err != nil {
			return t, failure.Usage(err)
		}
		return t, usagef("%s: not WordPiece: predict and finetune tokenize text as BERT does only", where)
	case t.Vocab == nil:
		return t, usagef("no %s or %s beside the model: give --vocab-file FILE, the one it was trained with", sharding.VocabName, sharding.TokenizerName)
	}
	if lower != nil {
		t.LowerCase = *lower
	}
	return t, nil
}

// NewTokenizer returns the tokenizer of a vocabulary. With a tokenizer.json it
// tokenizes as Hugging Face does, which differs from google-research/bert for
// special tokens in the text, a final sigma and words of more than 100
// characters.
func NewTokenizer(t checkpoint.Tokenizer) (*tokenize.Tokenizer, error) {
	v, err := tokenize.ReadVocab(sharding.VocabName, t.Vocab)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	o := tokenize.DefaultOptions()
	if t.File != nil {
		file, err := hf.Load(sharding.TokenizerName, t.File)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		o = file.WordPiece().Options()
	}
	o.DoLowerCase, o.StripAccents, o.TokenizeChineseChars = t.LowerCase, t.StripAccents, t.TokenizeChineseChars
	return tokenize.New(v, o)
}
