package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// modern is what the encoder of a ModernBERT model has besides that of BERT. The encoder's
// out holds the output of a block; stream is what the blocks add to.
type modern[T kernel.Float] struct {
	stream        []T          // (T, H) residual stream; in the last layer only the rows behind its attention
	last          normed[T]    // output of the final LayerNorm
	global, local rotation[T]  // of the two kinds of layers
	output, wide  dropout.Mask // of the current pass: after attention, within the feed-forward block
}

// A rotation holds the cosines and sines of rotary positions (Su et al. 2021, arXiv
// 2104.09864). They are computed in double precision: the angles of transformers, in single
// precision, are off by up to 4e-4 at 8,192 tokens.
type rotation[T kernel.Float] struct {
	half     int // pairs of a head
	cos, sin []T // (positions, half)
}

func newRotation[T kernel.Float](c trainer.Config, theta float64) rotation[T] {
	d, positions := c.HeadSize(), c.MaxPositions
	r := rotation[T]{half: d / 2, cos: make([]T, positions*d/2), sin: make([]T, positions*d/2)}
	for i := range r.half {
		frequency := math.Pow(theta, -2*float64(i)/float64(d))
		for p := range positions {
			sin, cos := math.Sincos(float64(p) * frequency)
			r.cos[p*r.half+i], r.sin[p*r.half+i] = T(cos), T(sin)
		}
	}
	return r
}

// turn rotates the heads in x, a token's queries or keys, by the angles of a position, or by
// their negatives: pair i of a head is its elements i and i + half.
func (t rotation[T]) turn(x []T, position int, back bool) {
	cos, sin := t.cos[position*t.half:(position+1)*t.half], t.sin[position*t.half:(position+1)*t.half]
	for ; len(x) >= 2*t.half; x = x[2*t.half:] {
		a, b := x[:t.half], x[t.half:2*t.half]
		b, sin := b[:len(a)], sin[:len(a)]
		if back {
			for i, c := range cos[:len(a)] {
				a[i], b[i] = a[i]*c+b[i]*sin[i], b[i]*c-a[i]*sin[i]
			}
			continue
		}
		for i, c := range cos[:len(a)] {
			a[i], b[i] = a[i]*c-b[i]*sin[i], b[i]*c+a[i]*sin[i]
		}
	}
}

// newModern allocates what c needs besides BERT's memory; nil for BERT.
func newModern[T kernel.Float](c trainer.Config, o trainer.Options) *modern[T] {
	if c.Modern == nil {
		return nil
	}
	return &modern[T]{
		stream: make([]T, o.Tokens*c.HiddenSize), last: newNormed[T](o.Tokens, c.HiddenSize),
		global: newRotation[T](c, c.Modern.GlobalTheta), local: newRotation[T](c, c.Modern.LocalTheta),
	}
}

// rotate turns the queries and keys in qkv, or their gradients back.
func (e *encoder[T]) rotate(b *trainer.Batch, qkv []T, layer int, back bool) {
	h, t := e.config.HiddenSize, &e.modern.global
	if e.config.Modern.Local[layer] {
		t = &e.modern.local
	}
	e.rows(b.Tokens(), 2*h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			t.turn(qkv[r*3*h:r*3*h+2*h], int(b.Positions[r]), back)
		}
	})
}

// preNorm computes a layer of ModernBERT. The LayerNorm before its attention is computed with
// the end of the previous layer; layer 0 has none.
func (e *encoder[T]) preNorm(b *trainer.Batch, i int) {
	p, k, t, h := &e.p.Layers[i], &e.layers[i], b.Tokens(), e.config.HiddenSize
	if i == 0 {
		copy(e.modern.stream, k.x[:t*h])
	}
	e.linear(k.qkv, k.x, t, &p.QKV)
	e.rotate(b, k.qkv, i, false)
	e.attend(b, i)
	s := e.behindAttention(b, i)
	gather(k.ctx, s, h)
	gather(e.modern.stream, s, h)
	e.linear(e.out, k.ctx, s.n, &p.Attended)
	e.extend(b, s, block{e.modern.output, dropout.At(dropout.AttentionOutput, i)}, &p.Norm2, &k.final)
	e.linear(k.u, k.final.y, s.n, &p.Up)
	e.geglu(b, s, k.u, e.g, i)
	e.linear(e.out, e.g, s.n, &p.Down)
	next, to := &e.p.FinalNorm, &e.modern.last
	if i+1 < len(e.layers) {
		next, to = &e.p.Layers[i+1].Norm1, &e.layers[i+1].mid
	}
	e.extend(b, s, block{mask: dropout.None()}, next, to)
}

// A block's output is dropped out by mask at site.
type block struct {
	mask dropout.Mask
	site dropout.Site
}

// extend adds a block's output, e.out, to the stream and computes the LayerNorm of that.
func (e *encoder[T]) extend(b *trainer.Batch, s rowset, with block, p *norm[T], y *normed[T]) {
	h := e.config.HiddenSize
	e.rows(s.n, h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			x := e.modern.stream[r*h : (r+1)*h]
			row := e.out[r*h : (r+1)*h]
			e.dropBy(with.mask, b, row, s.row(r), with.site)
			e.set.Add(x, row)
			e.normRow(r, x, p, y)
		}
	})
}

// geglu computes g = drop(gelu(u₁)·u₂); the rows of u are u₁, the input, and u₂, the gate.
func (e *encoder[T]) geglu(b *trainer.Batch, s rowset, u, g []T, layer int) {
	n := e.config.IntermediateSize
	e.rows(s.n, n, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := g[r*n : (r+1)*n]
			e.set.GELU(row, u[2*r*n:(2*r+1)*n], e.config.Activation.Tanh())
			multiply(row, u[(2*r+1)*n:(2*r+2)*n])
			e.dropBy(e.modern.wide, b, row, s.row(r), dropout.At(dropout.FeedForward, layer))
		}
	})
}

// gegluGrad replaces the rows of dg, the gradient of g, and computes du.
func (e *encoder[T]) gegluGrad(b *trainer.Batch, s rowset, du, dg, u []T, layer int) {
	n, tanh := e.config.IntermediateSize, e.config.Activation.Tanh()
	e.rows(s.n, n, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			d, u1, u2 := dg[r*n:(r+1)*n], u[2*r*n:(2*r+1)*n], u[(2*r+1)*n:(2*r+2)*n]
			d1, d2 := du[2*r*n:(2*r+1)*n], du[(2*r+1)*n:(2*r+2)*n]
			e.dropBy(e.modern.wide, b, d, s.row(r), dropout.At(dropout.FeedForward, layer))
			copy(d1, d)
			multiply(d1, u2)
			e.set.GELUGrad(d1, u1, tanh)
			e.set.GELU(d2, u1, tanh)
			multiply(d2, d)
		}
	})
}

// multiply multiplies x by y, element by element.
func multiply[T kernel.Float](x, y []T) {
	y = y[:len(x)]
	for i := range x {
		x[i] *= y[i]
	}
}

// preNormGrad replaces d.y, the gradient of the stream behind a layer, by the gradient before
// it. For the last layer d.y is first the gradient of the final LayerNorm's output.
func (e *encoder[T]) preNormGrad(b *trainer.Batch, i int) {
	p, k, d, t, h := &e.p.Layers[i], &e.layers[i], &e.d, b.Tokens(), e.config.HiddenSize
	s := e.behindAttention(b, i)
	if i+1 == len(e.layers) {
		e.normGrad(d.z, d.y, s.n, &e.p.FinalNorm, &e.modern.last)
		d.y, d.z = d.z, d.y
	}

	// Feed-forward block.
	e.geglu(b, s, k.u, e.g, i) // recomputed, because the forward pass does not store it
	e.denseGrad(d.y, e.g, s.n, &p.Down, e.g, false)
	e.gegluGrad(b, s, d.u, e.g, k.u, i)
	e.denseGrad(d.u, k.final.y, s.n, &p.Up, d.o, false)
	e.joinGrad(s.n, &p.Norm2, &k.final)

	// Attention block.
	e.rows(s.n, h, func(lo, hi int) {
		copy(d.o[lo*h:hi*h], d.y[lo*h:hi*h])
		for r := lo; r < hi; r++ {
			e.dropBy(e.modern.output, b, d.o[r*h:(r+1)*h], s.row(r), dropout.At(dropout.AttentionOutput, i))
		}
	})
	e.denseGrad(d.o, k.ctx, s.n, &p.Attended, d.z, false)
	spread(d.z, s, t, h)
	spread(d.y, s, t, h)
	e.attendGrad(b, i)
	e.rotate(b, d.qkv, i, true)
	if i == 0 {
		e.denseGrad(d.qkv, k.x, t, &p.QKV, d.y, true)
		return
	}
	e.denseGrad(d.qkv, k.x, t, &p.QKV, d.o, false)
	e.joinGrad(t, &p.Norm1, &k.mid)
}

// joinGrad adds to d.y the gradient that reaches the stream through a block's LayerNorm, whose
// output has the gradient d.o.
func (e *encoder[T]) joinGrad(rows int, p *norm[T], y *normed[T]) {
	h := e.config.HiddenSize
	e.normGrad(e.d.z, e.d.o, rows, p, y)
	e.rows(rows, h, func(lo, hi int) { e.set.Add(e.d.y[lo*h:hi*h], e.d.z[lo*h:hi*h]) })
}
