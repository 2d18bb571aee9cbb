package bert

import (
	"fmt"

	"pretext/trainer"
)

const (
	wordEmbeddings = "bert.embeddings.word_embeddings.weight"
	decoderBias    = "cls.predictions.bias"

	modernWords = "model.embeddings.tok_embeddings.weight"
	modernBias  = "decoder.bias"
)

// perWord are the tensors with a row for each vocabulary entry.
var perWord = []string{wordEmbeddings, decoderBias, modernWords, modernBias}

// Parameters are a backend's views of a model's parameters. The type of a view is D for a
// dense layer, N for a LayerNorm and T for a table. Views for heads that the model does
// not have are zero.
type Parameters[D, N, T any] struct {
	Word, Position, Segment T
	EmbedNorm               N
	Layers                  []Layer[D, N]
	FinalNorm               N // of ModernBERT, behind the last layer
	Pooler                  D
	Transform               D // of the masked-LM head; of ModernBERT's other heads, too
	TransformNorm           N
	DecoderBias             T // (vocabulary)
	NSP, Classifier, Spans  D
}

// A Layer holds the views of one encoder layer.
type Layer[D, N any] struct {
	QKV, Attended, Up, Down D // ModernBERT: Up is (2F, H), the input and the gate
	Norm1, Norm2            N // behind attention and feed-forward block; ModernBERT: before them, no Norm1 in layer 0
}

// A Viewer makes views of parameters.
type Viewer[D, N, T any] interface {
	// Dense returns the view of a dense layer, y = x·Wᵀ + b, with the tensors
	// name.weight of shape (out, in) and name.bias, which only BERT's have and
	// ModernBERT's classifier.
	Dense(name string, out, in int) D

	// Norm returns the view of a LayerNorm, with the tensors name.LayerNorm.weight and
	// name.LayerNorm.bias; ModernBERT's has name.weight only. If withBias is set, its gradients include the gradient of
	// name.dense.bias, the bias of the preceding dense layer.
	Norm(name string, withBias bool) N

	Table(name string) T
}

// View returns the views of all parameters of a model.
func View[D, N, T any](v Viewer[D, N, T], c trainer.Config, h trainer.Heads) Parameters[D, N, T] {
	if c.Modern != nil {
		return modernView(v, c, h)
	}
	hidden := c.HiddenSize
	p := Parameters[D, N, T]{
		Word:      v.Table(wordEmbeddings),
		Position:  v.Table("bert.embeddings.position_embeddings.weight"),
		Segment:   v.Table("bert.embeddings.token_type_embeddings.weight"),
		EmbedNorm: v.Norm("bert.embeddings", false),
	}
	for i := range c.Layers {
		name := fmt.Sprintf("bert.encoder.layer.%d.", i)
		p.Layers = append(p.Layers, Layer[D, N]{
			QKV:      v.Dense(name+"attention.self.query", 3*hidden, hidden), // the layout places key and value right after it
			Attended: v.Dense(name+"attention.output.dense", hidden, hidden),
			Norm1:    v.Norm(name+"attention.output", true),
			Up:       v.Dense(name+"intermediate.dense", c.IntermediateSize, hidden),
			Down:     v.Dense(name+"output.dense", hidden, c.IntermediateSize),
			Norm2:    v.Norm(name+"output", true),
		})
	}
	if h.Pooled() {
		p.Pooler = v.Dense("bert.pooler.dense", hidden, hidden)
	}
	if h.MLM {
		p.Transform = v.Dense("cls.predictions.transform.dense", hidden, hidden)
		p.TransformNorm = v.Norm("cls.predictions.transform", false)
		p.DecoderBias = v.Table(decoderBias)
	}
	if h.NSP {
		p.NSP = v.Dense("cls.seq_relationship", 2, hidden)
	}
	if n := h.ClassifierWidth(); n > 0 {
		p.Classifier = v.Dense("classifier", n, hidden)
	}
	if h.Span {
		p.Spans = v.Dense("qa_outputs", 2, hidden)
	}
	return p
}

func modernView[D, N, T any](v Viewer[D, N, T], c trainer.Config, h trainer.Heads) Parameters[D, N, T] {
	hidden, wide := c.HiddenSize, c.IntermediateSize
	p := Parameters[D, N, T]{
		Word: v.Table(modernWords), EmbedNorm: v.Norm("model.embeddings.norm", false), FinalNorm: v.Norm("model.final_norm", false),
		Transform: v.Dense("head.dense", hidden, hidden), TransformNorm: v.Norm("head.norm", false),
	}
	for i := range c.Layers {
		name := fmt.Sprintf("model.layers.%d.", i)
		l := Layer[D, N]{
			QKV: v.Dense(name+"attn.Wqkv", 3*hidden, hidden), Attended: v.Dense(name+"attn.Wo", hidden, hidden), Norm2: v.Norm(name+"mlp_norm", false),
			Up: v.Dense(name+"mlp.Wi", 2*wide, hidden), Down: v.Dense(name+"mlp.Wo", hidden, wide),
		}
		if i > 0 {
			l.Norm1 = v.Norm(name+"attn_norm", false)
		}
		p.Layers = append(p.Layers, l)
	}
	switch n := h.ClassifierWidth(); {
	case h.MLM:
		p.DecoderBias = v.Table(modernBias)
	case h.Span:
		p.Spans = v.Dense("classifier", 2, hidden)
	case n > 0:
		p.Classifier = v.Dense("classifier", n, hidden)
	}
	return p
}
