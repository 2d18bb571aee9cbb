package trainer_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
)

func TestPresetsHaveThePublishedNumbersOfParameters(t *testing.T) {
	// Of the encoder with its pooler, in millions, from the model card of
	// google-research/bert: tiny 4.4, mini 11.3 (rounded from 11.2), small 29.1
	// (28.8), medium 41.7 (41.4), base 110.1 (109.5), large 340 (335.1).
	want := map[string]int64{"tiny": 4_385_920, "mini": 11_170_560, "small": 28_763_648, "medium": 41_373_184, "base": 109_482_240, "large": 335_141_888}
	for _, name := range []string{"tiny", "mini", "small", "medium", "base", "large"} {
		c, err := trainer.Preset(name, 30522)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		head := parameters(c, trainer.Heads{NSP: true}) - int64(2*c.HiddenSize+2)
		if head != want[name] {
			t.Errorf("%s: %d parameters, want %d", name, head, want[name])
		}
	}
	if _, err := trainer.Preset("huge", 30522); err == nil {
		t.Error("an unknown preset was accepted")
	}
}

func TestConfigReportsEveryProblemAtOnce(t *testing.T) {
	c := trainer.Config{HiddenSize: 10, AttentionHeads: 3, HiddenDropout: 1, Activation: "relu", LayerNormEps: math.NaN()}
	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"vocab_size", "num_hidden_layers", "multiple", "hidden_dropout_prob", "relu", "layer_norm_eps", "max_position"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestConfigOfTransformersIsRead(t *testing.T) {
	cases := []struct {
		name, json, wrong string
		check             func(trainer.Config) bool
	}{
		{"defaults", `{}`, "", func(c trainer.Config) bool {
			return c.Activation == trainer.GELU && c.VocabSize == 30522 && c.Layers == 12
		}},
		{"sizes", `{"hidden_size": 8, "num_attention_heads": 2, "vocab_size": 9, "model_type": "bert"}`, "", func(c trainer.Config) bool {
			return c.HiddenSize == 8 && c.HeadSize() == 4 && c.VocabSize == 9
		}},
		{"classifier dropout", `{"classifier_dropout": 0.3}`, "", func(c trainer.Config) bool { return c.PooledDropout() == 0.3 }},
		{"no classifier dropout", `{"classifier_dropout": null}`, "", func(c trainer.Config) bool { return c.PooledDropout() == 0.1 }},
		{"another model", `{"model_type": "roberta"}`, "model_type", nil},
		{"relative positions", `{"position_embedding_type": "relative_key"}`, "position_embedding_type", nil},
		{"a decoder", `{"is_decoder": true}`, "is_decoder", nil},
		{"untied", `{"tie_word_embeddings": false}`, "tie_word_embeddings", nil},
		{"another activation", `{"hidden_act": "relu"}`, "hidden_act", nil},
		{"huge", `{"vocab_size": 4611686018427387904}`, "vocab_size", nil},
		{"too many parameters", `{"hidden_size": 32768, "num_attention_heads": 256, "num_hidden_layers": 1024}`, "parameters", nil},
		{"not JSON", `{`, "parse config", nil},
	}
	for _, c := range cases {
		got, err := trainer.ParseConfig([]byte(c.json))
		switch {
		case c.wrong == "" && (err != nil || !c.check(got)):
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: got error %v", c.name, err)
		}
	}
}

func TestGooglesGELUIsTheTanhForm(t *testing.T) {
	c, err := trainer.ParseGoogleConfig([]byte(`{"hidden_act": "gelu"}`))
	if err != nil || c.Activation != trainer.GELUNew {
		t.Errorf("got %q, %v", c.Activation, err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"hidden_size": 8, "num_attention_heads": 2, "classifier_dropout": 0.5}`))
	f.Add([]byte(`{"model_type": "bert", "hidden_act": "gelu_new"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := trainer.ParseConfig(b)
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		d, err := trainer.ParseConfig(again)
		if diff := cmp.Diff(c, d); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
	})
}

func TestOracleNamesAreTransformersAndGoogles(t *testing.T) {
	var want []struct {
		Name      string `json:"transformers"`
		Shape     []int  `json:"shape"`
		Google    string `json:"google"`
		Transpose bool   `json:"transpose"`
		Decay     bool   `json:"decay"`
	}
	if err := json.Unmarshal(realdata.Read(t, "oracle/names.json"), &want); err != nil {
		t.Fatal(err)
	}
	c, err := trainer.ParseConfig(realdata.Read(t, "oracle/pretrain/config.json"))
	if err != nil {
		t.Fatal(err)
	}
	got := trainer.Tensors(c, trainer.PretrainHeads())
	if len(got) != len(want) {
		t.Fatalf("%d tensors, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Name != w.Name || g.Google != w.Google || g.Transpose != w.Transpose || g.Decay != w.Decay || !cmp.Equal(g.Shape, w.Shape) {
			t.Errorf("tensor %d: got %+v, want %+v", i, g, w)
		}
	}
}

func TestHeadsAreValidated(t *testing.T) {
	good := []trainer.Heads{trainer.PretrainHeads(), {Labels: 2}, {Regression: true}, {Span: true, Labels: 3}}
	bad := []trainer.Heads{{}, {Labels: 1}, {Labels: -1}, {Labels: 2, Regression: true}, {Labels: 1 << 20}}
	for _, h := range good {
		if err := h.Validate(); err != nil {
			t.Errorf("%+v: %v", h, err)
		}
	}
	for _, h := range bad {
		if err := h.Validate(); err == nil {
			t.Errorf("%+v: accepted", h)
		}
	}
}

func TestInitialWeightsAreDrawnAsTheOriginal(t *testing.T) {
	c, err := trainer.Preset("tiny", 5000)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string][]float32{}
	for w := range trainer.InitialWeights(c, trainer.PretrainHeads(), 7) {
		first[w.Name] = append([]float32{}, w.Data...)
		sum, square, largest := 0.0, 0.0, 0.0
		for _, v := range w.Data {
			x := float64(v)
			sum, square, largest = sum+x, square+x*x, max(largest, math.Abs(x))
		}
		n := float64(len(w.Data))
		switch {
		case strings.HasSuffix(w.Name, "LayerNorm.weight"):
			if sum != n || square != n {
				t.Errorf("%s: not all 1", w.Name)
			}
		case strings.HasSuffix(w.Name, "bias"):
			if largest != 0 {
				t.Errorf("%s: not all 0", w.Name)
			}
		case n > 1000: // deviation of a normal cut at 2: 0.8796
			if d := math.Sqrt(square/n) / 0.02; math.Abs(d-0.8796) > 0.05 || largest > 0.04000001 || math.Abs(sum/n) > 0.002 {
				t.Errorf("%s: deviation %v, largest %v, mean %v", w.Name, d, largest, sum/n)
			}
		}
	}
	for w := range trainer.InitialWeights(c, trainer.Heads{Span: true}, 7) {
		if want, ok := first[w.Name]; ok && !slices.Equal(want, w.Data) {
			t.Errorf("%s: depends on the heads", w.Name)
		}
	}
	for w := range trainer.InitialWeights(c, trainer.PretrainHeads(), 8) {
		if strings.HasSuffix(w.Name, "dense.weight") && slices.Equal(first[w.Name], w.Data) {
			t.Errorf("%s: does not depend on the seed", w.Name)
		}
	}
}

// parameters returns the number of parameters of a model.
func parameters(c trainer.Config, h trainer.Heads) int64 {
	var n int64
	for _, s := range trainer.Tensors(c, h) {
		n += int64(s.Size())
	}
	return n
}

func TestHeadsAreNamedInErrors(t *testing.T) {
	for want, h := range map[string]trainer.Heads{
		"": {}, "masked LM and next sentence": trainer.PretrainHeads(), "3 classes": {Labels: 3}, "masked LM and span": {MLM: true, Span: true}, "regression": {Regression: true},
	} {
		if got := h.String(); got != want {
			t.Errorf("%+v: got %q, want %q", h, got, want)
		}
	}
}
