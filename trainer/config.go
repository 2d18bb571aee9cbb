package trainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// An Activation is the function in the feed-forward block and in the masked-LM
// transform, named as in transformers' config.json.
type Activation string

// The supported activations. Google's BERT calls the tanh form "gelu";
// transformers uses that name for the erf form. The difference is invisible in
// the loss (2e-7) but clear in the gradients (4e-4).
const (
	GELU     Activation = "gelu"              // x·Φ(x), by erf
	GELUNew  Activation = "gelu_new"          // ½x(1 + tanh(√(2/π)(x + 0.044715x³)))
	GELUTanh Activation = "gelu_pytorch_tanh" // the same as GELUNew
)

// Tanh reports whether the activation is the tanh form of GELU.
func (a Activation) Tanh() bool { return a == GELUNew || a == GELUTanh }

func (a Activation) known() bool { return a == GELU || a.Tanh() }

// Limits of [Config.Validate]. Within them, products of sizes fit an int64 and
// every element index fits a dropout counter (see trainer/dropout).
const (
	maxVocab          = 1 << 24
	maxHidden         = 1 << 15
	maxLayers         = 1 << 10
	maxAttentionHeads = 1 << 8
	maxIntermediate   = 1 << 17
	MaxPositions      = 1 << 14
	maxSegments       = 1 << 10
	maxParameters     = int64(1 << 33)
)

// Config is the architecture of a BERT or ModernBERT model. The JSON form of a
// BERT model is the part of transformers' config.json (and of Google's
// bert_config.json) that affects the numbers; [Config.Keys] returns that part for
// both. [ParseConfig] and [ParseGoogleConfig] read these files. Start from a
// [Preset].
type Config struct {
	VocabSize         int        `json:"vocab_size"`                   // rows of the word embedding table
	HiddenSize        int        `json:"hidden_size"`                  // H, a multiple of AttentionHeads
	Layers            int        `json:"num_hidden_layers"`            // encoder layers
	AttentionHeads    int        `json:"num_attention_heads"`          // heads of each layer
	IntermediateSize  int        `json:"intermediate_size"`            // width of the feed-forward block
	Activation        Activation `json:"hidden_act"`                   // see [Activation]
	HiddenDropout     float64    `json:"hidden_dropout_prob"`          // [0, 1), after embeddings and every block
	AttentionDropout  float64    `json:"attention_probs_dropout_prob"` // [0, 1), of attention probabilities
	MaxPositions      int        `json:"max_position_embeddings"`      // maximum sequence length in tokens
	Segments          int        `json:"type_vocab_size"`              // rows of the segment embedding table
	InitializerRange  float64    `json:"initializer_range"`            // standard deviation of initial weights
	LayerNormEps      float64    `json:"layer_norm_eps"`               // added to the variance
	ClassifierDropout *float64   `json:"classifier_dropout,omitempty"` // before a classifier; nil means HiddenDropout

	// Modern makes this a ModernBERT model; nil: BERT. HiddenDropout then applies
	// only after the embeddings, and Segments is 0.
	Modern *Modern `json:"-"`
}

// PresetNames lists the names that [Preset] accepts: the sizes of BERT, then those of
// ModernBERT, each with the smallest model first.
func PresetNames() []string { return append(bertNames(), ModernNames()...) }

func bertNames() []string { return []string{"tiny", "mini", "small", "medium", "base", "large"} }

// Preset returns one of the six sizes released by google-research/bert (tiny to
// medium: Turc et al. 2019, arXiv 1908.08962; base and large: Devlin et al.
// 2018), with a head size of 64, the tanh form of GELU and dropout 0.1. Names that
// begin with "modern-" are sizes of ModernBERT (Warner et al. 2024, arXiv 2412.13663).
func Preset(name string, vocabSize int) (Config, error) {
	shapes := [][2]int{{2, 128}, {4, 256}, {4, 512}, {8, 512}, {12, 768}, {24, 1024}} // layers, hidden size
	if i := slices.Index(ModernNames(), name); i >= 0 {
		return modernPreset(i, vocabSize), nil
	}
	i := slices.Index(bertNames(), name)
	if i < 0 {
		return Config{}, fmt.Errorf("model %q: must be one of %v", name, PresetNames())
	}
	layers, hidden := shapes[i][0], shapes[i][1]
	return Config{
		VocabSize:        vocabSize,
		HiddenSize:       hidden,
		Layers:           layers,
		AttentionHeads:   hidden / 64,
		IntermediateSize: 4 * hidden,
		Activation:       GELUNew,
		HiddenDropout:    0.1,
		AttentionDropout: 0.1,
		MaxPositions:     512,
		Segments:         2,
		InitializerRange: 0.02,
		LayerNormEps:     1e-12,
	}, nil
}

// HeadSize returns the width of one attention head.
func (c Config) HeadSize() int { return c.HiddenSize / c.AttentionHeads }

// PooledDropout returns the dropout probability before a classifier.
func (c Config) PooledDropout() float64 {
	if c.ClassifierDropout != nil {
		return *c.ClassifierDropout
	}
	return c.HiddenDropout
}

// Validate reports every problem of c at once.
func (c Config) Validate() error {
	var errs []error
	size := func(name string, v, most int) {
		if v < 1 || v > most {
			errs = append(errs, fmt.Errorf("%s %d: must be from 1 to %d", name, v, most))
		}
	}
	size("vocab_size", c.VocabSize, maxVocab)
	size("hidden_size", c.HiddenSize, maxHidden)
	size("num_hidden_layers", c.Layers, maxLayers)
	size("num_attention_heads", c.AttentionHeads, maxAttentionHeads)
	size("intermediate_size", c.IntermediateSize, maxIntermediate)
	size("max_position_embeddings", c.MaxPositions, MaxPositions)
	if c.Modern == nil {
		size("type_vocab_size", c.Segments, maxSegments)
	}
	if c.AttentionHeads > 0 && c.HiddenSize%c.AttentionHeads != 0 {
		errs = append(errs, fmt.Errorf("hidden_size %d: must be a multiple of num_attention_heads %d", c.HiddenSize, c.AttentionHeads))
	}
	if !c.Activation.known() {
		errs = append(errs, fmt.Errorf("hidden_act %q: must be %q, %q or %q", c.Activation, GELU, GELUNew, GELUTanh))
	}
	if len(errs) == 0 {
		if n := c.matrices(); n > maxParameters {
			errs = append(errs, fmt.Errorf("model of %d parameters: must be at most %d", n, maxParameters))
		}
	}
	errs = append(errs, c.validateFloats()...)
	if c.Modern != nil {
		errs = append(errs, c.validateModern()...)
	}
	return errors.Join(errs...)
}

// matrices returns the number of parameters in the embeddings and the encoder's
// matrices. These are about 99.9 % of the encoder's parameters.
func (c Config) matrices() int64 {
	hidden := int64(c.HiddenSize)
	layer := 4*hidden*hidden + 2*hidden*int64(c.IntermediateSize)
	if c.Modern != nil {
		return hidden*int64(c.VocabSize) + int64(c.Layers)*(layer+hidden*int64(c.IntermediateSize))
	}
	return hidden*int64(c.VocabSize+c.MaxPositions) + int64(c.Layers)*layer
}

func (c Config) validateFloats() []error {
	errs := []error{
		validDropout("hidden_dropout_prob", c.HiddenDropout), validDropout("attention_probs_dropout_prob", c.AttentionDropout),
		validDropout("classifier_dropout", c.PooledDropout()),
	}
	if !(c.InitializerRange >= 0 && c.InitializerRange <= 1) {
		errs = append(errs, fmt.Errorf("initializer_range %v: must be from 0 to 1", c.InitializerRange))
	}
	if !(c.LayerNormEps > 0 && c.LayerNormEps <= 1) {
		errs = append(errs, fmt.Errorf("layer_norm_eps %v: must be above 0 and at most 1", c.LayerNormEps))
	}
	return errs
}

// validDropout returns an error if v is no probability of dropout. Dropout is in units
// of 1/256; 256/256 would drop everything.
func validDropout(name string, v float64) error {
	if !(v >= 0) || math.Round(256*v) > 255 {
		return fmt.Errorf("%s %v: must be at least 0 and below 0.998", name, v)
	}
	return nil
}

// ParseConfig parses transformers' config.json of a BERT or ModernBERT model. Missing
// keys get transformers' defaults. A key that changes the model in a way that the
// trainer does not implement is an error.
func ParseConfig(b []byte) (Config, error) {
	parse := parseConfig
	if isModern(b) {
		parse = parseModern
	}
	c, err := parse(b)
	if err != nil {
		return Config{}, fmt.Errorf("parse config: %w", err)
	}
	return c, nil
}

// ParseGoogleConfig parses the bert_config.json of a TensorFlow checkpoint of
// google-research/bert. In this file "gelu" means the tanh form, so the
// activation becomes [GELUNew].
func ParseGoogleConfig(b []byte) (Config, error) {
	c, err := ParseConfig(b)
	if err != nil {
		return Config{}, err
	}
	if c.Modern != nil {
		return Config{}, fmt.Errorf("parse config: model_type %q: google-research/bert has no such model", modernType)
	}
	if c.Activation == GELU {
		c.Activation = GELUNew
	}
	return c, nil
}

func parseConfig(b []byte) (Config, error) {
	c, err := Preset("base", 30522)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	c.Activation = GELU
	var foreign struct {
		ModelType    *string `json:"model_type"`
		PositionType *string `json:"position_embedding_type"`
		IsDecoder    bool    `json:"is_decoder"`
		CrossAttends bool    `json:"add_cross_attention"`
		Tied         *bool   `json:"tie_word_embeddings"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &foreign); err != nil {
		return c, err
	}
	switch {
	case foreign.ModelType != nil && *foreign.ModelType != "bert":
		return c, fmt.Errorf("model_type %q: must be \"bert\" or \"modernbert\"", *foreign.ModelType)
	case foreign.PositionType != nil && *foreign.PositionType != "absolute":
		return c, fmt.Errorf("position_embedding_type %q: must be \"absolute\"", *foreign.PositionType)
	case foreign.IsDecoder || foreign.CrossAttends:
		return c, errors.New("is_decoder or add_cross_attention: must be false")
	case foreign.Tied != nil && !*foreign.Tied:
		return c, errors.New("tie_word_embeddings: must be true")
	}
	return c, c.Validate()
}
