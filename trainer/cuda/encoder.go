package cuda

import (
	"fmt"
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/dropout"
	"pretext/trainer/internal/bert"
)

// encoder computes the embeddings and the encoder layers, forward and backward. It holds
// the activations and gradients, and the choices of how to compute (see choose). Dimensions in comments: tokens (T), with the capacity
// in type shape; hidden size (H), feed-forward size (F), attention heads (A). A buffer
// without a type in its comment holds elements, which have the type of the model's
// precision.
type encoder struct {
	*compute
	o      trainer.Options
	p      *bert.Parameters[dense, norm, table]
	tokens int // capacity

	embedded    normed
	layers      []kept         // one per layer; without training two, used in turn
	out, narrow device.Pointer // (T, H): output of a block before its LayerNorm; the last layer's residual, only the rows that the heads read
	d           grad

	modern *modern // nil: BERT

	large            int64  // multiplications from which choose measures
	activation, sums choice // of the feed-forward block's activation, and of the gradients of biases
}

// kept is what a layer stores for the backward pass.
type kept struct {
	x          device.Pointer // (T, H) its input
	qkv        device.Pointer // (T, 3H)
	lse        device.Pointer // float32 (A, T): logarithm of the softmax's denominator
	ctx        device.Pointer // (T, H)
	selected   device.Pointer // (T, H) rows of ctx that the heads read, in the last layer
	mid, final normed
	u, g       device.Pointer // (T, F) before and after the activation
}

// grad is the memory for the gradients of one layer; zero without training.
type grad struct {
	y, z, o device.Pointer // (T, H): of the layer's output, later of its input; of a LayerNorm's input; of a block's output
	u, qkv  device.Pointer // (T, F), (T, 3H)
	delta   device.Pointer // float32 (A, T): Σ dP·P of each query
	q       device.Pointer // float32 (T, H): of the queries, summed by atomic operations
}

// request requests the activations and, for training, their gradients.
func (e *encoder) request(r *requests) {
	t, h, a := r.s.tokens, r.c.HiddenSize, r.c.AttentionHeads
	r.normed("embedded", &e.embedded, t)
	e.embedded.dropped = true
	e.layers = make([]kept, min(r.c.Layers, 2))
	if r.train {
		e.layers = make([]kept, r.c.Layers)
	}
	if e.modern != nil {
		e.requestModern(r)
	} else {
		e.requestBERT(r)
	}
	r.elements("selected ctx", &e.layers[(r.c.Layers-1)%len(e.layers)].selected, t*h)
	r.elements("o", &e.out, t*h)
	if !r.train {
		return
	}
	r.elements("dy", &e.d.y, t*h)
	r.elements("dz", &e.d.z, t*h)
	r.elements("do", &e.d.o, t*h)
	r.elements("dqkv", &e.d.qkv, 3*t*h)
	r.floats("delta", &e.d.delta, a*t)
	r.floats("dq", &e.d.q, t*h)
}

// layerName returns the beginning of the names of a layer's buffers.
func layerName(i int) string { return fmt.Sprintf("layer %d ", i) }

// requestBERT requests the activations of BERT's layers and, for training, the gradient of
// k.u.
func (e *encoder) requestBERT(r *requests) {
	t, h, f, a := r.s.tokens, r.c.HiddenSize, r.c.IntermediateSize, r.c.AttentionHeads
	for i := range e.layers {
		k, name := &e.layers[i], layerName(i)
		r.elements(name+"qkv", &k.qkv, 3*t*h)
		r.floats(name+"lse", &k.lse, a*t)
		r.elements(name+"ctx", &k.ctx, t*h)
		r.normed(name+"mid", &k.mid, t)
		r.normed(name+"final", &k.final, t)
		r.elements(name+"u", &k.u, t*f)
		r.elements(name+"g", &k.g, t*f)
	}
	r.elements("narrow", &e.narrow, t*h)
	if r.train {
		r.elements("du", &e.d.u, t*f)
	}
}

// kept returns the buffers of layer i. Its input x is the output buffer of layer
// i-1, or of the embeddings. Without training, layers use two sets of buffers in
// turn.
func (e *encoder) kept(i int) kept {
	k := e.layers[i%len(e.layers)]
	switch {
	case i == 0:
		k.x = e.embedded.y
	case e.modern != nil:
		k.x = k.mid.y
	default:
		k.x = e.layers[(i-1)%len(e.layers)].final.y
	}
	return k
}

// forward computes the encoder's output.
func (e *encoder) forward(d *batch) {
	if e.modern != nil {
		e.embedWords(d)
		for i := range e.config.Layers {
			e.preNorm(d, i)
		}
		return
	}
	e.embed(d)
	for i := range e.config.Layers {
		e.layer(d, i)
	}
}

// embed computes embedded.y = drop(LN(word + position + segment)).
func (e *encoder) embed(d *batch) {
	y, p := e.embedded, e.p
	e.launch("embed_forward", rowsGrid(d.tokens), y.y, y.xhat, y.inverse, p.Word.w, p.Position.w, p.Segment.w, d.ids, d.positions, d.segments,
		p.EmbedNorm.gain, p.EmbedNorm.bias, d.all, e.dropping(e.config.HiddenDropout, dropout.Embeddings, 0), int32(e.config.HiddenSize), float32(e.config.LayerNormEps))
}

// last reports whether layer is the last one and the heads read only selected rows. The part
// of such a layer after its attention is computed for these rows only.
func (e *encoder) last(d *batch, layer int) bool {
	return d.rows.index != 0 && layer == e.config.Layers-1
}

// layer computes one encoder layer.
func (e *encoder) layer(d *batch, i int) {
	p, k := &e.p.Layers[i], e.kept(i)
	e.eight.only(d.realTokens())
	e.affine(k.qkv, k.x, d.tokens, p.QKV)
	e.attend("forward", d, i, k.ctx, k.lse, k.qkv)
	rows, ctx, residual := d.all, k.ctx, k.x
	if e.last(d, i) {
		rows, ctx, residual = d.rows.all, k.selected, e.narrow
		e.gather(ctx, k.ctx, d.rows.index, int(rows.N))
		e.gather(residual, k.x, d.rows.index, int(rows.N))
		e.eight.only(d.rows.real)
	}
	n := int(rows.N)
	e.linear(e.out, ctx, n, p.Attended)
	e.norm(k.mid, e.out, p.Attended.b, residual, p.Norm1, rows, e.dropping(e.config.HiddenDropout, dropout.AttentionOutput, i))
	e.up(p, k, n, e.activation.way)
	e.linear(e.out, k.g, n, p.Down)
	e.norm(k.final, e.out, p.Down.b, k.mid.y, p.Norm2, rows, e.dropping(e.config.HiddenDropout, dropout.FeedForward, i))
}

// output returns the encoder's output (rows, H), which holds only the rows that
// the heads read.
func (e *encoder) output() device.Pointer {
	if e.modern != nil {
		return e.modern.last.y
	}
	return e.kept(e.config.Layers - 1).final.y
}

// up computes the first half of the feed-forward block for n rows: k.u = mid.y·W1ᵀ + b and
// k.g = GELU(k.u). way is fused or plain.
func (e *encoder) up(p *bert.Layer[dense, norm], k kept, n int, way string) {
	if way == fused {
		e.geluLinear(k.g, k.u, k.mid.y, n, p.Up)
		return
	}
	e.affine(k.u, k.mid.y, n, p.Up)
	size := n * e.config.IntermediateSize
	e.each("gelu_again", size, k.g, k.u, int64(size), e.tanh())
}

// upGrad computes d.u, the gradient of k.u, from d.o, the gradient of g·W2ᵀ. way is fused
// or plain.
func (e *encoder) upGrad(p *bert.Layer[dense, norm], k kept, n int, way string) {
	if way == fused {
		e.geluInputGrad(e.d.u, e.d.o, k.u, n, p.Down)
		return
	}
	e.inputGrad(e.d.u, e.d.o, n, p.Down, 0)
	size := n * e.config.IntermediateSize
	e.each("gelu_backward", size, e.d.u, k.u, int64(size), e.tanh())
}

// attend launches the attention kernel for a pass ("forward", "backward", …) of a
// layer: flash_* with tensor cores for 16-bit types, attention_* for fp32. args are
// the kernel's arguments before the batch.
func (e *encoder) attend(pass string, d *batch, layer int, args ...any) {
	name, rows := "attention_", 4
	if e.element != device.Float32 {
		name, rows = "flash_", 64
	}
	grid := device.Dim{X: blocks(d.longest, rows), Y: e.config.AttentionHeads, Z: d.sequences}
	drop := e.dropping(e.config.AttentionDropout, dropout.Probabilities, layer)
	args = append(args, d.attention, drop, float32(1/math.Sqrt(headSize)))
	reach := e.config.Reach(layer)
	if reach >= 0 {
		name, args = name+"local_", append(args, int32(min(reach, maxLength)))
	}
	if e.profiled() {
		products := map[string]float64{"forward": 2, "backward": 5, "backward_keys": 4, "backward_queries": 3}[pass]
		e.expect(products*2*headSize*float64(e.config.AttentionHeads)*d.pairs(reach), 0)
	}
	e.launch(name+pass, grid, args...)
}

// backward propagates the gradient of the encoder's output, in d.y, to the
// embeddings. It calls complete with the number of each bucket of the layout
// whose gradients it has queued.
func (e *encoder) backward(d *batch, complete func(bucket int)) {
	if e.modern != nil {
		for i := e.config.Layers - 1; i >= 0; i-- {
			e.preNormGrad(d, i)
			complete(1 + i)
		}
		e.wordsGrad(d)
		complete(0)
		return
	}
	dy, dz := e.d.y, e.d.z
	for i := e.config.Layers - 1; i >= 0; i-- {
		dy, dz = e.layerGrad(d, i, dy, dz)
		complete(1 + i)
	}
	e.embedGrad(d, dy, dz)
	complete(0)
}

// layerGrad adds the gradients of the parameters of layer i, given dy, the
// gradient of the layer's output. dz is scratch. It returns the same two buffers:
// input now holds the gradient of the layer's input, and free is scratch.
func (e *encoder) layerGrad(d *batch, i int, dy, dz device.Pointer) (input, free device.Pointer) {
	p, k, do, du := &e.p.Layers[i], e.kept(i), e.d.o, e.d.u
	rows, ctx := d.all, k.ctx
	e.eight.only(d.realTokens())
	if e.last(d, i) {
		rows, ctx = d.rows.all, k.selected
		e.eight.only(d.rows.real)
	}
	n := int(rows.N)

	// Feed-forward block: dz becomes the gradient of mid.y, by the residual and by the block.
	e.normGrad(dz, do, dy, k.final, p.Norm2, rows, e.dropping(e.config.HiddenDropout, dropout.FeedForward, i))
	e.linearGrad(do, k.g, n, p.Down)
	e.upGrad(p, k, n, e.activation.way)
	e.denseGrad(du, k.mid.y, n, p.Up, e.sums.way)
	e.inputGrad(dz, du, n, p.Up, 1)

	// Attention block: dy becomes the gradient of the residual, dz that of ctx.
	e.normGrad(dy, do, dz, k.mid, p.Norm1, rows, e.dropping(e.config.HiddenDropout, dropout.AttentionOutput, i))
	e.linearGrad(do, ctx, n, p.Attended)
	e.inputGrad(dz, do, n, p.Attended, 0)
	dctx, dx, other := dz, dy, dz
	if e.last(d, i) {
		e.spread(do, dz, d)
		e.spread(dz, dy, d)
		dctx, dx, other = do, dz, dy
	}
	e.attendGrad(d, i, k, dctx)
	e.eight.only(d.realTokens())
	e.denseGrad(e.d.qkv, k.x, d.tokens, p.QKV, e.sums.way)
	e.inputGrad(dx, e.d.qkv, d.tokens, p.QKV, 1)
	return dx, other
}

// spread is the reverse of gather: it copies each row of x, a row that the heads
// read, to its row of the batch in y (tokens, H), and sets all other rows to zero.
func (e *encoder) spread(y, x device.Pointer, d *batch) {
	e.clear(y, d.tokens*e.config.HiddenSize*e.element.Size())
	e.addRows("add_rows_elem", y, x, d.rows.spread)
}

// attendGrad computes d.qkv, the gradient of layer i's queries, keys and values, from dctx,
// the gradient of the attention's output ctx.
func (e *encoder) attendGrad(d *batch, i int, k kept, dctx device.Pointer) {
	t, a := d.tokens, e.config.AttentionHeads
	e.launch("attention_delta", rowsGrid(t*a), e.d.delta, k.ctx, dctx, int32(t), int32(a))
	if e.element != device.Float32 && !e.o.Deterministic {
		e.attend("backward", d, i, e.d.qkv, e.d.q, k.qkv, dctx, k.lse, e.d.delta)
		e.launch("flash_queries_done", device.Dim{X: blocks(t*a*headSize, 4*128)}, e.d.qkv, e.d.q, int32(t), int32(a))
		return
	}
	e.attend("backward_queries", d, i, e.d.qkv, k.qkv, dctx, k.lse, e.d.delta)
	e.attend("backward_keys", d, i, e.d.qkv, k.qkv, dctx, k.lse, e.d.delta)
}

// embedGrad adds the gradients of the word, position and segment embeddings and of
// their LayerNorm, given dy, the gradient of embedded.y. dz is scratch.
func (e *encoder) embedGrad(d *batch, dy, dz device.Pointer) {
	h := e.config.HiddenSize
	e.launch("dropout_rows", rowsGrid(d.tokens), e.d.o, dy, d.all, e.dropping(e.config.HiddenDropout, dropout.Embeddings, 0), int32(h))
	e.normGrad(dz, 0, e.d.o, e.embedded, e.p.EmbedNorm, d.all, keepAll)
	e.addRows("add_rows_f32", e.p.Word.dw, dz, d.words)
	e.addRows("add_rows_f32", e.p.Position.dw, dz, d.places)
	e.addRows("add_rows_f32", e.p.Segment.dw, dz, d.kinds)
}
