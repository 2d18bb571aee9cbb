package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/hf"
	"pretext/trainer/loader"
)

// openShards opens the examples at a path given on the command line. It returns a
// usage error for a folder without examples.
func openShards(cmd *cobra.Command, path string, o loader.Options) (*loader.Shards, error) {
	shards, err := loader.Open(cmd.Context(), path, o)
	if errors.Is(err, sharding.ErrNoShards) {
		return nil, misuse(err)
	}
	return shards, err
}

// tokenNames maps token ids to tokens and to text; a vocabulary or a tokenizer implements it.
type tokenNames interface {
	Len() int
	Token(id int32) string
	Decode(ids []int32) string
}

// headTokens returns the vocabulary or tokenizer.json at vocabPath or, if that is "",
// the one in the directory of the records. It returns nil if there is none.
func headTokens(cmd *cobra.Command, shards *loader.Shards, vocabPath string) (tokenNames, error) {
	if strings.HasSuffix(vocabPath, ".json") {
		return loadFileTokenizer(vocabPath)
	}
	if vocabPath != "" {
		tok, err := loadTokenizer(vocabPath, tokenize.DefaultOptions())
		if err != nil {
			return nil, err
		}
		return tok.Vocab(), nil
	}
	if v, err := shards.Vocab(cmd.Context()); v != nil || err != nil {
		return v, err
	}
	path := store.Join(store.Dir(shards.Files()[0].Path), sharding.TokenizerName)
	tok, err := loadFileTokenizer(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return tok, err
}

// loadFileTokenizer reads a tokenizer.json.
func loadFileTokenizer(path string) (*hf.Tokenizer, error) {
	raw, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if err != nil {
		return nil, err
	}
	tok, err := hf.Load(path, raw)
	switch {
	case errors.Is(err, hf.ErrUnsupported):
		return nil, misuse(err)
	case err != nil:
		return nil, fmt.Errorf("%w tokenizer: %w", sharding.ErrDamaged, err)
	}
	return tok, nil
}
