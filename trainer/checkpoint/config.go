package checkpoint

import (
	"encoding/json"
	"fmt"

	"pretext/tokenize"
	"pretext/tokenize/hf"
	"pretext/trainer"
)

// hfConfig is config.json as transformers writes it for a BERT model.
type hfConfig struct {
	Architectures []string `json:"architectures"`
	ModelType     string   `json:"model_type"`
	trainer.Config
	PadTokenID   int    `json:"pad_token_id"`
	PositionType string `json:"position_embedding_type"`
	Tied         bool   `json:"tie_word_embeddings"`
	DType        string `json:"torch_dtype"`
	UseCache     bool   `json:"use_cache"`
	hfLabels
}

// hfModern is config.json as transformers writes it for a ModernBERT model.
type hfModern struct {
	Architectures []string `json:"architectures"`
	ModelType     string   `json:"model_type"`
	trainer.ModernKeys
	DType string `json:"torch_dtype"`
	PAD   *int32 `json:"pad_token_id"` // null: not known; the default is outside small vocabularies
	CLS   *int32 `json:"cls_token_id"`
	SEP   *int32 `json:"sep_token_id"`
	BOS   *int32 `json:"bos_token_id"`
	EOS   *int32 `json:"eos_token_id"`
	hfLabels
}

// hfLabels are the keys of a classifier.
type hfLabels struct {
	Problem   string            `json:"problem_type,omitempty"`
	IDToLabel map[string]string `json:"id2label,omitempty"`
	LabelToID map[string]int    `json:"label2id,omitempty"`
}

// transformersConfig returns the content of config.json, to be marshalled.
func transformersConfig(c trainer.Config, h trainer.Heads, t Tokenizer) any {
	if c.Modern == nil {
		return hfConfig{
			Architectures: []string{"Bert" + architecture(h)}, ModelType: "bert", Config: c,
			PositionType: "absolute", Tied: true, DType: "float32", UseCache: true, hfLabels: labelKeys(h, t.Labels),
		}
	}
	f := hfModern{Architectures: []string{"ModernBert" + architecture(h)}, ModelType: "modernbert", ModernKeys: c.ModernKeys(), DType: "float32",
		hfLabels: labelKeys(h, t.Labels)}
	id := t.ids(c.VocabSize)
	f.PAD, f.CLS, f.SEP = id("pad_token"), id("cls_token"), id("sep_token")
	f.BOS, f.EOS = f.CLS, f.SEP
	return f
}

// ids returns a function that returns the id of a special token, by its key in
// tokenizer_config.json; nil for a token that the model does not have. t has a File, or no
// tokens.
func (t Tokenizer) ids(size int) func(key string) *int32 {
	tokens, special := fileTokens(t.File), t.Special
	if t.Vocab != nil {
		special = bertSpecial
	}
	return func(key string) *int32 {
		if id, ok := tokens[special[key]]; ok && int(id) < size {
			return &id
		}
		return nil
	}
}

// fileTokens returns the ids of the added tokens of a tokenizer.json, which special tokens
// are.
func fileTokens(file []byte) map[string]int32 {
	var f struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
	}
	ids := map[string]int32{}
	if json.Unmarshal(file, &f) == nil {
		for _, a := range f.Added {
			ids[a.Content] = a.ID
		}
	}
	return ids
}

// labelKeys returns the keys of the classifier in h. labels are the class names; nil means
// transformers' default names (LABEL_0, LABEL_1, …).
func labelKeys(h trainer.Heads, labels []string) (f hfLabels) {
	switch {
	case h.Regression:
		f.Problem = "regression"
	case h.Labels > 0:
		f.Problem = "single_label_classification"
	}
	if n := h.ClassifierWidth(); n > 0 {
		f.IDToLabel, f.LabelToID = map[string]string{}, map[string]int{}
		for i := range n {
			label := defaultLabel(i)
			if i < len(labels) {
				label = labels[i]
			}
			f.IDToLabel[fmt.Sprint(i)] = label
			f.LabelToID[label] = i
		}
	}
	return f
}

// defaultLabel returns the name that transformers gives to an unnamed class.
func defaultLabel(class int) string { return fmt.Sprintf("LABEL_%d", class) }

// labelsOf returns the class names (id2label) in config.json. It returns nil if
// there are none, if a class has no name, or if all names are transformers'
// default names.
func labelsOf(config []byte) []string {
	var f struct {
		IDToLabel map[string]string `json:"id2label"`
	}
	if json.Unmarshal(config, &f) != nil {
		return nil
	}
	labels, named := make([]string, len(f.IDToLabel)), false
	for i := range labels {
		label, ok := f.IDToLabel[fmt.Sprint(i)]
		if !ok {
			return nil
		}
		labels[i], named = label, named || label != defaultLabel(i)
	}
	if !named {
		return nil
	}
	return labels
}

// Classes of ModernBERT whose classifier the trainer has.
const (
	modernClassifier = "ModernBertForSequenceClassification"
	modernSpan       = "ModernBertForQuestionAnswering"
)

// classOf returns the first class that config.json names; "" if it names none.
func classOf(config []byte) string {
	var f struct {
		Architectures []string `json:"architectures"`
	}
	if json.Unmarshal(config, &f) != nil || len(f.Architectures) == 0 {
		return ""
	}
	return f.Architectures[0]
}

// architecture returns the name of the transformers class, without Bert or ModernBert, for a
// model with the heads h. If no class has all of these heads, the returned class ignores the
// tensors of the missing heads.
func architecture(h trainer.Heads) string {
	switch {
	case h.Span:
		return "ForQuestionAnswering"
	case h.ClassifierWidth() > 0:
		return "ForSequenceClassification"
	case h.MLM && h.NSP:
		return "ForPreTraining"
	case h.MLM:
		return "ForMaskedLM"
	case h == (trainer.Heads{}):
		return "Model"
	default:
		return "ForNextSentencePrediction"
	}
}

// bertSpecial are the special tokens of a vocab.txt.
var bertSpecial = map[string]string{"cls_token": tokenize.ClsToken, "mask_token": tokenize.MaskToken, "pad_token": tokenize.PadToken, "sep_token": tokenize.SepToken, "unk_token": tokenize.UnkToken}

// withFile returns t with a tokenizer.json for its vocab.txt, without which transformers 5 makes
// no tokenizer for a ModernBERT model. A File with other casing than t's is replaced, because
// transformers takes the casing from it.
func (t Tokenizer) withFile() (Tokenizer, error) {
	if t.Vocab == nil {
		return t, nil
	}
	v, err := tokenize.ReadVocabWith(vocabFile, t.Vocab, tokenize.UnkToken)
	if err != nil {
		return t, err
	}
	o := tokenize.DefaultOptions()
	if t.File != nil {
		file, err := hf.Load(tokenizerJSON, t.File)
		if err != nil {
			return t, err
		}
		if o = file.WordPiece().Options(); sameCasing(o, t) {
			return t, nil
		}
	}
	o.DoLowerCase, o.StripAccents, o.TokenizeChineseChars = t.LowerCase, t.StripAccents, t.TokenizeChineseChars
	t.File = hf.BERTFile(v, o)
	return t, nil
}

// sameCasing reports whether the options of a tokenizer.json have the casing of t.
func sameCasing(o tokenize.Options, t Tokenizer) bool {
	value := func(b *bool, usual bool) bool {
		if b != nil {
			return *b
		}
		return usual
	}
	return o.DoLowerCase == t.LowerCase && value(o.StripAccents, o.DoLowerCase) == value(t.StripAccents, t.LowerCase) &&
		value(o.TokenizeChineseChars, true) == value(t.TokenizeChineseChars, true)
}

// tokenizerConfig returns the description of the tokenizer for transformers.
func tokenizerConfig(c trainer.Config, t Tokenizer) hf.Config {
	if t.Vocab == nil || c.Modern != nil { // then tokenizer.json holds the casing
		f := hf.Config{Class: hf.Generic, Special: t.Special, MaxLength: c.MaxPositions, PrefixSpace: hf.PrefixSpace(t.File)}
		if t.Vocab != nil {
			f.Special = bertSpecial
		}
		if c.Modern != nil {
			f.Inputs = []string{"input_ids", "attention_mask"} // the model has no segments
		}
		return f
	}
	return hf.Config{Class: "BertTokenizer", Special: bertSpecial, LowerCase: &t.LowerCase, MaxLength: c.MaxPositions,
		StripAccents: t.StripAccents, TokenizeChineseChars: t.TokenizeChineseChars}
}
