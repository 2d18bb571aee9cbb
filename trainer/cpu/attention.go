package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// A head is one attention head of one sequence: the unit of work of a thread.
type head[T kernel.Float] struct {
	number   int
	position int64 // global position of the sequence
	first    int   // row of the sequence's first token
	n, keys  int   // number of tokens, and of those that are attended to
	size     int   // head size
	scale    T     // 1/√size
	q, k, v  []T   // from the sequence's first row; rows of 3H elements
}

// eachHead calls f for every head of every sequence, in parallel.
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
			number: number, position: b.Sequence[s], first: first, n: n, keys: keys, size: d,
			scale: T(1 / math.Sqrt(float64(d))), q: qkv[at:], k: qkv[at+width:], v: qkv[at+2*width:],
		})
	})
}

// attentionRows is the number of query rows whose scores are in memory at once:
// a multiple of 16, as dropout requires.
const attentionRows = 256

// A rowBlock is a range of query rows of a head.
type rowBlock[T kernel.Float] struct {
	first, n int // rows within the sequence
	p, dp    []T // (n, keys) working memory
}

// eachBlock calls f for the row blocks of a head, in order.
func (m *model[T]) eachBlock(worker int, h head[T], f func(b rowBlock[T])) {
	s := &m.a.score[worker]
	most := min(attentionRows, h.n) * h.keys
	s.p, s.dp = grow(s.p, most), grow(s.dp, most)
	for first := 0; first < h.n; first += attentionRows {
		n := min(attentionRows, h.n-first)
		f(rowBlock[T]{first, n, s.p[:n*h.keys], s.dp[:n*h.keys]})
	}
}

// row returns row r of a block's matrix.
func (h head[T]) row(x []T, r int) []T { return x[r*h.keys : (r+1)*h.keys] }

// dropScores applies dropout to the probabilities of a block.
func (m *model[T]) dropScores(x []T, h head[T], b rowBlock[T], layer int) {
	s := dropout.Scores[T]{Values: x, First: b.first, Rows: b.n, Keys: h.keys, Stride: h.keys, Head: h.number}
	dropout.Attention(m.attention, s, h.position, dropout.At(dropout.Probabilities, layer))
}

// scores sets p to q·kᵀ of a block, unscaled.
func (m *model[T]) scores(gemm *kernel.Gemm[T], h head[T], b rowBlock[T]) {
	stride := 3 * m.c.HiddenSize
	gemm.Mul(b.n, h.keys, h.size, kernel.Rows(h.q[b.first*stride:], stride), kernel.Rows(h.k, stride).T(), b.p, h.keys, false)
}

// attend computes ctx and lse of a layer.
func (m *model[T]) attend(b *trainer.Batch, layer int) {
	width, k := m.c.HiddenSize, &m.a.layers[layer]
	m.eachHead(b, layer, func(worker int, h head[T]) {
		gemm := m.solo[worker]
		ctx, lse := k.ctx[h.first*width+h.number*h.size:], k.lse[h.number*m.o.Tokens+h.first:]
		m.eachBlock(worker, h, func(b rowBlock[T]) {
			m.scores(gemm, h, b)
			for r := range b.n {
				lse[b.first+r] = m.softmax(h.row(b.p, r), h.scale)
			}
			m.dropScores(b.p, h, b, layer)
			gemm.Mul(b.n, h.size, h.keys, kernel.Rows(b.p, h.keys), kernel.Rows(h.v, 3*width), ctx[b.first*width:], width, false)
		})
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

// attendGrad sets a.dqkv from a.dz, the gradient of ctx. P is the softmax, D is
// P after dropout, and delta = Σ dP·P over a row:
//
//	dv = Dᵀ·dctx; dD = dctx·vᵀ; dP = drop(dD); dS = P·(dP − delta)·scale; dq = dS·k; dk = dSᵀ·q
func (m *model[T]) attendGrad(b *trainer.Batch, layer int) {
	width := m.c.HiddenSize
	m.eachHead(b, layer, func(worker int, h head[T]) {
		at := h.first*3*width + h.number*h.size
		d := qkv[T]{m.a.dqkv[at:], m.a.dqkv[at+width:], m.a.dqkv[at+2*width:]}
		m.eachBlock(worker, h, func(b rowBlock[T]) { m.attendBlockGrad(m.solo[worker], h, b, d, layer) })
		for r := h.keys; r < h.n; r++ { // tokens that are not attended to
			clear(d.k[r*3*width : r*3*width+h.size])
			clear(d.v[r*3*width : r*3*width+h.size])
		}
	})
}

// qkv are the gradients of a head, from the sequence's first row.
type qkv[T kernel.Float] struct{ q, k, v []T }

// attendBlockGrad sets the rows of d.q in a block and adds the block's part of
// d.k and d.v. The first block sets these instead.
func (m *model[T]) attendBlockGrad(gemm *kernel.Gemm[T], h head[T], b rowBlock[T], d qkv[T], layer int) {
	width, stride, more := m.c.HiddenSize, 3*m.c.HiddenSize, b.first > 0
	q, k, v := kernel.Rows(h.q[b.first*stride:], stride), kernel.Rows(h.k, stride), kernel.Rows(h.v, stride)
	dctx := kernel.Rows(m.a.dz[(h.first+b.first)*width+h.number*h.size:], width)
	p, dp := b.p, kernel.Rows(b.dp, h.keys)

	m.probabilities(gemm, h, b, layer)
	copy(b.dp, p)
	m.dropScores(b.dp, h, b, layer)
	gemm.Mul(h.keys, h.size, b.n, dp.T(), dctx, d.v, stride, more)
	gemm.Mul(b.n, h.keys, h.size, dctx, v.T(), b.dp, h.keys, false)
	m.dropScores(b.dp, h, b, layer)
	for r := range b.n {
		m.set.SoftmaxGrad(h.row(b.dp, r), h.row(p, r), h.scale)
	}
	gemm.Mul(b.n, h.size, h.keys, dp, k, d.q[b.first*stride:], stride, false)
	gemm.Mul(h.keys, h.size, b.n, dp.T(), q, d.k, stride, more)
}

// probabilities recomputes the softmax of a block.
func (m *model[T]) probabilities(gemm *kernel.Gemm[T], h head[T], b rowBlock[T], layer int) {
	m.scores(gemm, h, b)
	lse := m.a.layers[layer].lse[h.number*m.o.Tokens+h.first+b.first:]
	for r := range b.n {
		row := h.row(b.p, r)
		m.set.Scale(row, h.scale)
		m.set.ExpSum(row, lse[r])
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
