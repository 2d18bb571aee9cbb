package survey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// tokens are the facts about a vocabulary or tokenizer that a survey needs.
type tokens struct {
	file, sha256   string
	size           int
	unknown        int // id of [UNK]; -1 if it does not exist
	mask, cls, sep int
	token          func(id int32) string
}

// tokensFor reads the vocab.txt or tokenizer.json at path or, if path is "", the one in the
// folder dir. It returns nil if that has neither.
func tokensFor(path, dir string) (*tokens, error) {
	if path != "" {
		return readTokens(path)
	}
	for _, name := range []string{sharding.VocabName, sharding.TokenizerName} {
		if t, err := readTokens(store.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return t, err
		}
	}
	return nil, nil
}

// readTokens reads a tokenizer.json if the file name ends in .json, and otherwise a
// vocab.txt.
func readTokens(path string) (*tokens, error) {
	raw, err := store.ReadSmall(context.Background(), path, store.Tokens)
	if err != nil {
		return nil, err
	}
	t := &tokens{file: store.Base(path), sha256: sharding.Hash(raw)}
	if !strings.HasSuffix(path, ".json") {
		v, err := tokenize.ReadVocabWith(path, raw, tokenize.UnkToken) // records without masks may lack other special tokens
		if err != nil {
			return nil, fmt.Errorf("%w: %w", sharding.ErrFormat, err)
		}
		t.size, t.unknown, t.mask, t.cls, t.sep, t.token = v.Len(), int(v.UNK()), int(v.MASK()), int(v.CLS()), int(v.SEP()), v.Token
		return t, nil
	}
	v, err := hf.Load(path, raw)
	if err == nil {
		ids, _ := v.Specials() // records without masks may lack special tokens
		t.size, t.unknown, t.mask, t.cls, t.sep, t.token = v.Len(), int(ids.Unk), int(ids.Mask), int(ids.CLS), int(ids.SEP), v.Token
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sharding.ErrFormat, err)
	}
	return t, nil
}
