package cuda

import (
	"math"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/dropout"
)

// modern is what the encoder of a ModernBERT model has besides that of BERT. The residual
// stream and its gradient are in single precision, because every block adds to them. Where
// the last layer computes only the rows that the heads read, narrow holds these rows of the
// stream behind its attention.
type modern struct {
	stream, narrow   device.Pointer // float32 (T, H)
	dstream, dnarrow device.Pointer // float32 (T, H): gradients; zero without training
	last             normed         // of the final LayerNorm
	g                device.Pointer // (T, F) output of the activation, or its gradient
	global, local    device.Pointer // float32 (positions, 32, 2): see rotation
	positions        int
}

// requestModern requests the activations of a ModernBERT model and, for training, their
// gradients. A layer's k.u holds input and gate, and becomes their gradient.
func (e *encoder) requestModern(r *requests) {
	t, h, f, a, m := r.s.tokens, r.c.HiddenSize, r.c.IntermediateSize, r.c.AttentionHeads, e.modern
	m.positions = min(r.c.MaxPositions, t)
	for i := range e.layers {
		k, name := &e.layers[i], layerName(i)
		r.elements(name+"qkv", &k.qkv, 3*t*h)
		r.floats(name+"lse", &k.lse, a*t)
		r.elements(name+"ctx", &k.ctx, t*h)
		if i > 0 || !r.train {
			r.normed(name+"mid", &k.mid, t)
		}
		r.normed(name+"final", &k.final, t)
		r.elements(name+"u", &k.u, 2*t*f)
	}
	r.normed("last", &m.last, t)
	r.elements("g", &m.g, t*f)
	r.floats("stream", &m.stream, t*h)
	r.floats("narrow stream", &m.narrow, t*h)
	r.floats("rotary positions", &m.global, m.positions*headSize)
	r.floats("local rotary positions", &m.local, m.positions*headSize)
	if r.train {
		r.floats("gradient of the stream", &m.dstream, t*h)
		r.floats("gradient of the narrow stream", &m.dnarrow, t*h)
	}
}

// tables writes the tables of rotary positions to the device.
func (e *encoder) tables(s *staging) {
	if m := e.modern; m != nil {
		s.upload(m.global, bytesOf(rotation(m.positions, e.config.Modern.GlobalTheta)))
		s.upload(m.local, bytesOf(rotation(m.positions, e.config.Modern.LocalTheta)))
	}
}

// rotation returns the cosine and the sine of the angle of each position and each pair of a
// head, as trainer/cpu computes them: in double precision.
func rotation(positions int, theta float64) []float32 {
	const half = headSize / 2
	table := make([]float32, 0, 2*positions*half)
	for p := range positions {
		for i := range half {
			sin, cos := math.Sincos(float64(p) * math.Pow(theta, -2*float64(i)/headSize))
			table = append(table, float32(cos), float32(sin))
		}
	}
	return table
}

// rotate turns the queries and keys in qkv by their rotary positions; their gradients back if
// back is 1.
func (e *encoder) rotate(qkv device.Pointer, d *batch, layer int, back int32) {
	table := e.modern.global
	if e.config.Modern.Local[layer] {
		table = e.modern.local
	}
	heads := e.config.AttentionHeads
	e.launch("rotate", device.Dim{X: blocks(d.tokens*heads*headSize, 4*128)}, qkv, table, d.all, int32(heads), back)
}

// embedWords computes embedded.y = drop(LN(word)), the first value of the stream too.
func (e *encoder) embedWords(d *batch) {
	y, p := e.embedded, e.p
	e.launch("words_forward", rowsGrid(d.tokens), y.y, y.xhat, y.inverse, e.modern.stream, p.Word.w, d.ids, p.EmbedNorm.gain,
		d.all, e.dropping(e.config.HiddenDropout, dropout.Embeddings, 0), int32(e.config.HiddenSize), float32(e.config.LayerNormEps))
}

// A stream is the residual stream behind a block: its rows of the batch, where they are
// written to, and, if its first summand has other rows, the index of each there.
type stream struct {
	rows            kernels.Rows
	from, to, index device.Pointer
}

// extend adds x, the output of a block, to the stream after dropout and computes y, the
// LayerNorm of that.
func (e *compute) extend(y normed, x device.Pointer, s stream, p norm, drop kernels.Dropout) {
	e.launch("stream_forward", rowsGrid(int(s.rows.N)), y.y, y.xhat, y.inverse, s.to, x, s.from, s.index, p.gain, s.rows, drop,
		int32(e.config.HiddenSize), float32(e.config.LayerNormEps))
}

// extendGrad computes the gradients of extend, given dy, that of y: it adds the gradient of
// the LayerNorm's input to s.from, the gradient of the stream behind, and writes the sum to
// s.to; dx becomes the gradient of x. The gain's is added to p.dsums.
func (e *compute) extendGrad(dx, dy device.Pointer, y normed, s stream, p norm, drop kernels.Dropout) {
	h, n := e.config.HiddenSize, int(s.rows.N)
	e.launch("stream_backward", rowsGrid(n), s.to, dx, dy, s.from, y.xhat, y.inverse, p.gain, s.rows, drop, int32(h))
	e.gainGrad(dy, y, p, n)
}

// gainGrad adds the gradient of a LayerNorm's gain, given dy, the gradient of its output.
func (e *compute) gainGrad(dy device.Pointer, y normed, p norm, rows int) {
	h, parts := e.config.HiddenSize, columnParts(rows)
	e.launch("column_sums", device.Dim{X: blocks(h, 256), Y: parts}, e.column, dy, y.xhat, int32(rows), int32(h))
	e.addParts(p.dsums, e.column, parts, h)
}

// geglu launches the activation, forward or backward, for rows of u and g.
func (e *encoder) geglu(pass string, a, b device.Pointer, rows kernels.Rows, layer int) {
	f := e.config.IntermediateSize
	drop := e.dropping(e.config.Modern.FeedForwardDropout, dropout.FeedForward, layer)
	e.launch("geglu_"+pass, device.Dim{X: blocks(int(rows.N)*f, 4*128)}, a, b, rows, drop, int32(f), e.tanh())
}

// outputDrop returns the dropout behind the output matrix of a layer's attention.
func (e *encoder) outputDrop(layer int) kernels.Dropout {
	return e.dropping(e.config.Modern.OutputDropout, dropout.AttentionOutput, layer)
}

// preNorm computes a layer of ModernBERT. The LayerNorm before its attention is computed with
// the end of the previous layer; layer 0 has none.
func (e *encoder) preNorm(d *batch, i int) {
	p, k, m := &e.p.Layers[i], e.kept(i), e.modern
	e.linear(k.qkv, k.x, d.tokens, p.QKV)
	e.rotate(k.qkv, d, i, 0)
	e.attend("forward", d, i, k.ctx, k.lse, k.qkv)
	s, ctx := stream{rows: d.all, from: m.stream, to: m.stream}, k.ctx
	if e.last(d, i) {
		s, ctx = stream{rows: d.rows.all, from: m.stream, to: m.narrow, index: d.rows.index}, k.selected
		e.gather(ctx, k.ctx, s.index, int(s.rows.N))
	}
	n := int(s.rows.N)
	e.linear(e.out, ctx, n, p.Attended)
	e.extend(k.final, e.out, s, p.Norm2, e.outputDrop(i))
	e.linear(k.u, k.final.y, n, p.Up)
	e.geglu("forward", m.g, k.u, s.rows, i)
	e.linear(e.out, m.g, n, p.Down)
	s = stream{rows: s.rows, from: s.to, to: s.to}
	if i+1 < e.config.Layers {
		e.extend(e.kept(i+1).mid, e.out, s, e.p.Layers[i+1].Norm1, keepAll)
		return
	}
	s.to = 0 // nothing reads the stream any more
	e.extend(m.last, e.out, s, e.p.FinalNorm, keepAll)
}

// preNormGrad adds the gradients of the parameters of layer i. m.dstream, the gradient of the
// stream behind the layer, becomes that before it; for the last layer it comes from d.y, the
// gradient of the final LayerNorm's output. d.o, the gradient of the output of a block,
// becomes that of the previous layer's second block; for layer 0, d.z becomes the gradient of
// its input.
func (e *encoder) preNormGrad(d *batch, i int) {
	p, k, m, g := &e.p.Layers[i], e.kept(i), e.modern, &e.d
	s, ctx := stream{rows: d.all, from: m.dstream, to: m.dstream}, k.ctx
	if e.last(d, i) {
		s, ctx = stream{rows: d.rows.all, from: m.dnarrow, to: m.dnarrow}, k.selected
	}
	n := int(s.rows.N)
	if i+1 == e.config.Layers {
		e.extendGrad(g.o, g.y, m.last, stream{rows: s.rows, to: s.to}, e.p.FinalNorm, keepAll)
	}

	// Feed-forward block.
	e.inputGrad(m.g, g.o, n, p.Down, 0)
	e.geglu("backward", k.u, m.g, s.rows, i)
	e.linearGrad(g.o, m.g, n, p.Down)
	e.linearGrad(k.u, k.final.y, n, p.Up)
	e.inputGrad(g.z, k.u, n, p.Up, 0)
	e.extendGrad(g.o, g.z, k.final, s, p.Norm2, e.outputDrop(i))

	// Attention block.
	e.linearGrad(g.o, ctx, n, p.Attended)
	e.inputGrad(g.z, g.o, n, p.Attended, 0)
	dctx := g.z
	if e.last(d, i) {
		dctx = g.o
		e.spread(g.o, g.z, d)
		e.spreadStream(d)
	}
	e.attendGrad(d, i, k, dctx)
	e.rotate(g.qkv, d, i, 1)
	e.linearGrad(g.qkv, k.x, d.tokens, p.QKV)
	e.inputGrad(g.z, g.qkv, d.tokens, p.QKV, 0)
	if i > 0 {
		e.extendGrad(g.o, g.z, k.mid, stream{rows: d.all, from: m.dstream, to: m.dstream}, p.Norm1, keepAll)
	}
}

// spreadStream copies the gradients of the rows that the heads read to their rows of the
// batch, and sets all other rows to zero.
func (e *encoder) spreadStream(d *batch) {
	m, h, n := e.modern, e.config.HiddenSize, d.rows.spread.whole.n
	e.clear(m.dstream, 4*d.tokens*h)
	e.launch("spread_stream", device.Dim{X: blocks(n*h, 4*128)}, m.dstream, m.dnarrow, d.rows.index, int32(n), int32(h))
}

// wordsGrad adds the gradients of the word embedding and of its LayerNorm, given m.dstream
// and d.z: those of the first value of the stream and of the first layer's input.
func (e *encoder) wordsGrad(d *batch) {
	g, h := &e.d, e.config.HiddenSize
	e.launch("words_backward", rowsGrid(d.tokens), g.y, g.o, e.modern.dstream, g.z, e.embedded.xhat, e.embedded.inverse, e.p.EmbedNorm.gain,
		d.all, e.dropping(e.config.HiddenDropout, dropout.Embeddings, 0), int32(h))
	e.gainGrad(g.o, e.embedded, e.p.EmbedNorm, d.tokens)
	e.addRows("add_rows_f32", e.p.Word.dw, g.y, d.words)
}

// modern computes a fine-tuning head of ModernBERT: the transform of what the head reads,
// dropout, and the classifier. In training it sets p.dy.
func (s *heads) modern(p pass) {
	a, d, h, n := s.read, p.d, s.config.HiddenSize, p.d.pooled.n
	rows, drop := d.pooled.rows, s.dropping(s.config.PooledDropout(), dropout.Pooled, 0)
	switch {
	case s.h.Span:
		n, rows = d.tokens, d.all
		a.x = p.hidden
	case s.config.Modern.MeanPooling:
		s.clear(a.x, n*h*s.element.Size())
		s.launch("mean_rows", device.Dim{X: blocks(h, 128), Y: d.real}, a.x, p.hidden, d.all.Cu, int32(h))
	default:
		s.gather(a.x, p.hidden, d.pooled.first, n)
	}
	s.transform(a, n)
	input := a.g // nothing reads the activation any more
	s.launch("dropout_rows", rowsGrid(n), input, a.norm.y, rows, drop, int32(h))
	if s.h.Span {
		if s.training {
			s.clear(a.do, n*h*s.element.Size())
		}
		s.span(p, input, a.do)
	} else {
		s.labels(p, input, a.do)
	}
	if !s.training {
		return
	}
	s.launch("dropout_rows", rowsGrid(n), a.do, a.do, rows, drop, int32(h))
	s.transformGrad(a, n)
	switch {
	case s.h.Span:
		s.each("add", n*h, p.dy, a.dx, int64(n*h))
	case s.config.Modern.MeanPooling:
		s.launch("mean_rows_backward", device.Dim{X: blocks(d.tokens*h, 4*128)}, p.dy, a.dx, d.all, int32(d.real), int32(h))
	default:
		s.addRows("add_rows_elem", p.dy, a.dx, d.pooled.firsts)
	}
}
