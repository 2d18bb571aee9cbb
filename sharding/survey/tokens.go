package survey

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pretext/sharding"
	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// tokens is what a survey asks of a vocabulary or a tokenizer.
type tokens struct {
	file, sha256   string
	size           int
	unknown        int // -1 where nothing is unknown
	mask, cls, sep int
	token          func(id int32) string
}

// tokensBeside returns the file in a folder that names the ids of its records,
// "" where there is none.
func tokensBeside(dir string) string {
	for _, name := range []string{sharding.VocabName, sharding.TokenizerName} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// readTokens reads a vocab.txt or, where the name ends so, a tokenizer.json.
func readTokens(path string) (*tokens, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &tokens{file: filepath.Base(path), sha256: sharding.Hash(raw)}
	if !strings.HasSuffix(path, ".json") {
		v, err := tokenize.ReadVocab(path, raw)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", sharding.ErrFormat, err)
		}
		t.size, t.unknown, t.mask, t.cls, t.sep, t.token = v.Len(), int(v.UNK()), int(v.MASK()), int(v.CLS()), int(v.SEP()), v.Token
		return t, nil
	}
	v, err := hf.Load(path, raw)
	if err == nil {
		var ids hf.Specials
		ids, err = v.Specials()
		t.size, t.unknown, t.mask, t.cls, t.sep, t.token = v.Len(), int(ids.Unk), int(ids.Mask), int(ids.CLS), int(ids.SEP), v.Token
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sharding.ErrFormat, err)
	}
	return t, nil
}
