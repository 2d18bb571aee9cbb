package checkpoint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

func TestConfigSaysWhatTransformersNeeds(t *testing.T) {
	cases := map[string]struct {
		heads  trainer.Heads
		labels int
	}{
		"BertForPreTraining":            {trainer.PretrainHeads(), 0},
		"BertForMaskedLM":               {trainer.Heads{MLM: true}, 0},
		"BertForNextSentencePrediction": {trainer.Heads{NSP: true}, 0},
		"BertForSequenceClassification": {trainer.Heads{Labels: 3}, 3},
		"BertForQuestionAnswering":      {trainer.Heads{Span: true}, 0},
	}
	for class, want := range cases {
		dir := filepath.Join(t.TempDir(), "model")
		if err := checkpoint.WriteModel(dir, tiny(), want.heads, tokenizer, trainer.InitialWeights(tiny(), want.heads, 1)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "config.json"))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Architectures []string       `json:"architectures"`
			ModelType     string         `json:"model_type"`
			Act           string         `json:"hidden_act"`
			Labels        map[string]int `json:"label2id"`
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Architectures) != 1 || got.Architectures[0] != class || got.ModelType != "bert" || got.Act != "gelu_new" || len(got.Labels) != want.labels {
			t.Errorf("%s: got %+v", class, got)
		}
		p, err := checkpoint.OpenPretrained(dir)
		if err != nil {
			t.Fatal(err)
		}
		h, err := p.Heads()
		if err != nil || h != want.heads || p.Config != tiny() {
			t.Errorf("%s: read back as %+v, %+v, %v", class, h, p.Config, err)
		}
		p.Close()
	}
}

func TestOldNamesOfTransformersAreUnderstood(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	header := `{"embeddings.LayerNorm.gamma":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},` +
		`"pooler.dense.bias":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},` +
		`"embeddings.position_ids":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},` +
		`"cls.predictions.decoder.weight":{"dtype":"F32","shape":[0],"data_offsets":[16,16]}}`
	write("model.safetensors", append(append([]byte{byte(len(header)), byte(len(header) >> 8), 0, 0, 0, 0, 0, 0}, header...), make([]byte, 16)...))
	write("config.json", []byte(`{"model_type":"bert","hidden_size":1,"num_attention_heads":1}`))
	p, err := checkpoint.OpenPretrained(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if diff := cmp.Diff([]string{"bert.embeddings.LayerNorm.weight", "bert.pooler.dense.bias"}, p.Names()); diff != "" {
		t.Error(diff)
	}
}
