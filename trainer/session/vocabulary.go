package session

import (
	"context"
	"encoding/json"
	"fmt"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/trainer/checkpoint"
)

// A vocabulary has the properties of a token vocabulary that training needs.
// They come from vocab.txt, or from the manifest's description of a
// tokenizer.json.
type vocabulary interface {
	Len() int
	CLS() int32
	SEP() int32
	MASK() int32
	SHA256() string
}

// A fileVocab is a tokenizer.json as described by the manifest's options.
// Training does not need its tokens.
type fileVocab struct {
	*sharding.TokenizerInfo
	sha256 string
}

func (v *fileVocab) Len() int       { return v.VocabSize }
func (v *fileVocab) CLS() int32     { return v.Specials.CLS }
func (v *fileVocab) SEP() int32     { return v.Specials.SEP }
func (v *fileVocab) MASK() int32    { return v.Mask }
func (v *fileVocab) SHA256() string { return v.sha256 }

// readTokenizer reads the tokenizer.json beside the records.
func (c *Corpus) readTokenizer(v *fileVocab) error {
	path := store.Join(c.folder(), sharding.TokenizerName)
	b, err := store.ReadLocation(context.Background(), path)
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
	for name, id := range map[string]int32{"pad_token": v.Pad, "unk_token": v.Unk, "cls_token": v.Specials.CLS, "sep_token": v.Specials.SEP, "mask_token": v.Mask} {
		if token := byID[id]; token != "" {
			out[name] = token
		} else if id >= 0 {
			return nil, fmt.Errorf("no token of id %d, which the manifest calls %s", id, name)
		}
	}
	return out, nil
}
