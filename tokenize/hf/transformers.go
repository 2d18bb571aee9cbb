package hf

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"pretext/tokenize"
)

// Names of the files by which AutoTokenizer of the library transformers loads a folder,
// besides tokenizer.json.
const (
	ConfigName   = "tokenizer_config.json"
	SpecialsName = "special_tokens_map.json"
)

// Generic is the class of transformers that takes every tokenizer.json as it is.
// BertTokenizer of transformers 5 reads only the vocabulary of the file, and sets the
// longest word itself.
const Generic = "PreTrainedTokenizerFast"

// A Config is the content of tokenizer_config.json. Fields with zero values are not
// written.
type Config struct {
	Class     string            // tokenizer_class
	Special   map[string]string // special tokens by their names: "cls_token" and so on
	LowerCase *bool             // do_lower_case
	MaxLength int               // model_max_length

	// Inputs are model_input_names. Without them, transformers 4 returns token_type_ids and
	// transformers 5 does not.
	Inputs []string

	// PrefixSpace is add_prefix_space, see [PrefixSpace].
	PrefixSpace bool

	// StripAccents and TokenizeChineseChars are strip_accents and tokenize_chinese_chars.
	StripAccents, TokenizeChineseChars *bool
}

// A File is a file of a tokenizer's folder.
type File struct {
	Name string
	Data []byte
}

// Files returns tokenizer_config.json and special_tokens_map.json.
func (c Config) Files() []File {
	config := map[string]any{"tokenizer_class": c.Class}
	for name, token := range c.Special {
		config[name] = token
	}
	for name, value := range map[string]*bool{"do_lower_case": c.LowerCase, "strip_accents": c.StripAccents, "tokenize_chinese_chars": c.TokenizeChineseChars} {
		if value != nil {
			config[name] = *value
		}
	}
	if c.MaxLength > 0 {
		config["model_max_length"] = c.MaxLength
	}
	if c.PrefixSpace {
		config["add_prefix_space"] = true
	}
	if c.Inputs != nil {
		config["model_input_names"] = c.Inputs
	}
	if c.Class == Generic {
		config["clean_up_tokenization_spaces"] = false // the file's decoder does what is needed
	}
	special := c.Special
	if special == nil {
		special = map[string]string{}
	}
	return []File{{ConfigName, marshal(config)}, {SpecialsName, marshal(special)}}
}

func marshal(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic("BUG: tokenizer: " + err.Error())
	}
	return append(b, '\n')
}

// specialKeys are the names of the special tokens in tokenizer_config.json, in the order
// of specialNames.
var specialKeys = [len(specialNames)]string{"pad_token", "unk_token", "cls_token", "sep_token", "mask_token"}

// Special returns the special tokens under their names in tokenizer_config.json.
func (t *Tokenizer) Special() map[string]string {
	out := map[string]string{}
	for i, special := range specialNames {
		if id := *special.id(&t.specials); id >= 0 {
			out[specialKeys[i]] = t.tokens[id]
		}
	}
	return out
}

// PrefixSpace reports whether the pre-tokenizer of a tokenizer.json puts a space before a
// text. transformers 4 takes this out again unless tokenizer_config.json has
// add_prefix_space.
func PrefixSpace(file []byte) bool {
	var f struct {
		PreTokenizer struct {
			AddPrefixSpace bool `json:"add_prefix_space"`
		} `json:"pre_tokenizer"`
	}
	return json.Unmarshal(file, &f) == nil && f.PreTokenizer.AddPrefixSpace
}

// Transformers returns the files by which AutoTokenizer loads the folder of the
// tokenizer.json. file is its content.
func (t *Tokenizer) Transformers(file []byte) []File {
	c := Config{Class: Generic, Special: t.Special(), PrefixSpace: PrefixSpace(file)}
	if t.bert != nil {
		o := t.bert.Options()
		c.bert(o)
	}
	return c.Files()
}

// bert sets the fields of a BERT tokenizer.
func (c *Config) bert(o tokenize.Options) {
	c.LowerCase, c.StripAccents, c.TokenizeChineseChars = &o.DoLowerCase, o.StripAccents, o.TokenizeChineseChars
	c.Inputs = []string{"input_ids", "token_type_ids", "attention_mask"}
}

// BERTFile returns a tokenizer.json for a vocab.txt. Its ids are those of package tokenize
// with the options o, but for the rules in which profiles differ from [tokenize.ProfileHF];
// the longest word is that of the options.
func BERTFile(v *tokenize.Vocab, o tokenize.Options) []byte {
	var added []map[string]any
	for _, token := range tokenize.SpecialTokens() {
		if id, ok := v.ID(token); ok {
			added = append(added, map[string]any{"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
		}
	}
	file := marshal(map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer": map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": o.TokenizeChineseChars == nil || *o.TokenizeChineseChars,
			"strip_accents": o.StripAccents, "lowercase": o.DoLowerCase},
		"pre_tokenizer":  map[string]any{"type": "BertPreTokenizer"},
		"post_processor": around(v),
		"decoder":        map[string]any{"type": "WordPiece", "prefix": "##", "cleanup": true},
		"model":          map[string]any{"type": "WordPiece", "unk_token": tokenize.UnkToken, "continuing_subword_prefix": "##", "max_input_chars_per_word": o.MaxChars(), "vocab": struct{}{}},
	})
	return bytes.Replace(file, []byte(`"vocab": {}`), appendVocab([]byte(`"vocab": `), v), 1)
}

// appendVocab appends the tokens and their ids as encoding/json writes a map in the model
// of a tokenizer.json, but several times as fast: every run makes the file.
func appendVocab(dst []byte, v *tokenize.Vocab) []byte {
	const usual = 32 // bytes of a line: the file is then not moved while it grows
	dst = append(slices.Grow(dst, usual*v.Len()), '{')
	for i, id := range v.Sorted() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "\n      "...)
		if token := v.Token(id); unescaped(token) {
			dst = append(append(append(dst, '"'), token...), '"')
		} else {
			dst = append(dst, bytes.TrimSuffix(marshal(token), []byte("\n"))...)
		}
		dst = strconv.AppendInt(append(dst, ": "...), int64(id), 10)
	}
	if v.Len() > 0 {
		dst = append(dst, "\n    "...)
	}
	return append(dst, '}')
}

// unescaped reports whether a token is of ASCII alone and needs no escape in JSON.
func unescaped(token string) bool {
	for i := range len(token) {
		switch b := token[i]; {
		case b < ' ', b > '~', b == '"', b == '\\', b == '<', b == '>', b == '&':
			return false
		}
	}
	return true
}

// around returns the post-processor that puts [CLS] and [SEP] around texts; nil if the
// vocabulary does not have both.
func around(v *tokenize.Vocab) any {
	if v.CLS() < 0 || v.SEP() < 0 {
		return nil
	}
	part := func(kind, id string, segment int) map[string]any {
		return map[string]any{kind: map[string]any{"id": id, "type_id": segment}}
	}
	single := []any{part("SpecialToken", tokenize.ClsToken, 0), part("Sequence", "A", 0), part("SpecialToken", tokenize.SepToken, 0)}
	token := func(name string, id int32) map[string]any {
		return map[string]any{"id": name, "ids": []int32{id}, "tokens": []string{name}}
	}
	return map[string]any{"type": "TemplateProcessing", "single": single,
		"pair":           append(single[:3:3], part("Sequence", "B", 1), part("SpecialToken", tokenize.SepToken, 1)),
		"special_tokens": map[string]any{tokenize.ClsToken: token(tokenize.ClsToken, v.CLS()), tokenize.SepToken: token(tokenize.SepToken, v.SEP())}}
}

// BERTFiles returns the files by which AutoTokenizer loads the folder of a vocab.txt:
// tokenizer.json and those of [Config.Files].
func BERTFiles(v *tokenize.Vocab, o tokenize.Options) []File {
	c := Config{Class: Generic, Special: map[string]string{}}
	c.bert(o)
	for i, id := range []int32{v.PAD(), v.UNK(), v.CLS(), v.SEP(), v.MASK()} {
		if id >= 0 {
			c.Special[specialKeys[i]] = v.Token(id)
		}
	}
	return append([]File{{FileName, BERTFile(v, o)}}, c.Files()...)
}

// FileName is the name of the file that the package reads.
const FileName = "tokenizer.json"
