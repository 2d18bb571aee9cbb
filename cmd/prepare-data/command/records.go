package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"pretext/internal/store"
	"pretext/records"
	"pretext/sharding"
	"pretext/sharding/examples"
	"pretext/tokenize"
	"pretext/tokenize/hf"
	"pretext/trainer/loader"
)

// An exampleSource is the examples at a path given on the command line: shards or
// TFRecord files, or shards converted to another format.
type exampleSource struct {
	*loader.Shards                 // nil: converted
	converted      []examples.Part // none: shards
}

// openShards opens the examples at a path given on the command line. It returns a
// usage error for a folder without examples.
func openShards(cmd *cobra.Command, path string) (*exampleSource, error) {
	d, err := sharding.Open(cmd.Context(), path)
	if err != nil {
		return nil, err
	}
	converted, err := examples.Open(cmd.Context(), d)
	if err != nil || len(converted) > 0 {
		return &exampleSource{converted: converted}, err
	}
	shards, err := loader.Open(cmd.Context(), path, loader.Options{})
	if errors.Is(err, sharding.ErrNoShards) {
		return nil, misuse(err)
	}
	return &exampleSource{Shards: shards}, err
}

// Examples yields every example in order, and at most one error.
func (s *exampleSource) Examples(ctx context.Context) iter.Seq2[loader.Record, error] {
	if s.Shards != nil {
		return s.Shards.Examples(ctx)
	}
	return func(yield func(loader.Record, error) bool) {
		var e records.Example
		for _, part := range s.converted {
			for r, err := range part.Records(ctx) {
				if err == nil {
					_, err = e.DecodeAny(r.Payload)
				}
				if !yield(loader.Record{File: part.Path, Index: r.Index, Offset: r.Offset, Example: &e}, err) || err != nil {
					return
				}
			}
		}
	}
}

// tokenNames maps token ids to tokens; a vocabulary or a tokenizer implements it.
type tokenNames interface {
	Len() int
	Token(id int32) string
}

// headTokens returns the vocabulary or tokenizer.json at vocabPath or, if that is "",
// the one in the directory of the records. It returns nil if there is none.
func headTokens(cmd *cobra.Command, shards *exampleSource, vocabPath string) (tokenNames, error) {
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
	if shards.Shards == nil {
		return nil, nil // converted shards have no vocabulary beside them
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
	raw, err := store.ReadLocation(context.Background(), path)
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
