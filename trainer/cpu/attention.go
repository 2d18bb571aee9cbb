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
	reach    int   // how far a token attends to either side; -1: to all keys
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
		reach := e.config.Reach(layer)
		if reach >= n-1 { // the window holds every token
			reach = -1
		}
		at := first*3*width + number*d
		f(worker, head[T]{
			number: number, position: b.Sequence[s], first: first, n: n, keys: keys, size: d, reach: reach,
			scale: T(1 / math.Sqrt(float64(d))), q: qkv[at:], k: qkv[at+width:], v: qkv[at+2*width:],
		})
	})
}

// attentionRows is the number of query rows whose scores are in memory at the same time. It
// is a multiple of 16, as dropout requires. bandRows is that of a local layer: the fewer, the
// fewer scores outside the window are computed.
const (
	attentionRows = 256
	bandRows      = 64
)

// A rowBlock is a range of query rows of a head, and of the keys that they attend to.
type rowBlock[T kernel.Float] struct {
	first, n   int // rows within the sequence
	from, keys int // keys within the sequence; from is a multiple of 32, as dropout requires
	p, dp      []T // (n, keys) working memory
}

// eachBlock calls f for the row blocks of a head, in order.
func (e *encoder[T]) eachBlock(worker int, h head[T], f func(b rowBlock[T])) {
	s, rows, most := &e.score[worker], attentionRows, h.keys
	if h.reach >= 0 {
		rows, most = bandRows, min(h.keys, bandRows+2*min(h.reach, h.keys)+31)
	}
	s.p, s.dp = grow(s.p, min(rows, h.n)*most), grow(s.dp, min(rows, h.n)*most)
	for first := 0; first < h.n; first += rows {
		b := rowBlock[T]{first: first, n: min(rows, h.n-first), keys: h.keys}
		if h.reach >= 0 {
			b.from = max(0, first-h.reach) &^ 31
			b.keys = min(h.keys, first+b.n+h.reach) - b.from
		}
		b.p, b.dp = s.p[:b.n*b.keys], s.dp[:b.n*b.keys]
		f(b)
	}
}

// row returns row r of a block's matrix, and the part of it with the keys that the row's
// token attends to.
func (b rowBlock[T]) row(x []T, r, reach int) (row, own []T) {
	row = x[r*b.keys : (r+1)*b.keys]
	if reach < 0 {
		return row, row
	}
	at := b.first + r - b.from
	return row, row[max(0, at-reach):min(b.keys, at+reach+1)]
}

// clearBeside sets the elements of row to zero that are not in own, a part of it.
func clearBeside[T kernel.Float](row, own []T) {
	if before := cap(row) - cap(own); len(own) < len(row) {
		clear(row[:before])
		clear(row[before+len(own):])
	}
}

// dropScores applies dropout to the probabilities of a block.
func (e *encoder[T]) dropScores(x []T, h head[T], b rowBlock[T], layer int) {
	s := dropout.Scores[T]{Values: x, First: b.first, FirstKey: b.from, Rows: b.n, Keys: b.keys, Stride: b.keys, Head: h.number}
	dropout.Attention(e.attention, s, h.position, dropout.At(dropout.Probabilities, layer))
}

// scores computes b.p = q·kᵀ for a block, without the scale.
func (e *encoder[T]) scores(gemm *kernel.Gemm[T], h head[T], b rowBlock[T]) {
	stride := 3 * e.config.HiddenSize
	gemm.Mul(b.n, b.keys, h.size, kernel.Rows(h.q[b.first*stride:], stride), kernel.Rows(h.k[b.from*stride:], stride).T(), b.p, b.keys, false)
}

// attend computes the attention of a layer: its output ctx, and lse for the backward pass.
func (e *encoder[T]) attend(b *trainer.Batch, layer int) {
	width, k := e.config.HiddenSize, &e.layers[layer]
	e.eachHead(b, layer, func(worker int, h head[T]) {
		gemm := e.solo[worker]
		ctx, lse := k.ctx[h.first*width+h.number*h.size:], k.lse[h.number*e.o.Tokens+h.first:]
		e.eachBlock(worker, h, func(b rowBlock[T]) {
			e.scores(gemm, h, b)
			var sums []T
			if e.lower != nil {
				sums = e.weigh(h, b, lse)
			} else {
				for r := range b.n {
					row, own := b.row(b.p, r, h.reach)
					lse[b.first+r] = e.softmax(own, h.scale)
					clearBeside(row, own)
				}
			}
			if e.lower != nil {
				round(b.p)
			}
			e.dropScores(b.p, h, b, layer)
			gemm.Mul(b.n, h.size, b.keys, kernel.Rows(b.p, b.keys), kernel.Rows(h.v[b.from*3*width:], 3*width), ctx[b.first*width:], width, false)
			for r, sum := range sums {
				row := ctx[(b.first+r)*width : (b.first+r)*width+h.size]
				e.set.Scale(row, 1/sum)
				round(row)
			}
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
		first := h.keys // the first token whose k and v no block overwrites: it is not attended to, or blocks add to it
		if h.reach >= 0 {
			first = 0
		}
		for r := first; r < h.n; r++ {
			clear(d.k[r*3*width : r*3*width+h.size])
			clear(d.v[r*3*width : r*3*width+h.size])
		}
		e.eachBlock(worker, h, func(b rowBlock[T]) { e.attendBlockGrad(e.solo[worker], h, b, d, layer) })
	})
}

// qkv has the gradients of a head's q, k and v, from the sequence's first row.
type qkv[T kernel.Float] struct{ q, k, v []T }

// attendBlockGrad computes the block's rows of d.q, and adds the block's contribution to d.k
// and d.v. Without a window, the first block overwrites d.k and d.v instead of adding.
func (e *encoder[T]) attendBlockGrad(gemm *kernel.Gemm[T], h head[T], b rowBlock[T], d qkv[T], layer int) {
	width, stride, more := e.config.HiddenSize, 3*e.config.HiddenSize, b.first > 0 || h.reach >= 0
	q, k, v := kernel.Rows(h.q[b.first*stride:], stride), kernel.Rows(h.k[b.from*stride:], stride), kernel.Rows(h.v[b.from*stride:], stride)
	dctx := kernel.Rows(e.d.z[(h.first+b.first)*width+h.number*h.size:], width)
	p, dp, dk, dv := b.p, kernel.Rows(b.dp, b.keys), d.k[b.from*stride:], d.v[b.from*stride:]

	e.scores(gemm, h, b) // recompute the softmax from the stored lse
	lse := e.layers[layer].lse[h.number*e.o.Tokens+h.first+b.first:]
	for r := range b.n {
		row, own := b.row(p, r, h.reach)
		e.set.Scale(own, h.scale)
		e.set.ExpSum(own, lse[r])
		clearBeside(row, own)
	}
	copy(b.dp, p)
	if e.lower != nil {
		round(b.dp)
	}
	e.dropScores(b.dp, h, b, layer)
	gemm.Mul(b.keys, h.size, b.n, dp.T(), dctx, dv, stride, more)
	gemm.Mul(b.n, b.keys, h.size, dctx, v.T(), b.dp, b.keys, false)
	e.dropScores(b.dp, h, b, layer)
	if e.lower != nil {
		at := h.first*width + h.number*h.size
		e.scoresGrad(h, b, e.layers[layer].ctx[at:], e.d.z[at:])
		round(b.dp)
	} else {
		for r := range b.n {
			e.set.SoftmaxGrad(b.dp[r*b.keys:(r+1)*b.keys], p[r*b.keys:(r+1)*b.keys], h.scale)
		}
	}
	gemm.Mul(b.n, h.size, b.keys, dp, k, d.q[b.first*stride:], stride, false)
	gemm.Mul(b.keys, h.size, b.n, dp.T(), q, dk, stride, more)
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
