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
	n, keys  int   // number of tokens; number of the first tokens that are attended to
	size     int   // head size
	scale    T     // 1/√size
	q, k, v  []T   // from the sequence's first row; rows of 3H elements
}

// scores holds the attention matrices of one thread. They grow to the longest sequence so
// far.
type scores[T kernel.Float] struct{ p, dp []T }

// eachHead calls f for every head of every sequence, in parallel.
func (e *encoder[T]) eachHead(b *trainer.Batch, layer int, f func(worker int, h head[T])) {
	heads, width, d := e.config.AttentionHeads, e.config.HiddenSize, e.config.HeadSize()
	qkv := e.layers[layer].qkv
	e.pool.Do(b.Sequences()*heads, func(worker, i int) {
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

// attentionRows is the number of query rows whose scores are in memory at the same time. It
// is a multiple of 16, as dropout requires.
const attentionRows = 256

// A rowBlock is a range of query rows of a head.
type rowBlock[T kernel.Float] struct {
	first, n int // rows within the sequence
	p, dp    []T // (n, keys) working memory
}

// eachBlock calls f for the row blocks of a head, in order.
func (e *encoder[T]) eachBlock(worker int, h head[T], f func(b rowBlock[T])) {
	s := &e.score[worker]
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
func (e *encoder[T]) dropScores(x []T, h head[T], b rowBlock[T], layer int) {
	s := dropout.Scores[T]{Values: x, First: b.first, Rows: b.n, Keys: h.keys, Stride: h.keys, Head: h.number}
	dropout.Attention(e.attention, s, h.position, dropout.At(dropout.Probabilities, layer))
}

// scores computes b.p = q·kᵀ for a block, without the scale.
func (e *encoder[T]) scores(gemm *kernel.Gemm[T], h head[T], b rowBlock[T]) {
	stride := 3 * e.config.HiddenSize
	gemm.Mul(b.n, h.keys, h.size, kernel.Rows(h.q[b.first*stride:], stride), kernel.Rows(h.k, stride).T(), b.p, h.keys, false)
}

// attend computes the attention of a layer: its output ctx, and lse for the backward pass.
func (e *encoder[T]) attend(b *trainer.Batch, layer int) {
	width, k := e.config.HiddenSize, &e.layers[layer]
	e.eachHead(b, layer, func(worker int, h head[T]) {
		gemm := e.solo[worker]
		ctx, lse := k.ctx[h.first*width+h.number*h.size:], k.lse[h.number*e.o.Tokens+h.first:]
		e.eachBlock(worker, h, func(b rowBlock[T]) {
			e.scores(gemm, h, b)
			for r := range b.n {
				lse[b.first+r] = e.softmax(h.row(b.p, r), h.scale)
			}
			e.dropScores(b.p, h, b, layer)
			gemm.Mul(b.n, h.size, h.keys, kernel.Rows(b.p, h.keys), kernel.Rows(h.v, 3*width), ctx[b.first*width:], width, false)
		})
	})
}

// attendGrad computes d.qkv, the gradient of qkv, from d.z, the gradient of ctx. P is the
// softmax, D is P after dropout, and delta = Σ dP·P over a row:
//
//	dv = Dᵀ·dctx; dD = dctx·vᵀ; dP = drop(dD); dS = P·(dP − delta)·scale; dq = dS·k; dk = dSᵀ·q
func (e *encoder[T]) attendGrad(b *trainer.Batch, layer int) {
	width := e.config.HiddenSize
	e.eachHead(b, layer, func(worker int, h head[T]) {
		at := h.first*3*width + h.number*h.size
		d := qkv[T]{e.d.qkv[at:], e.d.qkv[at+width:], e.d.qkv[at+2*width:]}
		e.eachBlock(worker, h, func(b rowBlock[T]) { e.attendBlockGrad(e.solo[worker], h, b, d, layer) })
		for r := h.keys; r < h.n; r++ { // tokens that are not attended to
			clear(d.k[r*3*width : r*3*width+h.size])
			clear(d.v[r*3*width : r*3*width+h.size])
		}
	})
}

// qkv has the gradients of a head's q, k and v, from the sequence's first row.
type qkv[T kernel.Float] struct{ q, k, v []T }

// attendBlockGrad computes the block's rows of d.q, and adds the block's contribution to d.k
// and d.v. The first block overwrites d.k and d.v instead of adding.
func (e *encoder[T]) attendBlockGrad(gemm *kernel.Gemm[T], h head[T], b rowBlock[T], d qkv[T], layer int) {
	width, stride, more := e.config.HiddenSize, 3*e.config.HiddenSize, b.first > 0
	q, k, v := kernel.Rows(h.q[b.first*stride:], stride), kernel.Rows(h.k, stride), kernel.Rows(h.v, stride)
	dctx := kernel.Rows(e.d.z[(h.first+b.first)*width+h.number*h.size:], width)
	p, dp := b.p, kernel.Rows(b.dp, h.keys)

	e.scores(gemm, h, b) // recompute the softmax from the stored lse
	lse := e.layers[layer].lse[h.number*e.o.Tokens+h.first+b.first:]
	for r := range b.n {
		row := h.row(p, r)
		e.set.Scale(row, h.scale)
		e.set.ExpSum(row, lse[r])
	}
	copy(b.dp, p)
	e.dropScores(b.dp, h, b, layer)
	gemm.Mul(h.keys, h.size, b.n, dp.T(), dctx, d.v, stride, more)
	gemm.Mul(b.n, h.keys, h.size, dctx, v.T(), b.dp, h.keys, false)
	e.dropScores(b.dp, h, b, layer)
	for r := range b.n {
		e.set.SoftmaxGrad(h.row(b.dp, r), h.row(p, r), h.scale)
	}
	gemm.Mul(b.n, h.size, h.keys, dp, k, d.q[b.first*stride:], stride, false)
	gemm.Mul(h.keys, h.size, b.n, dp.T(), q, d.k, stride, more)
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
