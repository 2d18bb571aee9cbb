package trainer_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
)

// modernJSON is a small config.json with the further keys given, in JSON.
func modernJSON(more string) []byte {
	s := `{"model_type": "modernbert", "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 4, "intermediate_size": 24, "vocab_size": 30`
	if more != "" {
		s += ", " + more
	}
	return []byte(s + "}")
}

func TestModernConfigOfEitherFormIsRead(t *testing.T) {
	const rope = `"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 5000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 70.0}}`
	types := func(kinds string) string {
		var names []string
		for _, k := range kinds {
			names = append(names, map[rune]string{'g': `"full_attention"`, 'l': `"sliding_attention"`, 'x': `"chunked_attention"`}[k])
		}
		return `"layer_types": [` + strings.Join(names, ",") + `]`
	}
	cases := []struct {
		name, more, wrong string
		check             func(c trainer.Config) bool
	}{
		{"defaults", "", "", func(c trainer.Config) bool {
			m := c.Modern
			return fmt.Sprint(m.Local) == "[false true true false]" && m.Window == 128 && m.GlobalTheta == 160000 && m.LocalTheta == 10000 && !m.MeanPooling &&
				m.Cutoff == 2 && c.LayerNormEps == 1e-5 && c.MaxPositions == 8192 && c.Activation == trainer.GELU && c.AttentionDropout == 0 && *c.ClassifierDropout == 0
		}},
		{"older keys", `"global_attn_every_n_layers": 2, "global_rope_theta": 9.0, "local_rope_theta": 8, "local_attention": 21`, "", func(c trainer.Config) bool {
			return fmt.Sprint(c.Modern.Local) == "[false true false true]" && c.Modern.GlobalTheta == 9 && c.Modern.LocalTheta == 8 && c.Reach(1) == 10 && c.Reach(0) == -1
		}},
		{"newer keys", types("lglg") + "," + rope, "", func(c trainer.Config) bool {
			return fmt.Sprint(c.Modern.Local) == "[true false true false]" && c.Modern.GlobalTheta == 5000 && c.Modern.LocalTheta == 70
		}},
		{"the newer keys win", types("gggl") + `, "global_attn_every_n_layers": 2, "global_rope_theta": 9, "local_rope_theta": 8, ` + rope, "", func(c trainer.Config) bool {
			return fmt.Sprint(c.Modern.Local) == "[false false false true]" && c.Modern.GlobalTheta == 5000 && c.Modern.LocalTheta == 70
		}},
		{"one theta", `"rope_parameters": {"full_attention": {"rope_theta": 4}}, "local_rope_theta": 3`, "", func(c trainer.Config) bool {
			return c.Modern.GlobalTheta == 4 && c.Modern.LocalTheta == 3
		}},
		{"null", `"layer_types": null, "rope_parameters": null, "rope_scaling": null`, "", func(c trainer.Config) bool { return c.Modern.LocalTheta == 10000 }},
		{"no window at all", `"local_attention": 0`, "", func(c trainer.Config) bool { return c.Reach(1) == 0 }},
		{"dropout", `"attention_dropout": 0.25, "embedding_dropout": 0.1, "mlp_dropout": 0.2`, "", func(c trainer.Config) bool {
			return c.AttentionDropout == 0.25 && c.Modern.OutputDropout == 0.25 && c.HiddenDropout == 0.1 && c.Modern.FeedForwardDropout == 0.2
		}},
		{"dropout behind attention", `"attn_out_dropout_prob": 0.1`, "", func(c trainer.Config) bool { return c.AttentionDropout == 0 && c.Modern.OutputDropout == 0.1 }},
		{"mean", `"classifier_pooling": "mean"`, "", func(c trainer.Config) bool { return c.Modern.MeanPooling }},

		{"a kind of layer", types("glxl"), "layer_types", nil},
		{"kinds missing", types("gl"), "2 kinds of layers", nil},
		{"never global", `"global_attn_every_n_layers": 0`, "global_attn_every_n_layers", nil},
		{"a negative window", `"local_attention": -1`, "local_attention", nil},
		{"a huge window", `"local_attention": 9223372036854775807`, "", func(c trainer.Config) bool { return c.Reach(1) > 1<<30 }},
		{"scaled", `"rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 4}}`, "rope_type", nil},
		{"scaled as before", `"rope_scaling": {"factor": 2}`, "rope_scaling", nil},
		{"partial", `"rope_parameters": {"full_attention": {"rope_theta": 4, "partial_rotary_factor": 0.5}}`, "partial", nil},
		{"flat parameters", `"rope_parameters": {"rope_theta": 4}`, "rope_parameters", nil},
		{"theta", `"global_rope_theta": 0`, "rope_theta", nil},
		{"norm bias", `"norm_bias": true`, "norm_bias", nil},
		{"attention bias", `"attention_bias": true`, "attention_bias", nil},
		{"mlp bias", `"mlp_bias": true`, "mlp_bias", nil},
		{"classifier bias", `"classifier_bias": true`, "classifier_bias", nil},
		{"no decoder bias", `"decoder_bias": false`, "decoder_bias", nil},
		{"untied", `"tie_word_embeddings": false`, "tie_word_embeddings", nil},
		{"activation", `"hidden_activation": "silu"`, "silu", nil},
		{"another activation in the head", `"classifier_activation": "relu"`, "classifier_activation", nil},
		{"pooling", `"classifier_pooling": "max"`, "classifier_pooling", nil},
		{"odd heads", `"hidden_size": 6`, "even multiple", nil},
		{"cutoff", `"initializer_cutoff_factor": 0`, "initializer_cutoff_factor", nil},
		{"dropout of everything", `"mlp_dropout": 1`, "mlp_dropout", nil},
		{"not JSON", `"vocab_size": "x"`, "vocab_size", nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c, err := trainer.ParseConfig(modernJSON(tc.more))
			if tc.check == nil {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want one line with %q", err, tc.wrong)
				}
				return
			}
			if err != nil || !tc.check(c) {
				t.Errorf("got %+v, %+v, error %v", c, c.Modern, err)
			}
			if _, err := trainer.ParseGoogleConfig(modernJSON(tc.more)); err == nil {
				t.Error("google-research/bert has ModernBERT")
			}
		})
	}
}

func TestModernConfigIsWrittenWithBothSetsOfKeys(t *testing.T) {
	c, err := trainer.Preset("modern-mini", 500)
	if err != nil {
		t.Fatal(err)
	}
	c.Modern.GlobalTheta = 80000
	b, err := json.Marshal(c.Keys())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"layer_types":["full_attention","sliding_attention","sliding_attention","full_attention"]`, `"global_attn_every_n_layers":3`, `"global_rope_theta":80000`, `"local_rope_theta":10000`,
		`"rope_parameters":{"full_attention":{"rope_type":"default","rope_theta":80000},"sliding_attention":{"rope_type":"default","rope_theta":10000}}`,
		`"attn_out_dropout_prob":0.1`, `"attention_dropout":0,`, `"intermediate_size":384`,
		`"initializer_cutoff_factor":2.0`, `"initializer_range":0.02`, `"norm_eps":0.00001`, // transformers 5 refuses integers here
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	again, err := trainer.ParseConfig([]byte(strings.Replace(string(b), "{", `{"model_type": "modernbert",`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" || c.Warning() != "" {
		t.Errorf("read again: %s; warning %q", diff, c.Warning())
	}
	c.Modern.Local = []bool{false, false, true, false}
	if k := c.ModernKeys(); *k.EveryNth != 0 || c.Warning() == "" {
		t.Errorf("a pattern that older versions misread: global_attn_every_n_layers %d, warning %q", *k.EveryNth, c.Warning())
	}
}

func FuzzModernConfig(f *testing.F) {
	for _, seed := range []string{"", `"layer_types": ["full_attention"]`, `"local_attention": 21, "global_attn_every_n_layers": 1`, `"rope_parameters": {"full_attention": {"rope_theta": 1e9}}`, `"num_hidden_layers": 1000000000`} {
		f.Add(modernJSON(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := trainer.ParseConfig(b)
		if err != nil || c.Modern == nil {
			return
		}
		keys, err := json.Marshal(c.Keys())
		if err != nil {
			t.Fatal(err)
		}
		again, err := trainer.ParseConfig([]byte(strings.Replace(string(keys), "{", `{"model_type": "modernbert",`, 1)))
		if err != nil {
			t.Fatalf("%s: %v", keys, err)
		}
		again.Activation, *again.ClassifierDropout = c.Activation, *c.ClassifierDropout
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("%s: %s", b, diff)
		}
	})
}

func TestModernTensorsAreThoseOfTheOracle(t *testing.T) {
	var want map[string][]struct {
		Name     string
		Shape    []int
		Std      *float64
		StartsAt float64 `json:"starts_at"`
		Decay    bool
	}
	if err := json.Unmarshal(realdata.Read(t, "oracle-modern/names.json"), &want); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for set, list := range want {
		c, err := trainer.ParseConfig(realdata.Read(t, "oracle-modern/"+set+"/config.json"))
		if err != nil {
			t.Fatal(err)
		}
		specs := trainer.Tensors(c, c.PretrainHeads())
		last := list[len(list)-1].Shape[0] // of the classifier's bias
		for _, s := range trainer.Tensors(c, trainer.Heads{Labels: max(2, last)}) {
			if strings.HasPrefix(s.Name, "classifier.") && len(list) > len(specs) {
				specs = append(specs, s)
			}
		}
		if len(specs) != len(list) {
			t.Errorf("%s: %d tensors, want %d", set, len(specs), len(list))
			continue
		}
		for i, s := range specs {
			w := list[i]
			init := trainer.Init{Value: w.StartsAt}
			if w.Std != nil && *w.Std > 0 {
				init = trainer.Init{Random: true, Value: *w.Std}
			}
			if s.Name != w.Name || !slices.Equal(s.Shape, w.Shape) || s.Decay != w.Decay || math.Abs(s.Init.Value-init.Value) > 1e-15 || s.Init.Random != init.Random {
				t.Errorf("%s: got %+v, want %+v", set, s, w)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("names.json lists nothing")
	}
}

// A normal distribution cut off at two deviations, and not rescaled, has 0.880 of its
// deviation.
func TestModernInitialDeviationsAreThoseOfTruncatedNormals(t *testing.T) {
	c, err := trainer.Preset("modern-tiny", 4000)
	if err != nil {
		t.Fatal(err)
	}
	specs := map[string]trainer.TensorSpec{}
	for _, h := range []trainer.Heads{{MLM: true}, {Labels: 500}} {
		for _, s := range trainer.Tensors(c, h) {
			specs[s.Name] = s
		}
		for x, err := range trainer.InitialWeights(c, h, 7) {
			if err != nil {
				t.Fatal(err)
			}
			s, sum, most := specs[x.Name].Init, 0.0, 0.0
			for _, v := range x.Data {
				sum, most = sum+float64(v)*float64(v), max(most, math.Abs(float64(v)))
			}
			got, want, limit := math.Sqrt(sum/float64(len(x.Data))), s.Value, s.Value
			if s.Random {
				want, limit = 0.8796*s.Value, 2*s.Value
			}
			if s.Random {
				t.Logf("%s: %.4f of the deviation, the largest value at %.3f", x.Name, got/s.Value, most/s.Value)
			}
			if math.Abs(got-want) > 0.01*want || most > limit*(1+1e-6) || s.Random && most < 1.9*s.Value {
				t.Errorf("%s: deviation %v and largest %v, want %v and %v", x.Name, got, most, want, limit)
			}
		}
	}
}

func TestAModernModelHasOneHead(t *testing.T) {
	c, err := trainer.Preset("modern-tiny", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []trainer.Heads{{MLM: true}, {Labels: 3}, {Regression: true}, {Span: true}} {
		if err := c.CheckHeads(h); err != nil {
			t.Errorf("%v: %v", h, err)
		}
	}
	for _, h := range []trainer.Heads{{MLM: true, NSP: true}, {MLM: true, Labels: 2}, {Labels: 2, Span: true}, {NSP: true}} {
		if c.CheckHeads(h) == nil {
			t.Errorf("%v was accepted", h)
		}
	}
}
