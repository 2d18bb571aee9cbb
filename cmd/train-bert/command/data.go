package command

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"pretext/records"
	"pretext/sharding"
	"pretext/tokenize"
	"pretext/trainer/checkpoint"
	"pretext/trainer/loader"
)

// A corpus is a folder of shards, one side of it, with its vocabulary.
type corpus struct {
	path      string
	shards    *loader.Shards
	vocab     vocabulary
	tokenizer checkpoint.Tokenizer // what a model learned from it needs
	hash      string               // of the manifest
}

// openCorpus opens one side of a folder of shards. vocab names a vocabulary for
// folders of other makers, which bring none.
func openCorpus(ctx context.Context, path, side, vocab string) (*corpus, error) {
	shards, err := loader.Open(ctx, path, loader.Options{Split: side})
	if err != nil {
		return nil, err
	}
	c := &corpus{path: path, shards: shards}
	if err := c.readVocab(vocab); err != nil {
		return nil, err
	}
	if c.hash, err = c.dataHash(); err != nil {
		return nil, err
	}
	return c, nil
}

// openEval opens the held-out side of a folder; nil without an error where it
// has none. A folder given for evaluation alone may be all train shards.
func openEval(ctx context.Context, o *trainOptions) (*corpus, error) {
	if o.evalData == "" {
		c, err := openCorpus(ctx, o.data, sharding.Eval, o.vocab)
		if errors.Is(err, loader.ErrNoShards) {
			return nil, nil
		}
		if err == nil && c.shards.Files()[0].Split != sharding.Eval {
			return nil, nil // a single file is read whatever its side
		}
		return c, err
	}
	c, err := openCorpus(ctx, o.evalData, sharding.Eval, o.vocab)
	if errors.Is(err, loader.ErrNoShards) {
		return openCorpus(ctx, o.evalData, "", o.vocab)
	}
	return c, err
}

// folder is where the shards lie, which may be below the path that was given.
func (c *corpus) folder() string { return filepath.Dir(c.shards.Files()[0].Path) }

func (c *corpus) readVocab(given string) error {
	path := filepath.Join(c.folder(), sharding.VocabName)
	_, err := os.Stat(path)
	if file := c.manifestVocab(); file != nil {
		if given != "" {
			return usagef("--vocab %s: the data was made with its %s", given, sharding.TokenizerName)
		}
		return c.readTokenizer(file)
	}
	switch {
	case given != "" && err == nil:
		return usagef("--vocab %s: the data has a vocabulary of its own, %s", given, path)
	case given != "":
		path = given
	case os.IsNotExist(err):
		return usagef("no %s beside the records of %s: give --vocab FILE, the one they were made with", sharding.VocabName, c.path)
	}
	t, err := readTokenizer(path)
	if err != nil {
		return err
	}
	if t.Vocab == nil {
		return notWordPiece(path, t.File)
	}
	t.File = nil // the records' ids are those of the vocabulary
	if c.vocab, err = tokenize.ReadVocab(path, t.Vocab); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	c.tokenizer = c.asMade(t)
	return nil
}

// asMade returns a tokenizer with the option that the manifest says the records were
// made with. Without a manifest it stays what its own files say.
func (c *corpus) asMade(t checkpoint.Tokenizer) checkpoint.Tokenizer {
	if m := c.shards.Manifest(); m != nil {
		var o struct {
			LowerCase *bool `json:"do_lower_case"`
		}
		if json.Unmarshal(m.Options, &o) == nil && o.LowerCase != nil {
			t.LowerCase, t.StripAccents, t.TokenizeChineseChars = *o.LowerCase, nil, nil
		}
	}
	return t
}

// dataHash tells data apart: the hash of the manifest, or, without one, of the
// names and sizes of the files.
func (c *corpus) dataHash() (string, error) {
	h := sha256.New()
	if c.shards.Manifest() != nil {
		b, err := os.ReadFile(filepath.Join(c.folder(), sharding.ManifestName))
		if err != nil {
			return "", err
		}
		h.Write(b)
	} else {
		for _, f := range c.shards.Files() {
			fmt.Fprintf(h, "%s %d\n", filepath.Base(f.Path), f.Bytes)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// rules are what every example must satisfy before a model sees it.
func (c *corpus) rules() records.Rules {
	r := records.Rules{VocabSize: c.vocab.Len(), CLS: c.vocab.CLS(), SEP: c.vocab.SEP()}
	if v, ok := c.vocab.(*fileVocab); ok {
		r.Pad = v.Pad // with a vocab.txt it is 0, wherever [PAD] is
	}
	return r
}
