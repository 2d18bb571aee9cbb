package cpu

import (
	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// encode computes the encoder's output, final.y of the last layer.
func (m *model[T]) encode(b *trainer.Batch) {
	m.embed(b)
	for i := range m.p.blocks {
		m.layer(b, i)
	}
}

// layer computes one encoder layer.
func (m *model[T]) layer(b *trainer.Batch, i int) {
	p, k, t := &m.p.blocks[i], &m.a.layers[i], b.Tokens()
	m.linear(k.qkv, k.x, t, &p.qkv)
	m.addBias(k.qkv, t, p.qkv.b)
	m.attend(b, i)
	s := m.behindAttention(b, i)
	gather(k.ctx, s, m.c.HiddenSize)
	m.linear(m.a.o, k.ctx, s.n, &p.attended)
	m.addNorm(b, s, m.a.o, addend[T]{p.attended.b, k.x, s, dropout.At(dropout.AttentionOutput, i)}, &p.norm1, &k.mid)
	m.linear(k.u, k.mid.y, s.n, &p.up)
	m.activate(m.a.g, k.u, s.n, p.up.b)
	m.linear(m.a.o, m.a.g, s.n, &p.down)
	m.addNorm(b, s, m.a.o, addend[T]{p.down.b, k.mid.y, rowset{}, dropout.At(dropout.FeedForward, i)}, &p.norm2, &k.final)
}

// output returns the encoder's output: the selected rows (a.selected), H wide.
func (m *model[T]) output() []T { return m.a.layers[len(m.a.layers)-1].final.y }

// linear sets y (rows, out) to x·Wᵀ, without the bias; x is (rows, in).
func (m *model[T]) linear(y, x []T, rows int, d *dense[T]) {
	m.gemm.Mul(rows, d.out, d.in, kernel.Rows(x, d.in), kernel.Rows(d.w, d.in).T(), y, d.out, false)
}

// linearGrad adds the gradient of W. If dx is not nil, it also sets dx to the
// gradient of x, or adds it if add is set.
func (m *model[T]) linearGrad(dy, x []T, rows int, d *dense[T], dx []T, add bool) {
	m.gemm.Mul(d.out, d.in, rows, kernel.Rows(dy, d.out).T(), kernel.Rows(x, d.in), d.dw, d.in, true)
	m.gemm.Mul(rows, d.in, d.out, kernel.Rows(dy, d.out), kernel.Rows(d.w, d.in), dx, d.in, add)
}

// backward propagates a.dy, the gradient of the encoder's output, to the
// embeddings.
func (m *model[T]) backward(b *trainer.Batch) {
	for i := len(m.p.blocks) - 1; i >= 0; i-- {
		m.layerGrad(b, i)
		m.complete(i + 1)
	}
	m.embedGrad(b)
	m.complete(0)
}

// layerGrad replaces a.dy, the gradient of a layer's output, by the gradient of
// its input.
func (m *model[T]) layerGrad(b *trainer.Batch, i int) {
	p, k, a, t := &m.p.blocks[i], &m.a.layers[i], &m.a, b.Tokens()
	s, h := m.behindAttention(b, i), m.c.HiddenSize

	// Feed-forward block. dz is the gradient of the LayerNorm's input, and also
	// of the residual.
	m.normGrad(a.dz, a.dy, s.n, &p.norm2, &k.final)
	m.dropGrad(b, s, a.do, a.dz, dropout.At(dropout.FeedForward, i))
	m.biasGrad(p.down.db, a.do, s.n)
	m.activateAgain(a.g, k.u, s.n)
	m.linearGrad(a.do, a.g, s.n, &p.down, a.du, false)
	m.activateGrad(a.du, k.u, s.n)
	m.biasGrad(p.up.db, a.du, s.n)
	m.linearGrad(a.du, k.mid.y, s.n, &p.up, a.dz, true)

	// Attention block.
	m.normGrad(a.dy, a.dz, s.n, &p.norm1, &k.mid)
	m.dropGrad(b, s, a.do, a.dy, dropout.At(dropout.AttentionOutput, i))
	m.biasGrad(p.attended.db, a.do, s.n)
	m.linearGrad(a.do, k.ctx, s.n, &p.attended, a.dz, false)
	spread(a.dz, s, t, h)
	spread(a.dy, s, t, h)
	m.attendGrad(b, i)
	m.biasGrad(p.qkv.db, a.dqkv, t)
	m.linearGrad(a.dqkv, k.x, t, &p.qkv, a.dy, true)
}
