package cpu

import (
	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// A transform is the memory of the block before a decoder: LN(gelu(x·Wᵀ + b)). BERT has it
// before the masked-LM decoder, ModernBERT before every head, without the bias.
type transform[T kernel.Float] struct {
	x    []T       // (N, H) hidden rows that are read
	u    []T       // (N, H) before the activation
	g    []T       // (N, H) after the activation
	norm normed[T] // (N, H)
	dy   []T       // (N, H)
	dx   []T       // (N, H)
}

func newTransform[T kernel.Float](c *compute[T], rows int, train bool) *transform[T] {
	n := rows * c.config.HiddenSize
	t := &transform[T]{x: make([]T, n), u: make([]T, n), g: make([]T, n), norm: newNormed[T](rows, c.config.HiddenSize)}
	if train {
		t.dy, t.dx = make([]T, n), make([]T, n)
	}
	return t
}

// transform computes a.norm.y from the n rows of a.x.
func (s *heads[T]) transform(a *transform[T], n int) {
	h := s.config.HiddenSize
	s.linear(a.u, a.x, n, &s.p.Transform)
	s.gelu(a.g, a.u, n, h, s.p.Transform.b)
	s.rows(n, h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			s.normRow(r, a.g[r*h:(r+1)*h], &s.p.TransformNorm, &a.norm)
			s.roundNorm(r, &s.p.TransformNorm, &a.norm)
		}
	})
}

// transformGrad replaces a.dy, the gradient of a.norm.y, by the gradient of a.x.
func (s *heads[T]) transformGrad(a *transform[T], n int) {
	s.normGrad(a.dx, a.dy, n, &s.p.TransformNorm, &a.norm)
	s.round(a.dx[:n*s.config.HiddenSize])
	s.geluGrad(a.dx, a.u, n, s.config.HiddenSize)
	s.denseGrad(a.dx, a.x, n, &s.p.Transform, a.dy, false)
}

// modern computes a fine-tuning head of ModernBERT: the transform of what the head reads,
// dropout, and the classifier.
func (s *heads[T]) modern(p pass[T]) {
	a, b, h := s.read, p.batch, s.config.HiddenSize
	n := b.Sequences()
	if s.h.Span {
		n = b.Tokens()
		copy(a.x, p.hidden)
	} else {
		s.pooling(p, func(i, row int, by T) {
			x := a.x[i*h : (i+1)*h]
			if int32(row) == b.CuSeqlens[i] {
				clear(x)
			}
			addScaled(x, p.hidden[p.rows.At(int32(row))*h:], by)
		})
	}
	s.transform(a, n)
	input := a.norm.y[:n*h]
	s.dropEach(b, input)
	var logits []T
	if s.h.Span {
		clear(a.dy)
		s.span(p, input, a.dy)
	} else {
		logits = s.labels(p, input)
	}
	if p.dy == nil {
		return
	}
	if !s.h.Span {
		s.denseGrad(logits, input, n, &s.p.Classifier, a.dy, false)
	}
	s.dropEach(b, a.dy[:n*h])
	s.transformGrad(a, n)
	if s.h.Span {
		s.set.Add(p.dy, a.dy[:n*h])
		return
	}
	s.pooling(p, func(i, row int, by T) { addScaled(p.dy[p.rows.At(int32(row))*h:], a.dy[i*h:(i+1)*h], by) })
}

// pooling calls f for the rows that a classifier reads of each sequence i, with their weights.
func (s *heads[T]) pooling(p pass[T], f func(i, row int, by T)) {
	b := p.batch
	for i := range b.Sequences() {
		first, end := int(b.CuSeqlens[i]), int(b.CuSeqlens[i+1])
		if !s.config.Modern.MeanPooling {
			end = first + 1
		}
		for row := first; row < end; row++ {
			f(i, row, 1/T(end-first))
		}
	}
}

// addScaled adds y·by to x, for the length of the shorter.
func addScaled[T kernel.Float](x, y []T, by T) {
	for i := range min(len(x), len(y)) {
		x[i] += y[i] * by
	}
}

// dropEach applies the dropout of the classifier to x, the rows of all sequences: one each, or
// with a span head one for each token.
func (s *heads[T]) dropEach(b *trainer.Batch, x []T) {
	if !s.h.Span {
		s.drop(b, x)
		return
	}
	h := s.config.HiddenSize
	for i, position := range b.Sequence {
		dropout.Hidden(s.mask, x[int(b.CuSeqlens[i])*h:int(b.CuSeqlens[i+1])*h], position, dropout.At(dropout.Pooled, 0), 0)
	}
}
