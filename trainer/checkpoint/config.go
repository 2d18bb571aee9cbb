package checkpoint

import (
	"encoding/json"
	"fmt"

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

// tokenizerConfig returns the content of tokenizer_config.json.
func tokenizerConfig(c trainer.Config, t Tokenizer) map[string]any {
	if t.Vocab == nil {
		config := map[string]any{"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": c.MaxPositions}
		for name, token := range t.Special {
			config[name] = token
		}
		return config
	}
	config := map[string]any{
		"tokenizer_class":  "BertTokenizer",
		"do_lower_case":    t.LowerCase,
		"model_max_length": c.MaxPositions,
		"cls_token":        "[CLS]",
		"mask_token":       "[MASK]",
		"pad_token":        "[PAD]",
		"sep_token":        "[SEP]",
		"unk_token":        "[UNK]",
	}
	if t.StripAccents != nil {
		config["strip_accents"] = *t.StripAccents
	}
	if t.TokenizeChineseChars != nil {
		config["tokenize_chinese_chars"] = *t.TokenizeChineseChars
	}
	return config
}
