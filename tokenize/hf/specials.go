package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pretext/tokenize"
)

// Specials are the ids of the special tokens in training examples.
type Specials struct {
	Pad  int32 `json:"pad"`
	Unk  int32 `json:"unk"` // -1 if there is none: byte-level BPE can encode any text
	CLS  int32 `json:"cls"` // <s>
	SEP  int32 `json:"sep"` // </s>
	Mask int32 `json:"mask"`
}

// specialNames are the names of the special tokens in BERT and in RoBERTa.
var specialNames = [...]struct {
	bert, roberta string
	id            func(*Specials) *int32
}{
	{tokenize.PadToken, "<pad>", func(s *Specials) *int32 { return &s.Pad }},
	{tokenize.UnkToken, "<unk>", func(s *Specials) *int32 { return &s.Unk }},
	{tokenize.ClsToken, "<s>", func(s *Specials) *int32 { return &s.CLS }},
	{tokenize.SepToken, "</s>", func(s *Specials) *int32 { return &s.SEP }},
	{tokenize.MaskToken, "<mask>", func(s *Specials) *int32 { return &s.Mask }},
}

// specials returns the ids of the special tokens. All but the unknown token are
// required for examples. Every id must have a token, because masking draws
// random tokens from all ids.
func (c *config) specials(tokens []string) (Specials, error) {
	s := Specials{}
	var missing []string
	for _, special := range specialNames {
		id := slices.Index(tokens, special.bert)
		if id < 0 {
			id = slices.Index(tokens, special.roberta)
		}
		if id < 0 && special.bert != tokenize.UnkToken {
			missing = append(missing, fmt.Sprintf("%s or %s", special.bert, special.roberta))
		}
		*special.id(&s) = int32(id)
	}
	if len(missing) > 0 {
		return s, fmt.Errorf("no token %s", strings.Join(missing, ", no "))
	}
	if i := slices.Index(tokens, ""); i >= 0 {
		return s, fmt.Errorf("id %d has no token: masking draws from all ids up to the largest", i)
	}
	p := c.PostProcessor
	if p != nil && (!p.CLS.is(tokens[s.CLS], s.CLS) || !p.SEP.is(tokens[s.SEP], s.SEP)) {
		return s, errors.New("post_processor: cls and sep differ from the special tokens")
	}
	return s, nil
}

// tokens returns all tokens, indexed by id.
func (c *config) tokens() ([]string, error) {
	last := 0
	ids := func(yield func(int, string)) {
		for token, id := range c.Model.Vocab {
			yield(id, token)
		}
		for _, a := range c.AddedTokens {
			yield(int(a.ID), a.Content)
		}
	}
	negative := false
	ids(func(id int, _ string) {
		last = max(last, id)
		negative = negative || id < 0
	})
	if n := len(c.Model.Vocab) + len(c.AddedTokens); negative || last >= 2*n+maxGaps {
		return nil, fmt.Errorf("vocabulary of %d tokens: the highest id is %d, want no negative or sparse ids", n, last)
	}
	out := make([]string, last+1)
	ids(func(id int, token string) { out[id] = max(out[id], token) }) // if two tokens share an id, always choose the same one
	for _, a := range c.AddedTokens {
		out[a.ID] = a.Content
	}
	return out, nil
}

// maxGaps limits how sparse ids may be: the largest id must be less than twice
// the number of tokens plus maxGaps.
const maxGaps = 1 << 16

// A postProcessor describes the special tokens that are added around a text. Of
// its types, only BertProcessing and RobertaProcessing have the fields cls and
// sep.
type postProcessor struct {
	CLS namedToken `json:"cls"`
	SEP namedToken `json:"sep"`
}

// A namedToken is a token and its id, a two-element list in JSON. The zero
// value means that the file has no such list.
type namedToken struct {
	text  string
	id    int32
	known bool
}

// UnmarshalJSON reads a list of a token and its id. It ignores any other JSON
// value.
func (t *namedToken) UnmarshalJSON(data []byte) error {
	var two [2]json.RawMessage
	if json.Unmarshal(data, &two) != nil || json.Unmarshal(two[0], &t.text) != nil || json.Unmarshal(two[1], &t.id) != nil {
		*t = namedToken{}
		return nil
	}
	t.known = true
	return nil
}

// is reports whether t is not known or has the given text and id.
func (t namedToken) is(text string, id int32) bool {
	return !t.known || t.text == text && t.id == id
}
