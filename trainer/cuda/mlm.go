package cuda

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/kernels"
)

// masked computes the masked-LM head on the masked tokens. Each chunk of tokens goes
// forward and backward before the next one, so that only one chunk's logits are in
// memory.
func (s *heads) masked(p pass) {
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = p.out.MLMLogits[:0]
	}
	p.out.MLMLosses, p.out.MLMBest = p.out.MLMLosses[:0], p.out.MLMBest[:0]
	for _, c := range p.d.masked {
		s.maskedLoss(c, p)
		if s.training {
			s.maskedGrad(c, p)
		}
	}
}

// decoder returns the last layer of the masked-LM head. Its weight is the word
// embedding.
func (s *heads) decoder() dense {
	return dense{
		out: s.vocabulary, in: s.config.HiddenSize, w: s.p.Word.w, b: s.p.DecoderBias.w, dw: s.p.Word.dw, db: s.p.DecoderBias.dw,
	}
}

// maskedLoss computes logits and losses of a chunk: transform, LayerNorm and the
// decoder, which is tied to the word embedding.
func (s *heads) maskedLoss(c chunk, p pass) {
	b, n := &s.mlm, c.rows
	s.gather(b.x, p.hidden, c.index, n)
	s.transform(&b.transform, n)
	s.linear(b.logits, b.norm.y, n, s.decoder())
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = s.appendWords(p.out.MLMLogits, c)
	}
	t := targets{bias: s.p.DecoderBias.w, labels: c.ids, weights: c.weights, best: s.mlm.best, coef: p.coef.MLM, sum: sumMLM}
	s.crossEntropy("", b.logits, t, n, s.config.VocabSize, s.vocabulary)
	if p.out.Want&trainer.OutputMLMLosses != 0 {
		for _, l := range s.staging.appendFloat32(nil, s.loss, c.n) {
			p.out.MLMLosses = append(p.out.MLMLosses, float64(l))
		}
		for _, w := range s.staging.appendFloat32(nil, s.mlm.best, c.n) {
			p.out.MLMBest = append(p.out.MLMBest, int32(math.Float32bits(w)))
		}
	}
}

// maskedGrad adds the gradients of the masked-LM head's parameters for a chunk, and
// adds the gradient of the encoder's output to p.dy.
func (s *heads) maskedGrad(c chunk, p pass) {
	b, n := &s.mlm, c.rows
	s.denseGrad(b.logits, b.norm.y, n, s.decoder(), plain)
	s.inputGrad(b.do, b.logits, n, s.decoder(), 0)
	s.transformGrad(&b.transform, n)
	s.addRows("add_rows_elem", p.dy, b.dx, c.scattered)
}

// transform computes a.norm.y from the n rows of a.x.
func (s *heads) transform(a *transform, n int) {
	rows, size := kernels.Rows{N: int32(n)}, n*s.config.HiddenSize
	s.linear(a.u, a.x, n, s.p.Transform)
	if s.config.Modern != nil {
		s.each("gelu_again", size, a.g, a.u, int64(size), s.tanh())
		s.extend(a.norm, a.g, stream{rows: rows}, s.p.TransformNorm, keepAll)
		return
	}
	s.gelu(a.g, a.u, s.p.Transform.b, n, s.config.HiddenSize)
	s.norm(a.norm, a.g, 0, 0, s.p.TransformNorm, rows, keepAll)
}

// transformGrad computes a.dx, the gradient of a.x, from a.do, that of a.norm.y, and adds
// those of the parameters.
func (s *heads) transformGrad(a *transform, n int) {
	rows, size := kernels.Rows{N: int32(n)}, n*s.config.HiddenSize
	if s.config.Modern != nil {
		s.extendGrad(a.dg, a.do, a.norm, stream{rows: rows}, s.p.TransformNorm, keepAll)
	} else {
		s.normGrad(a.dg, 0, a.do, a.norm, s.p.TransformNorm, rows, keepAll)
	}
	s.each("gelu_backward", size, a.dg, a.u, int64(size), s.tanh())
	s.denseGrad(a.dg, a.x, n, s.p.Transform, plain)
	s.inputGrad(a.dx, a.dg, n, s.p.Transform, 0)
}

// appendWords appends the logits of a chunk, VocabSize for each masked token. It
// adds the bias, and omits padding tokens and the words added by rounding the
// vocabulary up.
func (s *heads) appendWords(dst []float32, c chunk) []float32 {
	v, wide, size := s.config.VocabSize, s.vocabulary, s.element.Size()
	bias := s.staging.appendElements(s.element, nil, s.p.DecoderBias.w, v)
	for i := range c.n {
		at := len(dst)
		dst = s.staging.appendElements(s.element, dst, s.mlm.logits.Add(i*wide*size), v)
		for j := range dst[at:] {
			dst[at+j] += bias[j]
		}
	}
	return dst
}
