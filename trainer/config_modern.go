package trainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Modern is what a ModernBERT model (Warner et al. 2024, arXiv 2412.13663) has besides
// the fields that it shares with BERT in [Config]. It has no segments and no biases but
// those of the decoder and the classifier.
type Modern struct {
	Local       []bool  // for each layer, whether its attention is limited to the window
	Window      int     // the whole window: a local layer's tokens attend to Window/2 tokens on either side
	GlobalTheta float64 // base of the rotary angles in the other layers
	LocalTheta  float64 // in local layers
	MeanPooling bool    // a classifier reads the mean of the tokens; false: the first token

	OutputDropout      float64 // [0, 1), after the output matrix of attention
	FeedForwardDropout float64 // [0, 1), before the second matrix of the feed-forward block
	Cutoff             float64 // initial weights are within so many standard deviations
}

// Keys of the two kinds of layers in config.json.
const (
	modernType   = "modernbert"
	fullLayer    = "full_attention"
	slidingLayer = "sliding_attention"
)

// ModernNames returns the names of ModernBERT's presets.
func ModernNames() []string { return []string{"modern-tiny", "modern-mini", "modern-base"} }

// modernPreset returns a size of ModernBERT. modern-base is AnswerDotAI's model of that
// name. The small ones have the layers and the width of BERT's tiny and mini and fewer
// parameters than these. The dropout is the one of ModernBERT's pre-training.
func modernPreset(i, vocabSize int) Config {
	shape := [][3]int{{2, 128, 192}, {4, 256, 384}, {22, 768, 1152}}[i] // layers, hidden size, feed-forward size
	c := modernDefaults()
	c.VocabSize, c.Layers, c.HiddenSize, c.IntermediateSize, c.AttentionHeads = vocabSize, shape[0], shape[1], shape[2], shape[1]/64
	c.Modern.OutputDropout = 0.1
	c.Modern.Local = everyNth(c.Layers, 3)
	return c
}

// modernDefaults returns transformers' defaults, without kinds of layers.
func modernDefaults() Config {
	none := 0.0
	return Config{
		VocabSize: 50368, HiddenSize: 768, Layers: 22, AttentionHeads: 12, IntermediateSize: 1152, Activation: GELU,
		MaxPositions: 8192, InitializerRange: 0.02, LayerNormEps: 1e-5, ClassifierDropout: &none,
		Modern: &Modern{Window: 128, GlobalTheta: 160000, LocalTheta: 10000, Cutoff: 2},
	}
}

// everyNth returns the kinds of layers in which every nth, from the first on, is global.
func everyNth(layers, n int) []bool {
	local := make([]bool, layers)
	for i := range local {
		local[i] = i%n != 0
	}
	return local
}

// every returns the n for which the kinds of layers are those of [everyNth]; 0 if there
// is none.
func (m *Modern) every() int {
	for n := 1; n <= len(m.Local); n++ {
		if slices.Equal(m.Local, everyNth(len(m.Local), n)) {
			return n
		}
	}
	return 0
}

// Warning returns a warning if transformers before version 5 cannot represent the model:
// they ignore layer_types and have a global layer at every nth place only. "" if it can.
func (c Config) Warning() string {
	if c.Modern == nil || c.Modern.every() > 0 {
		return ""
	}
	return "the global layers are not at every n-th place, which only transformers 5 and newer can compute: older versions would misread config.json, so it makes them fail"
}

// validateModern returns every problem of c.Modern.
func (c Config) validateModern() []error {
	m := c.Modern
	errs := []error{validDropout("attn_out_dropout_prob", m.OutputDropout), validDropout("mlp_dropout", m.FeedForwardDropout)}
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(c.AttentionHeads < 1 || c.HiddenSize/c.AttentionHeads%2 == 0, "hidden_size %d: must be an even multiple of num_attention_heads %d", c.HiddenSize, c.AttentionHeads)
	want(len(m.Local) == c.Layers, "layer_types: %d kinds of layers, num_hidden_layers is %d", len(m.Local), c.Layers)
	want(m.Window >= 0, "local_attention %d: must not be negative", m.Window)
	want(m.Cutoff >= 0.5 && !math.IsInf(m.Cutoff, 0), "initializer_cutoff_factor %v: must be at least 0.5", m.Cutoff)
	for _, theta := range []float64{m.GlobalTheta, m.LocalTheta} {
		want(theta > 0 && !math.IsInf(theta, 0), "rope_theta %v: must be above 0", theta)
	}
	return errs
}

// ModernKeys is the part of a ModernBERT model's config.json that affects the numbers.
// It has the keys of transformers 4.48 to 4.57 and those of version 5, which replace some
// of them, because the older versions ignore the newer keys without a warning.
type ModernKeys struct {
	modernShape
	modernLayers
	modernDropout
	modernBiases
	HeadActivation    *Activation `json:"classifier_activation"`
	ClassifierPooling string      `json:"classifier_pooling"`
	InitializerRange  decimal     `json:"initializer_range"`
	InitializerCutoff decimal     `json:"initializer_cutoff_factor"`
	Tied              bool        `json:"tie_word_embeddings"`
}

// A decimal is written with a decimal point or an exponent, without which transformers 5
// takes a number for an integer and refuses it.
type decimal float64

// MarshalJSON implements json.Marshaler.
func (d decimal) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(float64(d))
	if err == nil && !bytes.ContainsAny(b, ".e") {
		b = append(b, ".0"...)
	}
	return b, err
}

type modernShape struct {
	VocabSize        int        `json:"vocab_size"`
	HiddenSize       int        `json:"hidden_size"`
	IntermediateSize int        `json:"intermediate_size"`
	Layers           int        `json:"num_hidden_layers"`
	AttentionHeads   int        `json:"num_attention_heads"`
	Activation       Activation `json:"hidden_activation"`
	MaxPositions     int        `json:"max_position_embeddings"`
	LayerNormEps     decimal    `json:"norm_eps"`
}

// modernLayers are the keys of the kinds of layers.
type modernLayers struct {
	LocalAttention  int                 `json:"local_attention"`
	LayerTypes      []string            `json:"layer_types"`
	EveryNth        *int                `json:"global_attn_every_n_layers"`
	RopeParameters  map[string]ropeKeys `json:"rope_parameters"`
	GlobalRopeTheta *float64            `json:"global_rope_theta"`
	LocalRopeTheta  *float64            `json:"local_rope_theta"`
}

// ropeKeys describe the rotary positions of a kind of layer.
type ropeKeys struct {
	Type    string   `json:"rope_type"`
	Theta   *float64 `json:"rope_theta"`
	Partial *float64 `json:"partial_rotary_factor,omitempty"`
}

type modernDropout struct {
	EmbeddingDropout  float64  `json:"embedding_dropout"`
	AttentionDropout  float64  `json:"attention_dropout"`
	OutputDropout     *float64 `json:"attn_out_dropout_prob"` // AnswerDotAI's key; transformers uses attention_dropout here too
	MLPDropout        float64  `json:"mlp_dropout"`
	ClassifierDropout float64  `json:"classifier_dropout"`
}

type modernBiases struct {
	NormBias       bool `json:"norm_bias"`
	AttentionBias  bool `json:"attention_bias"`
	MLPBias        bool `json:"mlp_bias"`
	ClassifierBias bool `json:"classifier_bias"`
	DecoderBias    bool `json:"decoder_bias"`
}

// Keys returns what config.json holds of c, to be marshalled: c itself for BERT,
// [ModernKeys] for ModernBERT.
func (c Config) Keys() any {
	if c.Modern == nil {
		return c
	}
	return c.ModernKeys()
}

// ModernKeys returns the keys of a ModernBERT model in config.json. For a pattern of
// layers that versions before 5 cannot have, global_attn_every_n_layers is 0, which makes
// them fail.
func (c Config) ModernKeys() ModernKeys {
	m, every := c.Modern, c.Modern.every()
	k := modernKeys(c)
	k.LayerTypes, k.EveryNth, k.GlobalRopeTheta, k.LocalRopeTheta = make([]string, len(m.Local)), &every, &m.GlobalTheta, &m.LocalTheta
	for i, local := range m.Local {
		k.LayerTypes[i] = fullLayer
		if local {
			k.LayerTypes[i] = slidingLayer
		}
	}
	k.RopeParameters = map[string]ropeKeys{fullLayer: {Type: "default", Theta: &m.GlobalTheta}, slidingLayer: {Type: "default", Theta: &m.LocalTheta}}
	return k
}

// modernKeys returns the keys of c that both forms of config.json have.
func modernKeys(c Config) ModernKeys {
	m, pooling := c.Modern, "cls"
	if m.MeanPooling {
		pooling = "mean"
	}
	return ModernKeys{
		modernShape:   modernShape{c.VocabSize, c.HiddenSize, c.IntermediateSize, c.Layers, c.AttentionHeads, c.Activation, c.MaxPositions, decimal(c.LayerNormEps)},
		modernLayers:  modernLayers{LocalAttention: m.Window},
		modernDropout: modernDropout{c.HiddenDropout, c.AttentionDropout, &m.OutputDropout, m.FeedForwardDropout, c.PooledDropout()},
		modernBiases:  modernBiases{DecoderBias: true}, HeadActivation: &c.Activation, ClassifierPooling: pooling,
		InitializerRange: decimal(c.InitializerRange), InitializerCutoff: decimal(m.Cutoff), Tied: true,
	}
}

// isModern reports whether b is the config.json of a ModernBERT model.
func isModern(b []byte) bool {
	var f struct {
		ModelType string `json:"model_type"`
	}
	return json.Unmarshal(b, &f) == nil && f.ModelType == modernType
}

// parseModern parses the config.json of a ModernBERT model in either form. As in
// transformers 5, its newer keys win over the older ones.
func parseModern(b []byte) (Config, error) {
	k := modernKeys(modernDefaults())
	k.OutputDropout, k.HeadActivation = nil, nil
	if err := json.Unmarshal(b, &k); err != nil {
		return Config{}, err
	}
	if err := k.supported(b); err != nil {
		return Config{}, err
	}
	c := Config{
		VocabSize: k.VocabSize, HiddenSize: k.HiddenSize, Layers: k.Layers, AttentionHeads: k.AttentionHeads, IntermediateSize: k.IntermediateSize,
		Activation: k.Activation, HiddenDropout: k.EmbeddingDropout, AttentionDropout: k.AttentionDropout, MaxPositions: k.MaxPositions,
		InitializerRange: float64(k.InitializerRange), LayerNormEps: float64(k.LayerNormEps), ClassifierDropout: &k.ClassifierDropout,
		Modern: &Modern{Window: k.LocalAttention, MeanPooling: k.ClassifierPooling == "mean", OutputDropout: k.AttentionDropout,
			FeedForwardDropout: k.MLPDropout, Cutoff: float64(k.InitializerCutoff)},
	}
	if k.OutputDropout != nil {
		c.Modern.OutputDropout = *k.OutputDropout
	}
	c.Modern.GlobalTheta, c.Modern.LocalTheta = k.theta(fullLayer, k.GlobalRopeTheta, 160000), k.theta(slidingLayer, k.LocalRopeTheta, 10000)
	var err error
	if c.Modern.Local, err = k.local(); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// supported returns an error for keys that change the model in a way that the trainer
// does not implement. b is the whole file.
func (k *ModernKeys) supported(b []byte) error {
	var other struct {
		Scaling json.RawMessage `json:"rope_scaling"`
	}
	if err := json.Unmarshal(b, &other); err != nil {
		return err
	}
	switch {
	case k.NormBias || k.AttentionBias || k.MLPBias || k.ClassifierBias:
		return errors.New("norm_bias, attention_bias, mlp_bias or classifier_bias: must be false")
	case !k.DecoderBias || !k.Tied:
		return errors.New("decoder_bias and tie_word_embeddings: must be true")
	case len(other.Scaling) > 0 && !bytes.Equal(other.Scaling, []byte("null")):
		return errors.New("rope_scaling: must be null")
	case k.HeadActivation != nil && *k.HeadActivation != k.Activation && (k.HeadActivation.Tanh() != k.Activation.Tanh() || !k.HeadActivation.known()):
		return fmt.Errorf("classifier_activation %q: must be hidden_activation, %q", *k.HeadActivation, k.Activation)
	case k.ClassifierPooling != "cls" && k.ClassifierPooling != "mean":
		return fmt.Errorf("classifier_pooling %q: must be \"cls\" or \"mean\"", k.ClassifierPooling)
	}
	for name, r := range k.RopeParameters {
		switch {
		case name != fullLayer && name != slidingLayer:
			return fmt.Errorf("rope_parameters: %q: must be %q or %q", name, fullLayer, slidingLayer)
		case r.Type != "" && r.Type != "default" || r.Partial != nil && *r.Partial != 1:
			return fmt.Errorf("rope_parameters of %s: must be of rope_type \"default\", not scaled and not partial", name)
		}
	}
	return nil
}

// local returns the kinds of layers.
func (k *ModernKeys) local() ([]bool, error) {
	if k.LayerTypes == nil {
		n := 3
		if k.EveryNth != nil {
			n = *k.EveryNth
		}
		if n < 1 {
			return nil, fmt.Errorf("global_attn_every_n_layers %d: must be at least 1", n)
		}
		return everyNth(max(0, min(k.Layers, maxLayers)), n), nil
	}
	local := make([]bool, len(k.LayerTypes))
	for i, kind := range k.LayerTypes {
		if kind != fullLayer && kind != slidingLayer {
			return nil, fmt.Errorf("layer_types: %q: must be %q or %q", kind, fullLayer, slidingLayer)
		}
		local[i] = kind == slidingLayer
	}
	return local, nil
}

// theta returns the base of the angles of a kind of layer; older is the value of the
// older key, usual the default.
func (k *ModernKeys) theta(kind string, older *float64, usual float64) float64 {
	switch r := k.RopeParameters[kind]; {
	case r.Theta != nil:
		return *r.Theta
	case older != nil:
		return *older
	}
	return usual
}

// CheckHeads returns an error if a model of this architecture cannot have the heads h.
// The heads of ModernBERT share their tensors, so a model has one of them.
func (c Config) CheckHeads(h Heads) error {
	if c.Modern == nil {
		return nil
	}
	n := 0
	for _, has := range []bool{h.MLM, h.ClassifierWidth() > 0, h.Span} {
		if has {
			n++
		}
	}
	if h.NSP || n != 1 {
		return fmt.Errorf("heads %v: a ModernBERT model has one head: masked LM, a classifier, a regression or a span", h)
	}
	return nil
}

// PretrainHeads returns the heads of pre-training: masked LM, and for BERT next
// sentence.
func (c Config) PretrainHeads() Heads {
	if c.Modern != nil {
		return Heads{MLM: true}
	}
	return PretrainHeads()
}

// Reach returns how many tokens on either side the tokens of a layer attend to; -1 if
// they attend to all tokens of their sequence.
func (c Config) Reach(layer int) int {
	if c.Modern == nil || !c.Modern.Local[layer] {
		return -1
	}
	return c.Modern.Window / 2
}
