package cpu

import (
	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
	"pretext/trainer/internal/bert"
)

// encoder computes the embeddings and the encoder layers, forward and backward. It holds
// the activations, the gradients, and the selection of the rows that the heads read.
// Shapes in comments use the maximum number of tokens (T) of trainer.Options, the hidden
// size (H), the feed-forward size (F) and the attention heads (A); a batch uses the first
// rows.
type encoder[T kernel.Float] struct {
	*compute[T]
	o    trainer.Options
	h    trainer.Heads // whose rows are selected
	p    *bert.Parameters[dense[T], norm[T], table[T]]
	solo []*kernel.Gemm[T] // one for each thread, for attention

	layer, layerGrad func(b *trainer.Batch, i int) // of the architecture
	modern           *modern[T]                    // nil: BERT

	hidden, attention dropout.Mask // of the current pass
	sequence          []int32      // (T) sequence number of each row
	selected          bert.Selection
	place             []int32 // (T) row within its sequence of each selected row

	embedded normed[T]   // output of the embedding's LayerNorm
	layers   []kept[T]   // one for each layer; shared memory without training. layers[0].x: embedded after dropout
	score    []scores[T] // one for each thread

	g, out []T     // scratch: (T, F) output of the activation; (T, H) output of a block before its LayerNorm
	d      grad[T] // gradients; nil without training
}

// kept is what a layer stores for the backward pass. mid and final are the LayerNorms behind
// attention and feed-forward block, or before them (ModernBERT).
type kept[T kernel.Float] struct {
	x          []T // (T, H) input of the first product
	qkv        []T // (T, 3H)
	lse        []T // (A, T) logarithm of the softmax's denominator
	ctx        []T // (T, H)
	mid, final normed[T]
	u          []T // (T, F) before the activation; ModernBERT: (T, 2F)
}

// grad is the memory for the gradients of one layer.
type grad[T kernel.Float] struct {
	y, z, o []T // (T, H): of the layer's output, later of its input; of a LayerNorm's input; of a block's output
	qkv     []T // (T, 3H)
	u       []T // (T, F); ModernBERT: (T, 2F)
}

func newEncoder[T kernel.Float](c *compute[T], h trainer.Heads, o trainer.Options, p *bert.Parameters[dense[T], norm[T], table[T]]) *encoder[T] {
	tokens, hidden, wide := o.Tokens, c.config.HiddenSize, c.config.IntermediateSize
	e := &encoder[T]{
		modern:  newModern[T](c.config, o),
		compute: c, o: o, h: h, p: p,
		sequence: make([]int32, tokens), place: make([]int32, tokens),
		embedded: newNormed[T](tokens, hidden),
		layers:   make([]kept[T], c.config.Layers),
		score:    make([]scores[T], c.pool.Threads),
		g:        large[T](tokens * wide),
		out:      large[T](tokens * hidden),
	}
	e.layer, e.layerGrad = e.postNorm, e.postNormGrad
	if e.modern != nil {
		e.layer, e.layerGrad = e.preNorm, e.preNormGrad
		wide *= 2
	}
	one := kernel.NewPool(1)
	for range c.pool.Threads {
		e.solo = append(e.solo, kernel.NewGemm(c.set, one))
	}
	for i := range e.layers {
		if !o.Train && i >= 2 { // a layer reads only the previous layer's output, so layers use two sets in turn
			e.layers[i] = e.layers[i-2]
		} else {
			e.layers[i] = kept[T]{
				qkv: large[T](3 * tokens * hidden),
				lse: make([]T, c.config.AttentionHeads*tokens),
				ctx: large[T](tokens * hidden),
				mid: newNormed[T](tokens, hidden), final: newNormed[T](tokens, hidden),
				u: large[T](tokens * wide),
			}
		}
		switch {
		case e.modern != nil:
			e.layers[i].x = e.layers[i].mid.y
		case i > 0:
			e.layers[i].x = e.layers[i-1].final.y
		}
	}
	e.layers[0].x = large[T](tokens * hidden)
	if o.Train {
		e.d = grad[T]{large[T](tokens * hidden), large[T](tokens * hidden), large[T](tokens * hidden), large[T](3 * tokens * hidden), large[T](tokens * wide)}
	}
	return e
}

// pack packs the weights of the layers for products, once for many passes. Without training
// they change only when others are loaded.
func (e *encoder[T]) pack() {
	for i := range e.p.Layers {
		layer := &e.p.Layers[i]
		for _, d := range []*dense[T]{&layer.QKV, &layer.Attended, &layer.Up, &layer.Down} {
			if d.packed == nil {
				d.packed = &kernel.Packed[T]{}
			}
			e.gemm.Pack(d.packed, kernel.Rows(d.w, d.in).T(), d.in, d.out)
		}
	}
}

// forward computes the encoder's output for the heads and the wanted outputs, with dropout
// if train is set.
func (e *encoder[T]) forward(b *trainer.Batch, want trainer.Output, train bool) {
	e.hidden, e.attention = dropout.None(), dropout.None()
	if train {
		e.hidden = dropout.New(e.o.Seed, e.config.HiddenDropout)
		e.attention = dropout.New(e.o.Seed, e.config.AttentionDropout)
	}
	if m := e.config.Modern; m != nil {
		e.modern.output, e.modern.wide = dropout.None(), dropout.None()
		if train {
			e.modern.output, e.modern.wide = dropout.New(e.o.Seed, m.OutputDropout), dropout.New(e.o.Seed, m.FeedForwardDropout)
		}
		if m.MeanPooling && e.h.ClassifierWidth() > 0 {
			want |= trainer.OutputHidden // every row
		}
	}
	e.selected.Choose(b, e.h, want)
	for s := range b.Sequences() {
		for r := b.CuSeqlens[s]; r < b.CuSeqlens[s+1]; r++ {
			e.sequence[r] = int32(s)
		}
	}
	for i, r := range e.selected.Rows {
		e.place[i] = r - b.CuSeqlens[e.sequence[r]]
	}
	e.embed(b)
	for i := range e.layers {
		e.layer(b, i)
	}
}

// output returns the encoder's output: the selected rows, H wide.
func (e *encoder[T]) output() []T {
	if e.modern != nil {
		return e.modern.last.y
	}
	return e.layers[len(e.layers)-1].final.y
}

// embed computes the first layer's input, drop(LN(word + position + segment)). ModernBERT
// embeds words only.
func (e *encoder[T]) embed(b *trainer.Batch) {
	h, p := e.config.HiddenSize, e.p
	e.rows(b.Tokens(), h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			word := int(b.IDs[r]) * h
			row := e.out[r*h : (r+1)*h]
			copy(row, p.Word.w[word:word+h])
			if e.modern == nil {
				position, segment := int(b.Positions[r])*h, int(b.Segments[r])*h
				e.set.Add(row, p.Position.w[position:position+h])
				e.set.Add(row, p.Segment.w[segment:segment+h])
			}
			e.normRow(r, row, &p.EmbedNorm, &e.embedded)
			x := e.layers[0].x[r*h : (r+1)*h]
			copy(x, e.embedded.y[r*h:(r+1)*h])
			e.drop(b, x, r, dropout.At(dropout.Embeddings, 0))
		}
		if e.lower != nil {
			round(e.layers[0].x[lo*h : hi*h])
			round(e.embedded.xhat[lo*h : hi*h])
		}
	})
}

// postNorm computes a layer of BERT.
func (e *encoder[T]) postNorm(b *trainer.Batch, i int) {
	p, k, t := &e.p.Layers[i], &e.layers[i], b.Tokens()
	e.project(k, t, e.queries(b, i), &p.QKV)
	e.attend(b, i)
	s := e.behindAttention(b, i)
	gather(k.ctx, s, e.config.HiddenSize)
	e.linear(e.out, k.ctx, s.n, &p.Attended)
	e.addNorm(b, s, addend[T]{p.Attended.b, k.x, s, dropout.At(dropout.AttentionOutput, i)}, &p.Norm1, &k.mid)
	e.product(k.u, k.mid.y, s.n, &p.Up)
	e.gelu(e.g, k.u, s.n, p.Up.out, p.Up.b)
	e.linear(e.out, e.g, s.n, &p.Down)
	e.addNorm(b, s, addend[T]{p.Down.b, k.mid.y, rowset{}, dropout.At(dropout.FeedForward, i)}, &p.Norm2, &k.final)
}

// project computes k.qkv, of t rows, from k.x: keys and values of all rows, queries of the rows
// s. The other rows of the queries keep what they have. It overwrites k.ctx.
func (e *encoder[T]) project(k *kept[T], t int, s rowset, p *dense[T]) {
	qkv, x, h := k.qkv, k.x, e.config.HiddenSize
	if s.rows == nil {
		e.affine(qkv, x, t, p)
		return
	}
	e.gemm.Mul(t, 2*h, h, kernel.Rows(x, h), kernel.Rows(p.w[h*h:], h).T(), qkv[h:], 3*h, false)
	for r, row := range s.rows {
		copy(k.ctx[r*h:(r+1)*h], x[int(row)*h:])
	}
	e.gemm.Mul(s.n, h, h, kernel.Rows(k.ctx, h), kernel.Rows(p.w, h).T(), e.out, h, false)
	for r, row := range s.rows {
		q := qkv[int(row)*3*h:][:h]
		copy(q, e.out[r*h:])
		e.set.Add(q, p.b[:h])
	}
	e.rows(t, 2*h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			e.set.Add(qkv[r*3*h+h:(r+1)*3*h], p.b[h:])
		}
	})
}

// An addend describes what is added to the output of a block (attention or feed-forward)
// before LayerNorm: the bias, the residual and its rows. It also has the dropout site.
type addend[T kernel.Float] struct {
	bias, residual []T
	of             rowset
	site           dropout.Site
}

// addNorm computes y = LN(drop(e.out + bias) + residual), and stores in y the values that
// the gradient needs. e.out has the rows of s, and is overwritten.
func (e *encoder[T]) addNorm(b *trainer.Batch, s rowset, with addend[T], p *norm[T], y *normed[T]) {
	h := e.config.HiddenSize
	e.rows(s.n, h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row, from := e.out[r*h:(r+1)*h], with.of.row(r)
			e.set.Add(row, with.bias)
			e.drop(b, row, s.row(r), with.site)
			e.set.Add(row, with.residual[from*h:(from+1)*h])
			e.normRow(r, row, p, y)
			e.roundNorm(r, p, y)
		}
	})
}

// drop applies the dropout of hidden values in place to x, the values of one row of the batch.
func (e *encoder[T]) drop(b *trainer.Batch, x []T, row int, site dropout.Site) {
	e.dropBy(e.hidden, b, x, row, site)
}

// dropBy is drop by another mask. Without active dropout it does nothing.
func (e *encoder[T]) dropBy(m dropout.Mask, b *trainer.Batch, x []T, row int, site dropout.Site) {
	if !m.Active() {
		return
	}
	s := e.sequence[row]
	place := (row - int(b.CuSeqlens[s])) * len(x)
	dropout.Hidden(m, x, b.Sequence[s], site, place)
}

// backward propagates d.y, the gradient of the encoder's output, to the
// embeddings. It calls complete with the number of each bucket of the layout
// whose gradients it has completed.
func (e *encoder[T]) backward(b *trainer.Batch, complete func(bucket int)) {
	for i := len(e.layers) - 1; i >= 0; i-- {
		e.layerGrad(b, i)
		complete(1 + i)
	}
	e.embedGrad(b)
	complete(0)
}

// postNormGrad replaces d.y, the gradient of a layer's output, by the gradient of
// its input.
func (e *encoder[T]) postNormGrad(b *trainer.Batch, i int) {
	p, k, d, t := &e.p.Layers[i], &e.layers[i], &e.d, b.Tokens()
	s, h, wide := e.behindAttention(b, i), e.config.HiddenSize, e.config.IntermediateSize

	// Feed-forward block. d.z is the gradient of the LayerNorm's input, and also
	// of the residual.
	e.normGrad(d.z, d.y, s.n, &p.Norm2, &k.final)
	e.dropGrad(b, s, d.z, dropout.At(dropout.FeedForward, i))
	e.round(d.z[:s.n*h])
	e.gelu(e.g, k.u, s.n, wide, nil) // recomputed, because the forward pass does not store it
	e.denseGrad(d.o, e.g, s.n, &p.Down, d.u, false)
	e.geluGrad(d.u, k.u, s.n, wide)
	e.denseGrad(d.u, k.mid.y, s.n, &p.Up, d.z, true)

	// Attention block.
	e.normGrad(d.y, d.z, s.n, &p.Norm1, &k.mid)
	e.dropGrad(b, s, d.y, dropout.At(dropout.AttentionOutput, i))
	e.round(d.y[:s.n*h])
	e.denseGrad(d.o, k.ctx, s.n, &p.Attended, d.z, false)
	spread(d.z, s, t, h)
	spread(d.y, s, t, h)
	if e.lower != nil {
		spread(k.ctx, s, t, h)
	}
	e.attendGrad(b, i)
	e.round(d.qkv[:3*t*h])
	e.denseGrad(d.qkv, k.x, t, &p.QKV, d.y, true)
}

// dropGrad computes d.o, the gradient of a dropout's input, from dz, the gradient of its
// output. Both have the rows of s.
func (e *encoder[T]) dropGrad(b *trainer.Batch, s rowset, dz []T, site dropout.Site) {
	h, do := e.config.HiddenSize, e.d.o
	e.rows(s.n, h, func(lo, hi int) {
		copy(do[lo*h:hi*h], dz[lo*h:hi*h])
		for r := lo; r < hi; r++ {
			e.drop(b, do[r*h:(r+1)*h], s.row(r), site)
		}
	})
}

// embedGrad adds the gradients of the embeddings, given d.y, the gradient of the
// first layer's input. Tokens are added in order; each thread handles a range of
// columns.
func (e *encoder[T]) embedGrad(b *trainer.Batch) {
	h, p, t := e.config.HiddenSize, e.p, b.Tokens()
	e.dropGrad(b, rowset{n: t}, e.d.y, dropout.At(dropout.Embeddings, 0))
	e.round(e.d.o[:t*h])
	e.normGrad(e.d.z, e.d.o, t, &p.EmbedNorm, &e.embedded)
	e.round(e.d.z[:t*h])
	e.columns(h, func(lo, hi int) {
		for r := range t {
			d := e.d.z[r*h+lo : r*h+hi]
			e.set.Add(p.Word.dw[int(b.IDs[r])*h+lo:], d)
			if e.modern == nil {
				e.set.Add(p.Position.dw[int(b.Positions[r])*h+lo:], d)
				e.set.Add(p.Segment.dw[int(b.Segments[r])*h+lo:], d)
			}
		}
	})
}
