package pipeline

import (
	"errors"
	"os"

	"pretext/sharding"
)

// A tokenFile names the file that says how text becomes ids: a vocab.txt or a
// tokenizer.json. One of the two is set.
type tokenFile struct{ vocab, tokenizer string }

// name returns the name of the stages' own copies.
func (f tokenFile) name() string {
	if f.tokenizer != "" {
		return sharding.TokenizerName
	}
	return sharding.VocabName
}

// given reports whether a file is named.
func (f tokenFile) given() bool { return f.vocab != "" || f.tokenizer != "" }

func (f tokenFile) path() string {
	if f.tokenizer != "" {
		return f.tokenizer
	}
	return f.vocab
}

// tokens is a tokenFile that was read.
type tokens struct {
	raw       []byte
	tokenizer *sharding.Tokenizer
	options   sharding.ExamplesOptions // in force
}

// read reads the file from the local disk, under the options asked for.
func (f tokenFile) read(o sharding.ExamplesOptions) (*tokens, error) {
	if f.vocab != "" && f.tokenizer != "" {
		return nil, &ConfigError{Err: errors.New("a vocabulary and a tokenizer are given: which of them?")}
	}
	raw, err := os.ReadFile(f.path())
	if err != nil {
		return nil, err
	}
	o.Tokenizer = nil
	if f.tokenizer != "" {
		if o, err = sharding.TokenizerOptions(f.tokenizer, raw, o); err != nil {
			return nil, err
		}
	}
	t, err := sharding.NewTokenizer(f.path(), raw, o)
	return &tokens{raw, t, o}, err
}
