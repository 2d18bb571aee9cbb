package trainer

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
)

// Heads selects the output heads on top of the encoder. Heads may be combined.
// Their tensors are named as in transformers.
type Heads struct {
	MLM        bool `json:"mlm"`        // masked language model; the decoder is tied to the word embedding
	NSP        bool `json:"nsp"`        // next-sentence prediction; label 0: B follows A, 1: B is random
	Labels     int  `json:"labels"`     // number of classes of a sequence, with cross entropy; 0: no classifier
	Regression bool `json:"regression"` // one score for each sequence, with squared error; excludes Labels
	Span       bool `json:"span"`       // start and end of an answer
}

// PretrainHeads returns the heads of pre-training: masked LM and next sentence.
func PretrainHeads() Heads { return Heads{MLM: true, NSP: true} }

// String names the heads, for errors.
func (h Heads) String() string {
	var names []string
	for _, head := range []struct {
		has  bool
		name string
	}{{h.MLM, "masked LM"}, {h.NSP, "next sentence"}, {h.Labels > 0, fmt.Sprintf("%d classes", h.Labels)}, {h.Regression, "regression"}, {h.Span, "span"}} {
		if head.has {
			names = append(names, head.name)
		}
	}
	return strings.Join(names, " and ")
}

// MaxLabels is the maximum number of classes.
const MaxLabels = 1 << 16

// Validate reports every problem of h.
func (h Heads) Validate() error {
	var errs []error
	if h.Labels < 0 || h.Labels == 1 || h.Labels > MaxLabels {
		errs = append(errs, fmt.Errorf("labels %d: must be 0 or from 2 to %d", h.Labels, MaxLabels))
	}
	if h.Labels != 0 && h.Regression {
		errs = append(errs, errors.New("labels and regression: only one may be set"))
	}
	if h == (Heads{}) {
		errs = append(errs, errors.New("heads: at least one is needed"))
	}
	return errors.Join(errs...)
}

// Pooled reports whether a head uses the pooled output, so that the model has a
// pooler.
func (h Heads) Pooled() bool { return h.NSP || h.ClassifierWidth() > 0 }

// ClassifierWidth returns the number of outputs of the classifier: Labels, or 1
// for regression, or 0.
func (h Heads) ClassifierWidth() int {
	if h.Regression {
		return 1
	}
	return h.Labels
}

// A TensorSpec describes one parameter of a model.
type TensorSpec struct {
	Name      string // transformers' name, e.g. "bert.encoder.layer.0.output.dense.weight"
	Shape     []int  // row-major
	Decay     bool   // whether weight decay and LAMB's trust ratio apply: not to biases and LayerNorm
	Init      Init   // how it starts
	Google    string // variable name in google-research/bert; of no use for ModernBERT
	Transpose bool   // Google stores the matrix transposed ("kernel", input × output)
	Layer     int    // encoder layer; -1 for embeddings, Config.Layers for heads
}

// Init is the initial value of a tensor.
type Init struct {
	Random bool    // draw from a normal distribution of mean 0, cut off as [InitialWeights] says
	Value  float64 // its standard deviation if Random, otherwise the value of every element
}

// Size returns the number of elements.
func (s TensorSpec) Size() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// Tensors returns every parameter of a model, in the order of transformers'
// named_parameters. The masked-LM decoder shares the word embedding and has no
// entry.
func Tensors(c Config, h Heads) []TensorSpec {
	if c.Modern != nil {
		return modernTensors(c, h)
	}
	t := table{layer: -1, deviation: c.InitializerRange}
	hidden := c.HiddenSize
	t.add("bert.embeddings.word_embeddings.weight", c.VocabSize, hidden)
	t.add("bert.embeddings.position_embeddings.weight", c.MaxPositions, hidden)
	t.add("bert.embeddings.token_type_embeddings.weight", c.Segments, hidden)
	t.norm("bert.embeddings", hidden)
	for t.layer = range c.Layers {
		p := fmt.Sprintf("bert.encoder.layer.%d.", t.layer)
		t.dense(p+"attention.self.query", hidden, hidden)
		t.dense(p+"attention.self.key", hidden, hidden)
		t.dense(p+"attention.self.value", hidden, hidden)
		t.dense(p+"attention.output.dense", hidden, hidden)
		t.norm(p+"attention.output", hidden)
		t.dense(p+"intermediate.dense", c.IntermediateSize, hidden)
		t.dense(p+"output.dense", hidden, c.IntermediateSize)
		t.norm(p+"output", hidden)
	}
	t.layer = c.Layers
	t.heads(c, h)
	return t.specs
}

type table struct {
	layer     int
	deviation float64 // of matrices
	specs     []TensorSpec
}

func (t *table) heads(c Config, h Heads) {
	if h.Pooled() {
		t.dense("bert.pooler.dense", c.HiddenSize, c.HiddenSize)
	}
	if h.MLM {
		t.vector("cls.predictions.bias", c.VocabSize, 0)
		t.dense("cls.predictions.transform.dense", c.HiddenSize, c.HiddenSize)
		t.norm("cls.predictions.transform", c.HiddenSize)
	}
	if h.NSP {
		t.dense("cls.seq_relationship", 2, c.HiddenSize)
	}
	if w := h.ClassifierWidth(); w > 0 {
		t.dense("classifier", w, c.HiddenSize)
	}
	if h.Span {
		t.dense("qa_outputs", 2, c.HiddenSize)
	}
}

func (t *table) dense(name string, out, in int) {
	t.add(name+".weight", out, in)
	t.vector(name+".bias", out, 0)
}

func (t *table) norm(name string, width int) {
	t.vector(name+".LayerNorm.weight", width, 1)
	t.vector(name+".LayerNorm.bias", width, 0)
}

// add adds a matrix or a table.
func (t *table) add(name string, shape ...int) {
	t.append(TensorSpec{Name: name, Shape: shape, Decay: true, Init: Init{true, t.deviation}})
}

// vector adds a bias or a LayerNorm's weight. Weight decay does not apply to them, as in
// google-research/bert and in NVIDIA's and ModernBERT's recipes.
func (t *table) vector(name string, n int, value float64) {
	t.append(TensorSpec{Name: name, Shape: []int{n}, Init: Init{Value: value}})
}

func (t *table) append(s TensorSpec) {
	s.Layer = t.layer
	s.Google, s.Transpose = GoogleName(s.Name)
	t.specs = append(t.specs, s)
}

// modernTensors returns the parameters of a ModernBERT model, in the order of
// transformers. The deviations are those of its full_megatron initialization.
func modernTensors(c Config, h Heads) []TensorSpec {
	t := table{layer: -1}
	hidden, in, out := c.HiddenSize, c.InitializerRange, c.InitializerRange/math.Sqrt(2*float64(c.Layers))
	dense := func(name string, deviation float64, rows, columns int) {
		t.deviation = deviation
		t.add(name+".weight", rows, columns)
	}
	norm := func(name string) { t.vector(name+".weight", hidden, 1) }
	dense("model.embeddings.tok_embeddings", in, c.VocabSize, hidden)
	norm("model.embeddings.norm")
	for t.layer = range c.Layers {
		p := fmt.Sprintf("model.layers.%d.", t.layer)
		if t.layer > 0 {
			norm(p + "attn_norm")
		}
		dense(p+"attn.Wqkv", in, 3*hidden, hidden)
		dense(p+"attn.Wo", out, hidden, hidden)
		norm(p + "mlp_norm")
		dense(p+"mlp.Wi", in, 2*c.IntermediateSize, hidden)
		dense(p+"mlp.Wo", out, hidden, c.IntermediateSize)
	}
	norm("model.final_norm") // part of the last layer: its gradient is complete with that layer's
	t.layer = c.Layers
	if h == (Heads{}) {
		return t.specs
	}
	dense("head.dense", out, hidden, hidden)
	norm("head.norm")
	if h.MLM {
		t.vector("decoder.bias", c.VocabSize, 0)
	}
	width := h.ClassifierWidth()
	if h.Span {
		width = 2
	}
	if width > 0 { // of a sequence or of every token: transformers has one name for both
		dense("classifier", 1/math.Sqrt(float64(hidden)), width, hidden)
		t.vector("classifier.bias", width, 0)
	}
	return t.specs
}

var layerNumber = regexp.MustCompile(`layer\.(\d+)`)

// GoogleName converts a tensor name of transformers to google-research/bert's.
// transpose reports whether google-research/bert stores the matrix transposed.
func GoogleName(name string) (google string, transpose bool) {
	switch name { // heads of run_classifier.py and run_squad.py, and next sentence: not transposed
	case "classifier.weight":
		return "output_weights", false
	case "classifier.bias":
		return "output_bias", false
	case "qa_outputs.weight":
		return "cls/squad/output_weights", false
	case "qa_outputs.bias":
		return "cls/squad/output_bias", false
	case "cls.seq_relationship.weight":
		return "cls/seq_relationship/output_weights", false
	case "cls.seq_relationship.bias":
		return "cls/seq_relationship/output_bias", false
	case "cls.predictions.bias":
		return "cls/predictions/output_bias", false
	}
	g := layerNumber.ReplaceAllString(name, "layer_$1")
	switch {
	case strings.HasSuffix(g, ".LayerNorm.weight"):
		g = strings.TrimSuffix(g, "weight") + "gamma"
	case strings.HasSuffix(g, ".LayerNorm.bias"):
		g = strings.TrimSuffix(g, "bias") + "beta"
	case strings.HasSuffix(g, "embeddings.weight"):
		g = strings.TrimSuffix(g, ".weight")
	case strings.HasSuffix(g, ".weight"):
		g, transpose = strings.TrimSuffix(g, "weight")+"kernel", true
	}
	return strings.ReplaceAll(g, ".", "/"), transpose
}
