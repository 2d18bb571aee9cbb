package hf

import (
	"encoding/json"
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

// specialNames are the names of the special tokens in BERT, in RoBERTa and in
// models after Llama 3.
var specialNames = [...]struct {
	names []string
	id    func(*Specials) *int32
}{
	{[]string{tokenize.PadToken, "<pad>", "<|pad|>", "<|padding|>"}, func(s *Specials) *int32 { return &s.Pad }},
	{[]string{tokenize.UnkToken, "<unk>"}, func(s *Specials) *int32 { return &s.Unk }},
	clsName: {[]string{tokenize.ClsToken, "<s>", "<cls>", "<|cls|>", "<|begin_of_text|>"}, func(s *Specials) *int32 { return &s.CLS }},
	sepName: {[]string{tokenize.SepToken, "</s>", "<sep>", "<|sep|>", "<|end_of_text|>"}, func(s *Specials) *int32 { return &s.SEP }},
	{[]string{tokenize.MaskToken, "<mask>", "<|mask|>"}, func(s *Specials) *int32 { return &s.Mask }},
}

// Indexes of specialNames.
const (
	clsName = 2
	sepName = 3
)

// specials returns the ids of the special tokens. Examples require all but the unknown
// token. Every id must have a token, because masking draws random tokens from all ids.
func (c *config) specials(t *Tokenizer) (Specials, error) {
	s := Specials{noToken, noToken, noToken, noToken, noToken} // all unknown until all are checked
	around, err := aroundText(c.PostProcessor, topPlace())
	if err != nil {
		return s, fmt.Errorf("post_processor: %w", err)
	}
	var missing []string
	for i, special := range specialNames {
		id := noToken
		if name := around[i]; name != "" {
			if id = slices.Index(t.tokens, name); id < 0 {
				return s, fmt.Errorf("post_processor: its token %q is not in the vocabulary", name)
			}
		}
		for _, name := range special.names {
			if id < 0 {
				id = slices.Index(t.tokens, name)
			}
		}
		if id < 0 && special.names[0] != tokenize.UnkToken {
			missing = append(missing, strings.Join(special.names[:2], " or "))
		}
		*special.id(&s) = int32(id)
	}
	if u := c.unknownID(t.model); u >= 0 {
		s.Unk = u
	}
	if len(missing) > 0 {
		return s, fmt.Errorf("no token %s: add it with add_special_tokens of the Python package tokenizers, or train a tokenizer with prepare-data vocab", strings.Join(missing, ", no "))
	}
	if i := slices.Index(t.tokens, ""); i >= 0 {
		return s, fmt.Errorf("id %d has no token: masking draws from all ids up to the largest", i)
	}
	return s, nil
}

// unknownID returns the id that the model gives to text that is not in its vocabulary, or
// -1.
func (c *config) unknownID(m wordModel) int32 {
	switch m := m.(type) {
	case *bpe:
		return m.unk
	case *unigram:
		return m.unk
	case *wordPiece:
		return m.unk
	case *wordLevel:
		return m.unk
	}
	return noToken
}

// list returns all tokens, indexed by id.
func (c *config) list(vocab map[string]int32) ([]string, error) {
	last := int32(0)
	for _, id := range vocab {
		last = max(last, id)
	}
	for _, a := range c.AddedTokens {
		last = max(last, a.ID)
	}
	if n := len(vocab) + len(c.AddedTokens); int(last) >= 2*n+maxGaps {
		return nil, fmt.Errorf("vocabulary of %d tokens: the highest id is %d, want no sparse ids", n, last)
	}
	out := make([]string, last+1)
	for token, id := range vocab {
		out[id] = max(out[id], token) // if tokens share an id, always the same one
	}
	for _, a := range c.AddedTokens {
		out[a.ID] = a.Content
	}
	return out, nil
}

// maxGaps limits how sparse ids may be: the largest id must be less than twice
// the number of tokens plus maxGaps.
const maxGaps = 1 << 16

// A processorFile is a post-processor: it puts special tokens around a text.
type processorFile struct {
	Type       string            `json:"type"`
	CLS        namedToken        `json:"cls"`        // BertProcessing, RobertaProcessing
	SEP        namedToken        `json:"sep"`        // BertProcessing, RobertaProcessing
	Single     []templatePart    `json:"single"`     // TemplateProcessing, for one text
	Processors []json.RawMessage `json:"processors"` // Sequence
}

// A templatePart is an element of a template: a special token, which has a name, or the
// text.
type templatePart struct {
	SpecialToken *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
}

// aroundText returns the names of the tokens that a post-processor puts before and after a
// text. They are at the indexes clsName and sepName; "" if the post-processor has no such
// token or an unknown type.
func aroundText(raw json.RawMessage, at place) (names [len(specialNames)]string, err error) {
	var p processorFile
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
		return names, nil
	}
	switch p.Type {
	case "BertProcessing", "RobertaProcessing":
		names[clsName], names[sepName] = string(p.CLS), string(p.SEP)
	case "TemplateProcessing":
		n := len(p.Single)
		if n >= 3 && p.Single[0].SpecialToken != nil && p.Single[n-1].SpecialToken != nil {
			names[clsName], names[sepName] = p.Single[0].SpecialToken.ID, p.Single[n-1].SpecialToken.ID
		}
	case "Sequence":
		if at, err = at.inside(); err != nil {
			return names, err
		}
		for _, one := range p.Processors {
			if inner, err := aroundText(one, at); err != nil || inner[clsName] != "" {
				return inner, err
			}
		}
	}
	return names, nil
}

// A namedToken is the name of a token. In JSON it is a list of the name and the id; other
// values give "".
type namedToken string

// UnmarshalJSON reads the name from a list of a token and its id.
func (t *namedToken) UnmarshalJSON(data []byte) error {
	var two []json.RawMessage
	if json.Unmarshal(data, &two) != nil || len(two) == 0 || json.Unmarshal(two[0], (*string)(t)) != nil {
		*t = ""
	}
	return nil
}
