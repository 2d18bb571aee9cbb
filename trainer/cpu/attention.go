package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// A head is one attention head of one sequence: what a thread works on.
type head[T kernel.Float] struct {
	number, sequence int
	position         int64 // global, of the sequence
	first            int   // row of the sequence's first token
	n, keys          int   // tokens, and how many of them are attended to
	size             int   // width of the head
	scale            T     // 1/√size
	q, k, v          []T   // from the sequence's first row; rows of 3H elements
}

// eachHead calls f for every head of every sequence, on all threads.
func (m *model[T]) eachHead(b *trainer.Batch, layer int, f func(worker int, h head[T])) {
	heads, width, d := m.c.AttentionHeads, m.c.HiddenSize, m.c.HeadSize()
	qkv := m.a.layers[layer].qkv
	m.pool.Do(b.Sequences()*heads, func(worker, i int) {
		s, number := i/heads, i%heads
		first := int(b.CuSeqlens[s])
		n := int(b.CuSeqlens[s+1]) - first
		keys := n
		if len(b.VisibleKeys) > 0 {
			keys = int(b.VisibleKeys[s])
		}
		at := first*3*width + number*d
		f(worker, head[T]{
			number: number, sequence: s, position: b.Sequence[s], first: first, n: n, keys: keys, size: d,
			scale: T(1 / math.Sqrt(float64(d))), q: qkv[at:], k: qkv[at+width:], v: qkv[at+2*width:],
		})
	})
}

// attend computes ctx and lse of a layer.
func (m *model[T]) attend(b *trainer.Batch, layer int) {
	width, k := m.c.HiddenSize, &m.a.layers[layer]
	m.eachHead(b, layer, func(worker int, h head[T]) {
		gemm, s := m.solo[worker], &m.a.score[worker]
		s.p = grow(s.p, h.n*h.keys)
		gemm.Mul(h.n, h.keys, h.size, kernel.Rows(h.q, 3*width), kernel.Rows(h.k, 3*width).T(), s.p, h.keys, false)
		for r := range h.n {
			k.lse[h.number*m.o.Tokens+h.first+r] = m.softmax(s.p[r*h.keys:(r+1)*h.keys], h.scale)
		}
		dropout.Attention(m.attention, s.p, h.n, h.keys, h.keys, h.position, dropout.At(dropout.Probabilities, layer), h.number)
		gemm.Mul(h.n, h.size, h.keys, kernel.Rows(s.p, h.keys), kernel.Rows(h.v, 3*width), k.ctx[h.first*width+h.number*h.size:], width, false)
	})
}

// softmax replaces x by softmax(x·scale) and returns the logarithm of the sum
// of the exponentials.
func (m *model[T]) softmax(x []T, scale T) T {
	m.set.Scale(x, scale)
	top := m.set.Max(x)
	sum := m.set.ExpSum(x, top)
	m.set.Scale(x, 1/sum)
	return top + T(math.Log(float64(sum)))
}

// attendGrad sets a.dqkv from a.dz, the gradient of ctx. With P the softmax, D
// the dropped P and delta = Σ dP·P over a row:
//
//	dv = Dᵀ·dctx; dD = dctx·vᵀ; dP = drop(dD); dS = P·(dP − delta)·scale; dq = dS·k; dk = dSᵀ·q
func (m *model[T]) attendGrad(b *trainer.Batch, layer int) {
	width := m.c.HiddenSize
	m.eachHead(b, layer, func(worker int, h head[T]) {
		gemm, s := m.solo[worker], &m.a.score[worker]
		s.p, s.dp = grow(s.p, h.n*h.keys), grow(s.dp, h.n*h.keys)
		site := dropout.At(dropout.Probabilities, layer)
		q, k, v := kernel.Rows(h.q, 3*width), kernel.Rows(h.k, 3*width), kernel.Rows(h.v, 3*width)
		dctx := kernel.Rows(m.a.dz[h.first*width+h.number*h.size:], width)
		at := h.first*3*width + h.number*h.size
		dq, dk, dv := m.a.dqkv[at:], m.a.dqkv[at+width:], m.a.dqkv[at+2*width:]

		m.probabilities(gemm, s.p, h, layer)
		copy(s.dp, s.p)
		dropout.Attention(m.attention, s.dp, h.n, h.keys, h.keys, h.position, site, h.number)
		gemm.Mul(h.keys, h.size, h.n, kernel.Rows(s.dp, h.keys).T(), dctx, dv, 3*width, false)
		gemm.Mul(h.n, h.keys, h.size, dctx, v.T(), s.dp, h.keys, false)
		dropout.Attention(m.attention, s.dp, h.n, h.keys, h.keys, h.position, site, h.number)
		for r := range h.n {
			softmaxGrad(s.dp[r*h.keys:(r+1)*h.keys], s.p[r*h.keys:(r+1)*h.keys], h.scale)
		}
		gemm.Mul(h.n, h.size, h.keys, kernel.Rows(s.dp, h.keys), k, dq, 3*width, false)
		gemm.Mul(h.keys, h.size, h.n, kernel.Rows(s.dp, h.keys).T(), q, dk, 3*width, false)
		for r := h.keys; r < h.n; r++ { // tokens nobody attends to
			clear(dk[r*3*width : r*3*width+h.size])
			clear(dv[r*3*width : r*3*width+h.size])
		}
	})
}

// probabilities computes the softmax of a head again.
func (m *model[T]) probabilities(gemm *kernel.Gemm[T], p []T, h head[T], layer int) {
	width := m.c.HiddenSize
	gemm.Mul(h.n, h.keys, h.size, kernel.Rows(h.q, 3*width), kernel.Rows(h.k, 3*width).T(), p, h.keys, false)
	lse := m.a.layers[layer].lse[h.number*m.o.Tokens+h.first:]
	for r := range h.n {
		row := p[r*h.keys : (r+1)*h.keys]
		m.set.Scale(row, h.scale)
		m.set.ExpSum(row, lse[r])
	}
}

// softmaxGrad turns dp, the gradient of the probabilities p, into that of the
// scores before they were scaled.
func softmaxGrad[T kernel.Float](dp, p []T, scale T) {
	p = p[:len(dp)]
	var delta T
	for i, d := range dp {
		delta += d * p[i]
	}
	for i, d := range dp {
		dp[i] = p[i] * (d - delta) * scale
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
