package cpu

import (
	"math"
	"slices"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// A head is one attention head of one sequence: the unit of work of a thread.
type head[T kernel.Float] struct {
	number   int
	position int64   // global position of the sequence
	first    int     // row of the sequence's first token
	n, keys  int     // number of tokens; number of the first tokens that are attended to
	size     int     // head size
	reach    int     // how far a token attends to either side; -1: to all keys
	scale    T       // 1/√size
	q, k, v  []T     // from the sequence's first row; rows of 3H elements
	rows     []int32 // query rows within the sequence whose output is read; nil: all
}

// scores holds the attention matrices of one thread. They grow to the longest sequence so
// far.
type scores[T kernel.Float] struct {
	p, d, dp []T
	some     []T // rows of q, ctx and their gradients, where not all rows count
}

// queries returns the query rows of a layer's attention whose output is read.
func (e *encoder[T]) queries(b *trainer.Batch, layer int) rowset {
	if e.lower != nil { // as trainer/cuda, which computes every row
		return rowset{n: b.Tokens()}
	}
	return e.behindAttention(b, layer)
}

// eachHead calls f for every head of every sequence, in parallel.
func (e *encoder[T]) eachHead(b *trainer.Batch, layer int, f func(worker int, h head[T])) {
	heads, width, d := e.config.AttentionHeads, e.config.HiddenSize, e.config.HeadSize()
	qkv, rows := e.layers[layer].qkv, e.queries(b, layer)
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
			rows: e.within(rows, first, n),
		})
	})
}

// within returns the rows of s that are in a sequence of n rows from row first, as rows of the
// sequence; nil for all.
func (e *encoder[T]) within(s rowset, first, n int) []int32 {
	if s.rows == nil {
		return nil
	}
	lo, _ := slices.BinarySearch(s.rows, int32(first))
	hi, _ := slices.BinarySearch(s.rows, int32(first+n))
	return e.place[lo:hi]
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
	first, n   int     // first row within the sequence; number of rows
	rows       []int32 // the rows within the sequence; nil: first, first+1, …
	from, keys int     // keys within the sequence; from is a multiple of 32, as dropout requires
	p, d, dp   []T     // (n, keys) working memory
	some       []T     // (3n, head size) working memory, if rows is set
}

// eachBlock calls f for the row blocks of a head, in order.
func (e *encoder[T]) eachBlock(worker int, h head[T], f func(b rowBlock[T])) {
	s, rows, most := &e.score[worker], attentionRows, h.keys
	if h.reach >= 0 {
		rows, most = bandRows, min(h.keys, bandRows+2*min(h.reach, h.keys)+31)
	}
	count := min(rows, h.n)
	s.p, s.d, s.dp = grow(s.p, count*most), grow(s.d, count*most), grow(s.dp, count*most)
	if h.rows != nil {
		s.some = grow(s.some, 3*count*h.size)
	}
	for first := 0; first < h.n; first += rows {
		b := rowBlock[T]{first: first, n: min(rows, h.n-first), keys: h.keys}
		if h.reach >= 0 {
			b.from = max(0, first-h.reach) &^ 31
			b.keys = min(h.keys, first+b.n+h.reach) - b.from
		}
		if h.rows != nil {
			lo, _ := slices.BinarySearch(h.rows, int32(first))
			hi, _ := slices.BinarySearch(h.rows, int32(first+b.n))
			b.rows, b.n, b.some = h.rows[lo:hi], hi-lo, s.some
		}
		b.p, b.d, b.dp = s.p[:b.n*b.keys], s.d[:b.n*b.keys], s.dp[:b.n*b.keys]
		if b.n > 0 {
			f(b)
		}
	}
}

// query returns the row within the sequence of row r of a block's matrices.
func (b rowBlock[T]) query(r int) int {
	if b.rows == nil {
		return b.first + r
	}
	return int(b.rows[r])
}

// gather returns the block's rows of x, which has rows of the given width from the sequence's
// first row on, stride elements apart. If not all rows count, it copies them to memory.
func (b rowBlock[T]) gather(x []T, stride, width int, memory []T) kernel.Matrix[T] {
	if b.rows == nil {
		return kernel.Rows(x[b.first*stride:], stride)
	}
	for r, row := range b.rows {
		copy(memory[r*width:(r+1)*width], x[int(row)*stride:])
	}
	return kernel.Rows(memory, width)
}

// product computes the block's rows of x, a matrix as in gather: those of c·d, which has k
// rows.
func (b rowBlock[T]) product(gemm *kernel.Gemm[T], x []T, stride, width int, c, d kernel.Matrix[T], memory []T) {
	if b.rows == nil {
		gemm.Mul(b.n, width, b.keys, c, d, x[b.first*stride:], stride, false)
		return
	}
	gemm.Mul(b.n, width, b.keys, c, d, memory, width, false)
	for r, row := range b.rows {
		copy(x[int(row)*stride:], memory[r*width:(r+1)*width])
	}
}

// row returns row r of a block's matrix, and the part of it with the keys that the row's
// token attends to.
func (b rowBlock[T]) row(x []T, r, reach int) (row, own []T) {
	row = x[r*b.keys : (r+1)*b.keys]
	if reach < 0 {
		return row, row
	}
	at := b.query(r) - b.from
	return row, row[max(0, at-reach):min(b.keys, at+reach+1)]
}

// clearBeside sets the elements of row to zero that are not in own, a part of it.
func clearBeside[T kernel.Float](row, own []T) {
	if before := cap(row) - cap(own); len(own) < len(row) {
		clear(row[:before])
		clear(row[before+len(own):])
	}
}

// dropScores applies dropout to the probabilities of a block, and also to more, which may be
// nil.
func (e *encoder[T]) dropScores(x, more []T, h head[T], b rowBlock[T], layer int) {
	s := dropout.Scores[T]{Values: x, More: more, First: b.first, Index: b.rows, FirstKey: b.from, Rows: b.n, Keys: b.keys, Stride: b.keys, Head: h.number}
	dropout.Attention(e.attention, s, h.position, dropout.At(dropout.Probabilities, layer))
}

// scores computes b.p = q·kᵀ for a block, without the scale.
func (e *encoder[T]) scores(gemm *kernel.Gemm[T], h head[T], b rowBlock[T]) {
	stride := 3 * e.config.HiddenSize
	q := b.gather(h.q, stride, h.size, b.some)
	gemm.Mul(b.n, b.keys, h.size, q, kernel.Rows(h.k[b.from*stride:], stride).T(), b.p, b.keys, false)
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
					lse[b.query(r)] = e.softmax(own, h.scale)
					clearBeside(row, own)
				}
			}
			if e.lower != nil {
				round(b.p)
			}
			e.dropScores(b.p, nil, h, b, layer)
			b.product(gemm, ctx, width, h.size, kernel.Rows(b.p, b.keys), kernel.Rows(h.v[b.from*3*width:], 3*width), b.some)
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
		if !h.overwrites() {
			first = 0
		}
		for r := 0; r < h.n && h.rows != nil; r++ {
			clear(d.q[r*3*width : r*3*width+h.size])
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

// overwrites reports whether the first block reaches all keys, and so may overwrite the
// gradients of k and v to which later blocks add.
func (h head[T]) overwrites() bool { return h.reach < 0 && h.rows == nil }

// attendBlockGrad computes the block's rows of d.q, and adds the block's contribution to d.k
// and d.v. It overwrites d.k and d.v in the first block of a head that does so.
func (e *encoder[T]) attendBlockGrad(gemm *kernel.Gemm[T], h head[T], b rowBlock[T], d qkv[T], layer int) {
	width, stride, more := e.config.HiddenSize, 3*e.config.HiddenSize, b.first > 0 || !h.overwrites()
	q, k, v := b.gather(h.q, stride, h.size, b.some), kernel.Rows(h.k[b.from*stride:], stride), kernel.Rows(h.v[b.from*stride:], stride)
	part := len(b.some) / 3
	dctx := b.gather(e.d.z[h.first*width+h.number*h.size:], width, h.size, b.some[part:])
	p, dp, dk, dv := b.p, kernel.Rows(b.dp, b.keys), d.k[b.from*stride:], d.v[b.from*stride:]

	e.scores(gemm, h, b) // recompute the softmax from the stored lse
	lse := e.layers[layer].lse[h.number*e.o.Tokens+h.first:]
	for r := range b.n {
		row, own := b.row(p, r, h.reach)
		e.set.Scale(own, h.scale)
		e.set.ExpSum(own, lse[b.query(r)])
		clearBeside(row, own)
	}
	copy(b.d, p)
	if e.lower != nil {
		round(b.d)
	}
	gemm.Mul(b.n, b.keys, h.size, dctx, v.T(), b.dp, b.keys, false)
	e.dropScores(b.d, b.dp, h, b, layer)
	gemm.Mul(b.keys, h.size, b.n, kernel.Rows(b.d, b.keys).T(), dctx, dv, stride, more)
	if e.lower != nil {
		at := h.first*width + h.number*h.size
		e.scoresGrad(h, b, e.layers[layer].ctx[at:], e.d.z[at:])
		round(b.dp)
	} else {
		for r := range b.n {
			e.set.SoftmaxGrad(b.dp[r*b.keys:(r+1)*b.keys], p[r*b.keys:(r+1)*b.keys], h.scale)
		}
	}
	b.product(gemm, d.q, stride, h.size, dp, k, b.some[2*part:])
	gemm.Mul(b.keys, h.size, b.n, dp.T(), q, dk, stride, more)
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
