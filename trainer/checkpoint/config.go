package checkpoint

import (
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

func transformersConfig(c trainer.Config, h trainer.Heads) hfConfig {
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
			label := fmt.Sprintf("LABEL_%d", i)
			f.IDToLabel[fmt.Sprint(i)] = label
			f.LabelToID[label] = i
		}
	}
	return f
}

// architecture names transformers' class of a model. A class ignores the
// tensors of heads it does not have.
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
	default:
		return "BertForNextSentencePrediction"
	}
}

// tokenizerConfig is tokenizer_config.json.
func tokenizerConfig(c trainer.Config, t Tokenizer) map[string]any {
	return map[string]any{
		"tokenizer_class":  "BertTokenizer",
		"do_lower_case":    t.LowerCase,
		"model_max_length": c.MaxPositions,
		"cls_token":        "[CLS]",
		"mask_token":       "[MASK]",
		"pad_token":        "[PAD]",
		"sep_token":        "[SEP]",
		"unk_token":        "[UNK]",
	}
}
