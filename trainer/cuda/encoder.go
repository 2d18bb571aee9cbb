package cuda

import (
	"math"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/dropout"
)

// encode computes the encoder's output.
func (m *model) encode(d *batch) {
	m.embed(d)
	for i := range m.c.Layers {
		m.encodeLayer(d, i)
	}
}

// rowsGrid returns the grid of a kernel over n rows that computes one row per warp
// and four rows per block.
func rowsGrid(n int) device.Dim { return device.Dim{X: blocks(n, 4)} }

// embed sets embedded.y to drop(LN(word + position + segment)).
func (m *model) embed(d *batch) {
	e, p := m.b.embedded, &m.p
	m.launch("embed_forward", rowsGrid(d.tokens), e.y, e.xhat, e.inverse, p.word.w, p.position.w, p.segment.w, d.ids, d.positions, d.segments,
		p.embedNorm.gain, p.embedNorm.bias, d.all, m.dropping(m.c.HiddenDropout, dropout.Embeddings, 0), int32(m.c.HiddenSize), float32(m.c.LayerNormEps))
}

// last reports whether layer is the last one and the heads read only selected
// rows. Behind its attention, such a layer is computed for these rows only.
func (m *model) last(d *batch, layer int) bool { return d.selected != 0 && layer == m.c.Layers-1 }

// encodeLayer computes one encoder layer.
func (m *model) encodeLayer(d *batch, i int) {
	p, k := &m.p.blocks[i], m.layer(i)
	m.affine(k.qkv, k.x, d.tokens, p.qkv)
	m.attend("forward", d, i, k.ctx, k.lse, k.qkv)
	rows, ctx, residual := d.all, k.ctx, k.x
	if m.last(d, i) {
		rows, ctx, residual = d.rows, k.selected, m.b.narrow
		m.gather(ctx, k.ctx, d.selected, int(rows.N))
		m.gather(residual, k.x, d.selected, int(rows.N))
	}
	n := int(rows.N)
	m.linear(m.b.o, ctx, n, p.attended)
	m.norm(k.mid, m.b.o, p.attended.b, residual, p.norm1, rows, m.dropping(m.c.HiddenDropout, dropout.AttentionOutput, i))
	m.up(p, k, n, m.choice)
	m.linear(m.b.o, k.g, n, p.down)
	m.norm(k.final, m.b.o, p.down.b, k.mid.y, p.norm2, rows, m.dropping(m.c.HiddenDropout, dropout.FeedForward, i))
}

// output returns the encoder's output (rows, H), which holds only the rows that
// the heads read.
func (m *model) output() device.Pointer { return m.layer(m.c.Layers - 1).final.y }

// gather sets row i of y (n, H) to row index[i] of x.
func (m *model) gather(y, x, index device.Pointer, n int) {
	h := m.c.HiddenSize
	m.each("gather_rows", n*h, y, x, index, int32(n), int32(h))
}

// norm sets y.y to LN(drop(x + bias) + residual), and y.xhat and y.inverse to the
// values that the gradient needs.
func (m *model) norm(y normed, x, bias, residual device.Pointer, p norm, rows kernels.Rows, drop kernels.Dropout) {
	m.launch("norm_forward", rowsGrid(int(rows.N)), y.y, y.xhat, y.inverse, x, bias, residual, p.gain, p.bias, rows, drop,
		int32(m.c.HiddenSize), float32(m.c.LayerNormEps))
}

// up computes the first half of the feed-forward block for n rows: it sets k.u to
// mid.y · W1ᵀ + b and k.g to GELU(k.u). choice is fused or plain.
func (m *model) up(p *block, k kept, n int, choice string) {
	if choice == fused {
		m.geluLinear(k.g, k.u, k.mid.y, n, p.up)
		return
	}
	m.linear(k.u, k.mid.y, n, p.up)
	m.gelu(k.g, k.u, p.up.b, n, m.c.IntermediateSize)
}

// upGrad sets b.du to the gradient of k.u, given b.do, the gradient of g · W2ᵀ.
// choice is fused or plain.
func (m *model) upGrad(p *block, k kept, n int, choice string) {
	if choice == fused {
		m.geluInputGrad(m.b.du, m.b.do, k.u, n, p.down)
		return
	}
	m.inputGrad(m.b.du, m.b.do, n, p.down, 0)
	size := n * m.c.IntermediateSize
	m.each("gelu_backward", size, m.b.du, k.u, int64(size), m.tanh())
}

// gelu adds the bias to u (rows, width) in place and sets g to GELU(u).
func (m *model) gelu(g, u, bias device.Pointer, rows, width int) {
	m.each("gelu_forward", rows*width, g, u, bias, int64(rows*width), int32(width), m.tanh())
}

// tanh returns the kernels' argument for the form of GELU: 1 for the tanh form, 0
// for the exact form.
func (m *model) tanh() int32 {
	if m.c.Activation.Tanh() {
		return 1
	}
	return 0
}

// attend launches the attention kernel for a pass ("forward", "backward", …) of a
// layer: flash_* with tensor cores for 16-bit types, attention_* for fp32. args are
// the kernel's arguments before the batch.
func (m *model) attend(pass string, d *batch, layer int, args ...any) {
	name, rows := "attention_", 4
	if m.element != device.Float32 {
		name, rows = "flash_", 64
	}
	grid := device.Dim{X: blocks(d.longest, rows), Y: m.c.AttentionHeads, Z: d.sequences}
	drop := m.dropping(m.c.AttentionDropout, dropout.Probabilities, layer)
	m.launch(name+pass, grid, append(args, d.attention, drop, float32(1/math.Sqrt(headSize)))...)
}
