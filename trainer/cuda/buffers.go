package cuda

import (
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

// buffers are the device memory of a model. Dimensions in comments: tokens (T),
// rows of the pooler (S), masked tokens in a chunk (M), vocabulary (V), all with
// the capacities in type shape; hidden size (H), intermediate size (F), attention
// heads (A). A buffer without a type in its comment holds elements, which have the
// type of the model's precision.
type buffers struct {
	// Parameters, flat.
	w, m, v, g device.Pointer // float32: weights, first and second moments, gradients; without training only w. m and v may hold only this rank's slices
	copy       device.Pointer // weights as elements; equals w in fp32

	control, sums          device.Pointer // kernels.Control; float64 (sumSlots, 3)
	parts, bounds, decays  device.Pointer // the optimizer's tables: see layout.parts and model.tables
	squares, moved, ratios device.Pointer // float32: (parts), (parts, 2) and (tensors) for LAMB
	gathered               device.Pointer // float32 (ranks, layout.gather): a piece of the ranks' moments
	workspace              device.Pointer // scratch memory of matrix products
	column                 device.Pointer // float32 (columnBlocks, widest): partial sums of columns
	slots                  [2]device.Pointer
	embedded               normed
	layers                 []kept         // one per layer; without training two, used in turn
	o, narrow              device.Pointer // (T, H): output of a block before its LayerNorm; the last layer's residual, only the rows that the heads read
	dy, dz, do, du, dqkv   device.Pointer // (T, H), (T, H), (T, H), (T, F), (T, 3H)
	delta, dq              device.Pointer // float32: (A, T), (T, H)
	pieces                 device.Pointer // float32 (pieces, H)
	mlm                    maskedBuffers
	pooler                 poolerBuffers
	loss, hit              device.Pointer // float32: loss of each row, and 1 if its prediction is right; sized for the largest head
	best                   device.Pointer // int32 (M): most probable word of each masked token
	logits                 device.Pointer // float32: logits of every head but masked LM, which run in turn
	dlogits                device.Pointer // gradients of logits as elements; equals logits in fp32
}

// kept is what a layer keeps for the backward pass.
type kept struct {
	x          device.Pointer // (T, H) its input
	qkv        device.Pointer // (T, 3H)
	lse        device.Pointer // float32 (A, T): logarithm of the softmax's denominator
	ctx        device.Pointer // (T, H)
	selected   device.Pointer // (T, H) rows of ctx that the heads read, in the last layer
	mid, final normed
	u, g       device.Pointer // (T, F) before and after the activation
}

// normed is a LayerNorm's output and what its gradient needs.
type normed struct {
	y, xhat device.Pointer // (T, H)
	inverse device.Pointer // float32 (T): 1/σ
}

// maskedBuffers are the buffers of the masked-LM head for one chunk of masked
// tokens.
type maskedBuffers struct {
	x, u, g    device.Pointer // (M, H)
	norm       normed         // (M, H)
	logits     device.Pointer // (M, V)
	do, dg, dx device.Pointer // (M, H)
}

type poolerBuffers struct {
	first, y, dropped device.Pointer // (S, H)
	dy, dx            device.Pointer // (S, H)
}

// columnBlocks is the maximum result of columnParts.
const columnBlocks = 64

// requests is an arena that gets requests for all buffers of one model.
type requests struct {
	arena
	c       trainer.Config
	s       shape
	train   bool
	element int // bytes
}

// elements requests a buffer of n elements, floats one of n float32 values.
func (r *requests) elements(name string, at *device.Pointer, n int) { r.want(name, at, n*r.element) }
func (r *requests) floats(name string, at *device.Pointer, n int)   { r.want(name, at, n*4) }

// normed requests the buffers of a LayerNorm.
func (r *requests) normed(name string, n *normed, rows int) {
	r.elements(name+".y", &n.y, rows*r.c.HiddenSize)
	r.elements(name+".xhat", &n.xhat, rows*r.c.HiddenSize)
	r.floats(name+".inverse", &n.inverse, rows)
}

// parameters requests the flat buffers of all parameters and the optimizer's
// buffers.
func (r *requests) parameters(b *buffers, l *layout) {
	parts, bounds := l.parts()
	r.floats("weights", &b.w, l.size)
	if r.element != 4 {
		r.elements("weights, rounded", &b.copy, l.size)
	}
	r.want("control", &b.control, 64)
	r.want("sums", &b.sums, 8*3*sumSlots)
	r.want("workspace", &b.workspace, r.s.workspace)
	if !r.train {
		return
	}
	r.floats("first moments", &b.m, l.moments())
	r.floats("second moments", &b.v, l.moments())
	if l.sharded {
		r.floats("gathered", &b.gathered, l.ranks*l.gather)
	}
	r.floats("gradients", &b.g, l.size)
	r.want("parts", &b.parts, partBytes*len(parts))
	r.want("bounds", &b.bounds, 4*len(bounds))
	r.want("decays", &b.decays, roundUp(len(l.specs), 4))
	r.floats("squares", &b.squares, len(parts))
	r.floats("squares of LAMB", &b.moved, 2*len(parts))
	r.floats("ratios", &b.ratios, len(l.specs))
	r.floats("column sums", &b.column, columnBlocks*max(3*r.c.HiddenSize, r.c.IntermediateSize, r.s.vocabulary, classifierWidth(l)))
}

// classifierWidth returns the number of the classifier's outputs; 0 if the model
// has no classifier.
func classifierWidth(l *layout) int {
	if i, ok := l.byName["classifier.bias"]; ok {
		return l.specs[i].Size()
	}
	return 0
}

// encoder requests the activations of the encoder and, for training, their
// gradients.
func (r *requests) encoder(b *buffers) {
	t, h, f, a := r.s.tokens, r.c.HiddenSize, r.c.IntermediateSize, r.c.AttentionHeads
	r.normed("embedded", &b.embedded, t)
	b.layers = make([]kept, min(r.c.Layers, 2))
	if r.train {
		b.layers = make([]kept, r.c.Layers)
	}
	for i := range b.layers {
		k, name := &b.layers[i], fmt.Sprintf("layer %d ", i)
		r.elements(name+"qkv", &k.qkv, 3*t*h)
		r.floats(name+"lse", &k.lse, a*t)
		r.elements(name+"ctx", &k.ctx, t*h)
		r.normed(name+"mid", &k.mid, t)
		r.normed(name+"final", &k.final, t)
		r.elements(name+"u", &k.u, t*f)
		r.elements(name+"g", &k.g, t*f)
	}
	r.elements("selected ctx", &b.layers[(r.c.Layers-1)%len(b.layers)].selected, t*h)
	r.elements("o", &b.o, t*h)
	r.elements("narrow", &b.narrow, t*h)
	if !r.train {
		return
	}
	r.elements("dy", &b.dy, t*h)
	r.elements("dz", &b.dz, t*h)
	r.elements("do", &b.do, t*h)
	r.elements("du", &b.du, t*f)
	r.elements("dqkv", &b.dqkv, 3*t*h)
	r.floats("delta", &b.delta, a*t)
	r.floats("dq", &b.dq, t*h)
	r.floats("pieces", &b.pieces, r.s.pieces*h)
}

// heads requests the buffers of the heads that the model has.
func (r *requests) heads(b *buffers, heads trainer.Heads) {
	h, n, m := r.c.HiddenSize, r.s.pooled, r.s.chunk
	r.floats("losses", &b.loss, max(n, m, 2*r.s.sequences))
	r.floats("hits", &b.hit, max(n, m, 2*r.s.sequences))
	if heads.MLM {
		p := &b.mlm
		for name, at := range map[string]*device.Pointer{"x": &p.x, "u": &p.u, "g": &p.g, "do": &p.do, "dg": &p.dg, "dx": &p.dx} {
			r.elements("masked "+name, at, m*h)
		}
		r.normed("masked norm", &p.norm, m)
		r.elements("masked logits", &p.logits, m*r.s.vocabulary)
		r.floats("best", &b.best, m)
	}
	if heads.Pooled() {
		p := &b.pooler
		for name, at := range map[string]*device.Pointer{"first": &p.first, "y": &p.y, "dropped": &p.dropped, "dy": &p.dy, "dx": &p.dx} {
			r.elements("pooler "+name, at, n*h)
		}
	}
	logits := n * max(2, heads.ClassifierWidth())
	if heads.Span {
		logits = max(logits, 2*r.s.tokens)
	}
	r.floats("logits", &b.logits, logits)
	if r.element != 4 {
		r.elements("gradients of logits", &b.dlogits, logits)
	}
}

// requestsFor returns requests for all buffers of a model. Placing them sets the
// fields of b.
func requestsFor(c trainer.Config, h trainer.Heads, o trainer.Options, s shape, l *layout, b *buffers) *requests {
	r := &requests{c: c, s: s, train: o.Train, element: types[o.Precision].kernel.Size()}
	r.parameters(b, l)
	for i := range b.slots {
		r.want(fmt.Sprintf("batch %d", i), &b.slots[i], slotBytes(s))
	}
	r.encoder(b)
	r.heads(b, h)
	return r
}
