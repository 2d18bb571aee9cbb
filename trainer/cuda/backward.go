package cuda

import (
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/dropout"
)

// backward propagates the gradient of the encoder's output, in b.dy, to the
// embeddings.
func (m *model) backward(d *batch) {
	dy, dz := m.b.dy, m.b.dz
	for i := m.c.Layers - 1; i >= 0; i-- {
		dy, dz = m.layerGrad(d, i, dy, dz)
	}
	m.embedGrad(d, dy, dz)
}

// layerGrad computes a layer's gradients from dy, the gradient of its output. It
// returns the buffer with the gradient of its input, and the other one.
func (m *model) layerGrad(d *batch, i int, dy, dz device.Pointer) (input, free device.Pointer) {
	p, k, do, du := &m.p.blocks[i], m.layer(i), m.b.do, m.b.du
	f, rows, ctx := m.c.IntermediateSize, d.all, k.ctx
	if m.last(d, i) {
		rows, ctx = d.rows, k.selected
	}
	n := int(rows.N)

	// Feed-forward block: dz becomes the gradient of mid.y, by the residual and by the block.
	m.normGrad(dz, do, dy, k.final, p.norm2, rows, m.dropping(m.c.HiddenDropout, dropout.FeedForward, i))
	m.linearGrad(do, k.g, n, p.down)
	m.upGrad(p, k, n, m.choice)
	m.columns(p.up.db, du, n, f)
	m.linearGrad(du, k.mid.y, n, p.up)
	m.inputGrad(dz, du, n, p.up, 1)

	// Attention block: dy becomes the gradient of the residual, dz that of ctx.
	m.normGrad(dy, do, dz, k.mid, p.norm1, rows, m.dropping(m.c.HiddenDropout, dropout.AttentionOutput, i))
	m.linearGrad(do, ctx, n, p.attended)
	m.inputGrad(dz, do, n, p.attended, 0)
	dctx, dx, other := dz, dy, dz
	if m.last(d, i) {
		m.spread(do, dz, d)
		m.spread(dz, dy, d)
		dctx, dx, other = do, dz, dy
	}
	m.attendGrad(d, i, k, dctx)
	m.columns(p.qkv.db, m.b.dqkv, d.tokens, 3*m.c.HiddenSize)
	m.linearGrad(m.b.dqkv, k.x, d.tokens, p.qkv)
	m.inputGrad(dx, m.b.dqkv, d.tokens, p.qkv, 1)
	return dx, other
}

// spread sets y (tokens, H) to the rows of x in their places, and zero elsewhere.
func (m *model) spread(y, x device.Pointer, d *batch) {
	m.clear(y, d.tokens*m.c.HiddenSize*m.element.Size())
	m.addRows("add_rows_elem", y, x, d.spread)
}

// normGrad sets dz to the gradient of a LayerNorm's input, dx, if not zero, to
// that of what was dropped out before it, and adds the gradients of its
// parameters and, with dx, of the bias before it.
func (m *model) normGrad(dz, dx, dy device.Pointer, y normed, p norm, rows kernels.Rows, drop kernels.Dropout) {
	h, n, sums := m.c.HiddenSize, int(rows.N), 2
	m.launch("norm_backward", rowsGrid(n), dz, dx, dy, y.xhat, y.inverse, p.gain, rows, drop, int32(h))
	if dx != 0 {
		sums = 3
	}
	parts := columnParts(n)
	m.launch("norm_sums", device.Dim{X: blocks(h, 256), Y: parts}, m.b.column, dx, dy, y.xhat, int32(n), int32(h))
	m.addParts(p.dsums, m.b.column, parts, sums*h)
}

// columnParts is the number of parts in which the columns of a matrix are summed.
func columnParts(rows int) int { return min(columnBlocks, blocks(rows, 64)) }

// addParts adds the rows of part (parts, width) to sum.
func (m *model) addParts(sum, part device.Pointer, parts, width int) {
	m.launch("add_parts", device.Dim{X: blocks(width, 256)}, sum, part, int32(parts), int32(width))
}

// columns adds the sums over the rows of x (rows, width) to db.
func (m *model) columns(db, x device.Pointer, rows, width int) {
	parts := columnParts(rows)
	m.launch("column_sums", device.Dim{X: blocks(width, 256), Y: parts}, m.b.column, x, device.Pointer(0), int32(rows), int32(width))
	m.addParts(db, m.b.column, parts, width)
}

// attendGrad sets b.dqkv from dctx, the gradient of a layer's ctx.
func (m *model) attendGrad(d *batch, i int, k kept, dctx device.Pointer) {
	t, a := d.tokens, m.c.AttentionHeads
	m.launch("attention_delta", rowsGrid(t*a), m.b.delta, k.ctx, dctx, int32(t), int32(a))
	if m.element != device.Float32 && !m.o.Deterministic {
		m.attend("backward", d, i, m.b.dqkv, m.b.dq, k.qkv, dctx, k.lse, m.b.delta)
		m.launch("flash_queries_done", device.Dim{X: blocks(t*a*headSize, 4*128)}, m.b.dqkv, m.b.dq, int32(t), int32(a))
		return
	}
	m.attend("backward_queries", d, i, m.b.dqkv, k.qkv, dctx, k.lse, m.b.delta)
	m.attend("backward_keys", d, i, m.b.dqkv, k.qkv, dctx, k.lse, m.b.delta)
}

// embedGrad adds the gradients of the embeddings from dy, the gradient of
// embedded.y.
func (m *model) embedGrad(d *batch, dy, dz device.Pointer) {
	e, h := m.b.embedded, m.c.HiddenSize
	m.launch("dropout_rows", rowsGrid(d.tokens), m.b.do, dy, d.all, m.dropping(m.c.HiddenDropout, dropout.Embeddings, 0), int32(h))
	m.normGrad(dz, 0, m.b.do, e, m.p.embedNorm, d.all, keepAll)
	m.addRows("add_rows_f32", m.p.word.dw, dz, d.words)
	m.addRows("add_rows_f32", m.p.position.dw, dz, d.places)
	m.addRows("add_rows_f32", m.p.segment.dw, dz, d.kinds)
}
