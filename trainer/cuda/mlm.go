package cuda

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/kernels"
)

// mlm computes the masked-LM head on the masked tokens. Each chunk of tokens goes
// forward and backward before the next one, so that only one chunk's logits are in
// memory.
func (m *model) mlm(d *batch, p pass) {
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = p.out.MLMLogits[:0]
	}
	p.out.MLMLosses, p.out.MLMBest = p.out.MLMLosses[:0], p.out.MLMBest[:0]
	for _, c := range d.masked {
		m.maskedLoss(c, p)
		if m.training {
			m.maskedGrad(c)
		}
	}
}

// decoder returns the last layer of the masked-LM head. Its weight is the word
// embedding.
func (m *model) decoder() dense {
	return dense{
		out: m.shape.vocabulary, in: m.c.HiddenSize, w: m.p.word.w, b: m.p.decoderBias.w, dw: m.p.word.dw, db: m.p.decoderBias.dw,
	}
}

// keepAll is the kernels' dropout argument for no dropout.
var keepAll = kernels.Dropout{Keep: 256, Scale: 1}

// maskedLoss computes logits and losses of a chunk: transform, LayerNorm and the
// decoder, which is tied to the word embedding.
func (m *model) maskedLoss(c chunk, p pass) {
	b, h, n := &m.b.mlm, m.c.HiddenSize, c.rows
	m.gather(b.x, m.output(), c.index, n)
	m.linear(b.u, b.x, n, m.p.transform)
	m.gelu(b.g, b.u, m.p.transform.b, n, h)
	m.norm(b.norm, b.g, 0, 0, m.p.transformNorm, kernels.Rows{N: int32(n)}, keepAll)
	m.linear(b.logits, b.norm.y, n, m.decoder())
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = m.appendWords(p.out.MLMLogits, c)
	}
	t := targets{bias: m.p.decoderBias.w, labels: c.ids, weights: c.weights, best: m.b.best, coef: p.coef.MLM, sum: sumMLM}
	m.crossEntropy("", b.logits, t, n, m.c.VocabSize, m.shape.vocabulary)
	if p.out.Want&trainer.OutputMLMLosses != 0 {
		m.appendLosses(p.out, c.n)
	}
}

// appendLosses appends the losses and best words of n masked tokens.
func (m *model) appendLosses(out *trainer.Outputs, n int) {
	for _, l := range m.appendFloat32(nil, m.b.loss, n) {
		out.MLMLosses = append(out.MLMLosses, float64(l))
	}
	for _, w := range m.appendFloat32(nil, m.b.best, n) {
		out.MLMBest = append(out.MLMBest, int32(math.Float32bits(w)))
	}
}

// maskedGrad adds the gradients of the masked-LM head's parameters for a chunk, and
// adds the gradient of the encoder's output to b.dy.
func (m *model) maskedGrad(c chunk) {
	b, h, n := &m.b.mlm, m.c.HiddenSize, c.rows
	m.denseGrad(b.logits, b.norm.y, n, m.decoder())
	m.inputGrad(b.do, b.logits, n, m.decoder(), 0)
	m.normGrad(b.dg, 0, b.do, b.norm, m.p.transformNorm, kernels.Rows{N: int32(n)}, keepAll)
	m.each("gelu_backward", n*h, b.dg, b.u, int64(n*h), m.tanh())
	m.denseGrad(b.dg, b.x, n, m.p.transform)
	m.inputGrad(b.dx, b.dg, n, m.p.transform, 0)
	m.addRows("add_rows_elem", m.b.dy, b.dx, c.scattered)
}

// appendWords appends the logits of a chunk, VocabSize for each masked token. It
// adds the bias, and omits padding tokens and the words added by rounding the
// vocabulary up.
func (m *model) appendWords(dst []float32, c chunk) []float32 {
	v, wide, size := m.c.VocabSize, m.shape.vocabulary, m.element.Size()
	bias := m.appendElements(nil, m.p.decoderBias.w, v)
	for i := range c.n {
		at := len(dst)
		dst = m.appendElements(dst, m.b.mlm.logits.Add(i*wide*size), v)
		for j := range dst[at:] {
			dst[at+j] += bias[j]
		}
	}
	return dst
}
