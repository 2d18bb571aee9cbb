package cpu

import (
	"fmt"
	"strings"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// A layout assigns every tensor a place in one flat buffer. Weights, gradients
// and moments have the same layout.
type layout struct {
	specs  []trainer.TensorSpec // in the order of trainer.Tensors
	offset []int                // of each spec
	byName map[string]int       // index in specs
	flat   []int                // indexes into specs by ascending offset
	size   int
}

func newLayout(c trainer.Config, h trainer.Heads) layout {
	l := layout{specs: trainer.Tensors(c, h), byName: map[string]int{}}
	l.offset = make([]int, len(l.specs))
	for i, s := range l.specs {
		l.byName[s.Name] = i
	}
	for i := 0; i < len(l.specs); {
		group := []int{i}
		if strings.HasSuffix(l.specs[i].Name, "attention.self.query.weight") {
			// Query, key and value weights, then their biases: one matrix of 3H rows and one vector.
			group = []int{i, i + 2, i + 4, i + 1, i + 3, i + 5}
		}
		for _, j := range group {
			l.offset[j] = l.size
			l.size += l.specs[j].Size()
			l.flat = append(l.flat, j)
		}
		i += len(group)
	}
	return l
}

// span returns n elements of buf from the start of a tensor; nil if buf is nil.
func span[T any](l *layout, buf []T, name string, n int) []T {
	if buf == nil {
		return nil
	}
	i, ok := l.byName[name]
	if !ok {
		panic("BUG: no tensor " + name)
	}
	return buf[l.offset[i] : l.offset[i]+n]
}

// dense is y = x·Wᵀ + b with its gradients (nil without training).
type dense[T kernel.Float] struct {
	out, in int
	w, dw   []T // (out, in)
	b, db   []T // (out)
}

// norm holds the parameters of a LayerNorm and their gradients.
type norm[T kernel.Float] struct {
	gain, dgain []T // (H) "weight"
	bias, dbias []T // (H)
}

// table is an embedding table.
type table[T kernel.Float] struct{ w, dw []T }

// block is the parameters of one encoder layer.
type block[T kernel.Float] struct {
	qkv, attended, up, down dense[T]
	norm1, norm2            norm[T]
}

// views are the parts of the flat buffers, one for each parameter. Parameters
// of absent heads are zero values.
type views[T kernel.Float] struct {
	word, position, segment table[T]
	embedNorm               norm[T]
	blocks                  []block[T]
	pooler                  dense[T]
	transform               dense[T]
	transformNorm           norm[T]
	decoderBias             table[T] // (V)
	nsp, classifier, spans  dense[T]
}

// viewer makes views of w, the flat weights, and g, the flat gradients.
type viewer[T kernel.Float] struct {
	l    *layout
	w, g []T
}

func (v viewer[T]) table(name string, n int) table[T] {
	return table[T]{span(v.l, v.w, name, n), span(v.l, v.g, name, n)}
}

func (v viewer[T]) dense(name string, out, in int) dense[T] {
	w, b := v.table(name+".weight", out*in), v.table(name+".bias", out)
	return dense[T]{out, in, w.w, w.dw, b.w, b.dw}
}

func (v viewer[T]) norm(name string, n int) norm[T] {
	w, b := v.table(name+".LayerNorm.weight", n), v.table(name+".LayerNorm.bias", n)
	return norm[T]{w.w, w.dw, b.w, b.dw}
}

func (v viewer[T]) views(c trainer.Config, h trainer.Heads) views[T] {
	hidden := c.HiddenSize
	p := views[T]{
		word:      v.table("bert.embeddings.word_embeddings.weight", c.VocabSize*hidden),
		position:  v.table("bert.embeddings.position_embeddings.weight", c.MaxPositions*hidden),
		segment:   v.table("bert.embeddings.token_type_embeddings.weight", c.Segments*hidden),
		embedNorm: v.norm("bert.embeddings", hidden),
	}
	for i := range c.Layers {
		p.blocks = append(p.blocks, v.block(c, i))
	}
	if h.Pooled() {
		p.pooler = v.dense("bert.pooler.dense", hidden, hidden)
	}
	if h.MLM {
		p.transform = v.dense("cls.predictions.transform.dense", hidden, hidden)
		p.transformNorm = v.norm("cls.predictions.transform", hidden)
		p.decoderBias = v.table("cls.predictions.bias", c.VocabSize)
	}
	if h.NSP {
		p.nsp = v.dense("cls.seq_relationship", 2, hidden)
	}
	if n := h.ClassifierWidth(); n > 0 {
		p.classifier = v.dense("classifier", n, hidden)
	}
	if h.Span {
		p.spans = v.dense("qa_outputs", 2, hidden)
	}
	return p
}

func (v viewer[T]) block(c trainer.Config, layer int) block[T] {
	name := fmt.Sprintf("bert.encoder.layer.%d.", layer)
	hidden := c.HiddenSize
	return block[T]{
		qkv:      v.dense(name+"attention.self.query", 3*hidden, hidden), // the layout places key and value right after it
		attended: v.dense(name+"attention.output.dense", hidden, hidden),
		norm1:    v.norm(name+"attention.output", hidden),
		up:       v.dense(name+"intermediate.dense", c.IntermediateSize, hidden),
		down:     v.dense(name+"output.dense", hidden, c.IntermediateSize),
		norm2:    v.norm(name+"output", hidden),
	}
}
