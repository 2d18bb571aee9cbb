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
	PadTokenID   int               `json:"pad_token_id"`
	PositionType string            `json:"position_embedding_type"`
	Tied         bool              `json:"tie_word_embeddings"`
	DType        string            `json:"torch_dtype"`
	UseCache     bool              `json:"use_cache"`
	Problem      string            `json:"problem_type,omitempty"`
	IDToLabel    map[string]string `json:"id2label,omitempty"`
	LabelToID    map[string]int    `json:"label2id,omitempty"`
}

// transformersConfig returns the content of config.json. labels are the class
// names; nil means transformers' default names (LABEL_0, LABEL_1, …).
func transformersConfig(c trainer.Config, h trainer.Heads, labels []string) hfConfig {
	f := hfConfig{
		Architectures: []string{architecture(h)}, ModelType: "bert", Config: c,
		PositionType: "absolute", Tied: true, DType: "float32", UseCache: true,
	}
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

// architecture returns the name of the transformers class for a model with the
// heads h. If no class has all of these heads, the returned class ignores the
// tensors of the missing heads.
func architecture(h trainer.Heads) string {
	switch {
	case h.Span:
		return "BertForQuestionAnswering"
	case h.ClassifierWidth() > 0:
		return "BertForSequenceClassification"
	case h.MLM && h.NSP:
		return "BertForPreTraining"
	case h.MLM:
		return "BertForMaskedLM"
	case h == (trainer.Heads{}):
		return "BertModel"
	default:
		return "BertForNextSentencePrediction"
	}
}

// tokenizerConfig returns the description of the tokenizer for transformers.
func tokenizerConfig(c trainer.Config, t Tokenizer) hf.Config {
	if t.Vocab == nil {
		return hf.Config{Class: hf.Generic, Special: t.Special, MaxLength: c.MaxPositions, PrefixSpace: hf.PrefixSpace(t.File)}
	}
	special := map[string]string{"cls_token": tokenize.ClsToken, "mask_token": tokenize.MaskToken, "pad_token": tokenize.PadToken, "sep_token": tokenize.SepToken, "unk_token": tokenize.UnkToken}
	return hf.Config{Class: "BertTokenizer", Special: special, LowerCase: &t.LowerCase, MaxLength: c.MaxPositions,
		StripAccents: t.StripAccents, TokenizeChineseChars: t.TokenizeChineseChars}
}
