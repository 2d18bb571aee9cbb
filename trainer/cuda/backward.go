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
		m.complete(1 + i)
	}
	m.embedGrad(d, dy, dz)
	m.complete(0)
}

// layerGrad adds the gradients of the parameters of layer i, given dy, the
// gradient of the layer's output. dz is scratch. It returns the same two buffers:
// input now holds the gradient of the layer's input, and free is scratch.
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

// spread is the reverse of gather: it copies each row of x, a row that the heads
// read, to its row of the batch in y (tokens, H), and sets all other rows to zero.
func (m *model) spread(y, x device.Pointer, d *batch) {
	m.clear(y, d.tokens*m.c.HiddenSize*m.element.Size())
	m.addRows("add_rows_elem", y, x, d.spread)
}

// normGrad computes the gradients of y = LN(drop(x + bias) + residual) from dy,
// the gradient of y:
//
//   - dz is set to the gradient of the LayerNorm's input, hence of the residual;
//   - dx, unless it is the zero pointer, is set to the gradient of x;
//   - p.dsums gets the gradients of gain and bias added, and with dx those of the
//     bias before the LayerNorm.
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

// columnParts returns the number of parts into which the rows of a matrix are
// divided to sum its columns.
func columnParts(rows int) int { return min(columnBlocks, blocks(rows, 64)) }

// addParts adds all rows of part (parts, width) to the vector sum (width).
func (m *model) addParts(sum, part device.Pointer, parts, width int) {
	m.launch("add_parts", device.Dim{X: blocks(width, 256)}, sum, part, int32(parts), int32(width))
}

// columns adds the sum of each column of x (rows, width) to db (width).
func (m *model) columns(db, x device.Pointer, rows, width int) {
	parts := columnParts(rows)
	m.launch("column_sums", device.Dim{X: blocks(width, 256), Y: parts}, m.b.column, x, device.Pointer(0), int32(rows), int32(width))
	m.addParts(db, m.b.column, parts, width)
}

// attendGrad sets b.dqkv, the gradient of layer i's queries, keys and values, from
// dctx, the gradient of the attention's output ctx.
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

// embedGrad adds the gradients of the word, position and segment embeddings and of
// their LayerNorm, given dy, the gradient of embedded.y. dz is scratch.
func (m *model) embedGrad(d *batch, dy, dz device.Pointer) {
	e, h := m.b.embedded, m.c.HiddenSize
	m.launch("dropout_rows", rowsGrid(d.tokens), m.b.do, dy, d.all, m.dropping(m.c.HiddenDropout, dropout.Embeddings, 0), int32(h))
	m.normGrad(dz, 0, m.b.do, e, m.p.embedNorm, d.all, keepAll)
	m.addRows("add_rows_f32", m.p.word.dw, dz, d.words)
	m.addRows("add_rows_f32", m.p.position.dw, dz, d.places)
	m.addRows("add_rows_f32", m.p.segment.dw, dz, d.kinds)
}
