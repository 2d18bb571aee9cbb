package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"pretext/sharding"
	"pretext/trainer/checkpoint"
)

// A vocabulary is what training must know of one: a vocab.txt, or what the
// manifest says of a tokenizer.json.
type vocabulary interface {
	Len() int
	CLS() int32
	SEP() int32
	MASK() int32
	SHA256() string
}

// A fileVocab is a tokenizer.json as the manifest's options describe it: its
// tokens are of no interest to training.
type fileVocab struct {
	Size   int   `json:"vocab_size"`
	Pad    int32 `json:"pad"`
	Unk    int32 `json:"unk"` // -1 for none
	Cls    int32 `json:"cls"`
	Sep    int32 `json:"sep"`
	Mask   int32 `json:"mask"`
	sha256 string
}

func (v *fileVocab) Len() int       { return v.Size }
func (v *fileVocab) CLS() int32     { return v.Cls }
func (v *fileVocab) SEP() int32     { return v.Sep }
func (v *fileVocab) MASK() int32    { return v.Mask }
func (v *fileVocab) SHA256() string { return v.sha256 }

// manifestVocab returns what the manifest says of a tokenizer.json, nil where
// the records were made with a vocab.txt or have no manifest.
func (c *Corpus) manifestVocab() *fileVocab {
	m := c.shards.Manifest()
	if m == nil {
		return nil
	}
	var o struct {
		Tokenizer *fileVocab `json:"tokenizer"`
	}
	if json.Unmarshal(m.Options, &o) != nil {
		return nil
	}
	return o.Tokenizer
}

// readTokenizer reads the tokenizer.json beside the records.
func (c *Corpus) readTokenizer(v *fileVocab) error {
	path := filepath.Join(c.folder(), sharding.TokenizerName)
	b, err := os.ReadFile(path)
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

// names returns the special tokens under the names of tokenizer_config.json.
func (v *fileVocab) names(file []byte) (map[string]string, error) {
	var f struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
		Model struct {
			Vocab map[string]int32 `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, err
	}
	byID := map[int32]string{}
	for token, id := range f.Model.Vocab {
		byID[id] = max(byID[id], token)
	}
	for _, a := range f.Added {
		byID[a.ID] = a.Content
	}
	out := map[string]string{}
	for name, id := range map[string]int32{"pad_token": v.Pad, "unk_token": v.Unk, "cls_token": v.Cls, "sep_token": v.Sep, "mask_token": v.Mask} {
		if token := byID[id]; token != "" {
			out[name] = token
		} else if id >= 0 {
			return nil, fmt.Errorf("no token of id %d, which the manifest calls %s", id, name)
		}
	}
	return out, nil
}
