package cuda

import (
	"fmt"
	"strings"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
)

// A layout assigns every tensor an offset in one flat buffer, a multiple of 64
// elements. Weights, gradients and moments use the same layout, except that the
// moments may be divided over the ranks; the gaps between tensors are zero. The weights of query, key and value are adjacent, and so are
// their biases: they form one matrix of 3H rows and one vector of 3H elements.
type layout struct {
	specs  []trainer.TensorSpec // in the order of trainer.Tensors
	offset []int                // of specs[i], in elements
	byName map[string]int       // index in specs
	flat   []int                // indexes in specs by ascending offset
	size   int                  // elements, a multiple of 64 × ranks

	buckets []bucket // embeddings, encoder layers, heads: the index is 1 + trainer.TensorSpec.Layer
	ranks   int
	sharded bool // the ranks divide the optimizer's work and state
	gather  int  // elements that a rank sends at a time when moments are gathered
}

func newLayout(c trainer.Config, h trainer.Heads, s shape) layout {
	l := layout{specs: trainer.Tensors(c, h), byName: map[string]int{}, ranks: s.ranks, sharded: s.sharded}
	l.offset = make([]int, len(l.specs))
	for i, spec := range l.specs {
		l.byName[spec.Name] = i
	}
	for i := 0; i < len(l.specs); {
		group := []int{i}
		if strings.HasSuffix(l.specs[i].Name, "attention.self.query.weight") {
			group = []int{i, i + 2, i + 4, i + 1, i + 3, i + 5}
		}
		if l.specs[i].Layer+1 == len(l.buckets) {
			l.endBucket()
			l.buckets = append(l.buckets, bucket{first: l.size})
		}
		for _, j := range group {
			n := l.specs[j].Size()
			if l.specs[j].Shape[0] == c.VocabSize && (j == 0 || l.specs[j].Name == "cls.predictions.bias") {
				n = n / c.VocabSize * s.vocabulary
			}
			l.offset[j] = l.size
			l.size += roundUp(n, 64)
			l.flat = append(l.flat, j)
		}
		i += len(group)
	}
	l.endBucket()
	l.gather = min(max(stagingBytes/4/l.ranks/64*64, 64), l.size/l.ranks)
	return l
}

// endBucket rounds the last bucket up, so that all ranks have equal parts of it.
func (l *layout) endBucket() {
	if len(l.buckets) > 0 {
		l.size = roundUp(l.size, 64*l.ranks)
		b := &l.buckets[len(l.buckets)-1]
		b.n = l.size - b.first
	}
}

// moments returns the number of elements of a moment on this rank.
func (l *layout) moments() int {
	if l.sharded {
		return l.size / l.ranks
	}
	return l.size
}

// parts divides the tensors into the units of work of the optimizer, of one rank
// each. Tensors are numbered in the order of l.flat; the parts of tensor t are
// bounds[t] to bounds[t+1]-1.
func (l *layout) parts() (parts []kernels.Part, bounds []int32) {
	for t, i := range l.flat {
		bounds = append(bounds, int32(len(parts)))
		n := l.specs[i].Size()
		for at := 0; at < n; {
			size := min(kernels.PartSize, n-at, l.ownedFrom(i, at))
			parts = append(parts, kernels.Part{First: int64(l.offset[i] + at), N: int32(size), Tensor: int32(t)})
			at += size
		}
	}
	return parts, append(bounds, int32(len(parts)))
}

// ownedFrom returns the number of elements from element at of tensor i to the end of
// the part of the bucket that one rank owns.
func (l *layout) ownedFrom(i, at int) int {
	if !l.sharded {
		return l.size
	}
	b := l.buckets[1+l.specs[i].Layer]
	each := b.n / l.ranks
	return each - (l.offset[i]+at-b.first)%each
}

// dense holds the addresses of the parameters of y = x·Wᵀ + b and of their
// gradients. Without training the gradients' addresses are zero.
type dense struct {
	out, in int
	w, b    device.Pointer // elements: (out, in), (out)
	master  device.Pointer // b in float32
	dw, db  device.Pointer // float32: gradients of w and b
}

// norm holds the addresses of a LayerNorm's parameters, (H) each, and of their
// gradients. dsums is (2, H) float32: gain, bias. In an encoder layer it is (3, H):
// the bias of the dense layer before the LayerNorm, gain, bias.
type norm struct{ gain, bias, dsums device.Pointer }

// table holds the addresses of a tensor: its weights in both types, and its
// gradient.
type table struct {
	w, master, dw device.Pointer // elements, float32, float32
}

// block holds the parameters of one encoder layer.
type block struct {
	qkv, attended, up, down dense
	norm1, norm2            norm
}

// views holds the addresses of all parameters, named by use. The fields of heads
// that the model does not have are zero.
type views struct {
	word, position, segment table
	embedNorm               norm
	blocks                  []block
	pooler                  dense
	transform               dense
	transformNorm           norm
	decoderBias             table // (vocabulary)
	nsp, classifier, spans  dense
}

// viewer computes the addresses of parameters in the flat buffers.
type viewer struct {
	l       *layout
	w       device.Pointer // elements
	master  device.Pointer // float32
	g       device.Pointer // float32; zero without training
	element int            // bytes of an element
	hidden  int            // hidden size
}

func (v viewer) table(name string) table {
	i, ok := v.l.byName[name]
	if !ok {
		panic("BUG: no tensor " + name)
	}
	t := table{w: v.w.Add(v.l.offset[i] * v.element), master: v.master.Add(v.l.offset[i] * 4)}
	if v.g != 0 {
		t.dw = v.g.Add(v.l.offset[i] * 4)
	}
	return t
}

func (v viewer) dense(name string, out, in int) dense {
	w, b := v.table(name+".weight"), v.table(name+".bias")
	return dense{out, in, w.w, b.w, b.master, w.dw, b.dw}
}

func (v viewer) norm(name string) norm {
	w, b := v.table(name+".LayerNorm.weight"), v.table(name+".LayerNorm.bias")
	if v.g != 0 && b.dw != w.dw.Add(4*v.hidden) {
		panic("BUG: gain and bias of " + name + " are not adjacent")
	}
	return norm{w.w, b.w, w.dw}
}

// normAfter returns the LayerNorm that follows a dense layer, with the bias of that
// layer as the first row of dsums.
func (v viewer) normAfter(name string) norm {
	n, before := v.norm(name), v.table(name+".dense.bias")
	if v.g != 0 && n.dsums != before.dw.Add(4*v.hidden) {
		panic("BUG: bias and LayerNorm of " + name + " are not adjacent")
	}
	n.dsums = before.dw
	return n
}

func (v viewer) views(c trainer.Config, h trainer.Heads) views {
	hidden := c.HiddenSize
	p := views{
		word:      v.table("bert.embeddings.word_embeddings.weight"),
		position:  v.table("bert.embeddings.position_embeddings.weight"),
		segment:   v.table("bert.embeddings.token_type_embeddings.weight"),
		embedNorm: v.norm("bert.embeddings"),
	}
	for i := range c.Layers {
		p.blocks = append(p.blocks, v.block(c, i))
	}
	if h.Pooled() {
		p.pooler = v.dense("bert.pooler.dense", hidden, hidden)
	}
	if h.MLM {
		p.transform = v.dense("cls.predictions.transform.dense", hidden, hidden)
		p.transformNorm = v.norm("cls.predictions.transform")
		p.decoderBias = v.table("cls.predictions.bias")
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

func (v viewer) block(c trainer.Config, layer int) block {
	name := fmt.Sprintf("bert.encoder.layer.%d.", layer)
	hidden := c.HiddenSize
	return block{
		qkv:      v.dense(name+"attention.self.query", 3*hidden, hidden), // key and value follow
		attended: v.dense(name+"attention.output.dense", hidden, hidden),
		norm1:    v.normAfter(name + "attention.output"),
		up:       v.dense(name+"intermediate.dense", c.IntermediateSize, hidden),
		down:     v.dense(name+"output.dense", hidden, c.IntermediateSize),
		norm2:    v.normAfter(name + "output"),
	}
}
