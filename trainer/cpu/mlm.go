package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// mlmRows is the number of masked tokens whose logits are held at once.
const mlmRows = 256

// rowLoss is the cross entropy of one row of logits.
type rowLoss struct {
	loss float64
	hit  bool // the largest logit is the label's
}

func (l rowLoss) correct() float64 {
	if l.hit {
		return 1
	}
	return 0
}

// crossEntropy returns the loss −log softmax(x)[label] and replaces x by
// coef·(softmax(x) − onehot(label)). The first of several largest logits counts
// as the prediction.
func (m *model[T]) crossEntropy(x []T, label int32, coef T) rowLoss {
	target, top := x[label], m.set.Max(x)
	l := rowLoss{hit: target == top}
	for i := 0; l.hit && i < int(label); i++ {
		l.hit = x[i] != top
	}
	sum := m.set.ExpSum(x, top)
	l.loss = math.Log(float64(sum)) + float64(top) - float64(target)
	m.set.Scale(x, coef/sum)
	x[label] -= coef
	return l
}

// mlm is the masked-LM head on the masked tokens: transform, LayerNorm, and the
// decoder tied to the word embedding.
func (m *model[T]) mlm(b *trainer.Batch, p pass[T], sums *trainer.Sums) {
	a, h, n := &m.a.mlm, m.c.HiddenSize, b.Masked()
	for i, row := range b.MaskedIndex {
		copy(a.x[i*h:(i+1)*h], m.output()[int(row)*h:])
	}
	m.linear(a.u, a.x, n, &m.p.transform)
	m.rows(n, h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			m.set.Add(a.u[r*h:(r+1)*h], m.p.transform.b)
		}
		m.set.GELU(a.g[lo*h:hi*h], a.u[lo*h:hi*h], m.c.Activation.Tanh())
		for r := lo; r < hi; r++ {
			m.normRow(r, a.g[r*h:(r+1)*h], &m.p.transformNorm, &a.norm)
		}
	})
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = p.out.MLMLogits[:0]
	}
	for lo := 0; lo < n; lo += mlmRows {
		m.mlmChunk(b, p, sums, lo, min(n, lo+mlmRows))
	}
	if p.train {
		m.mlmGrad(b)
	}
}

// mlmChunk computes logits and losses of the masked tokens [lo, hi), and when
// training the gradients of the decoder and, into dy, of its input.
func (m *model[T]) mlmChunk(b *trainer.Batch, p pass[T], sums *trainer.Sums, lo, hi int) {
	a, h, v, n := &m.a.mlm, m.c.HiddenSize, m.c.VocabSize, hi-lo
	word, bias := &m.p.word, &m.p.decoderBias
	y := kernel.Rows(a.norm.y[lo*h:], h)
	m.gemm.Mul(n, v, h, y, kernel.Rows(word.w, h).T(), a.logits, v, false)
	m.pool.Do(n, func(_, i int) {
		row := a.logits[i*v : (i+1)*v]
		m.set.Add(row, bias.w)
		if p.out.Want&trainer.OutputMLMLogits == 0 {
			a.loss[i] = m.crossEntropy(row, b.MaskedIDs[lo+i], T(p.coef.MLM*float64(b.MaskedWeights[lo+i])))
		}
	})
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = appendFloat32(p.out.MLMLogits, a.logits[:n*v])
		m.pool.Do(n, func(_, i int) { a.loss[i] = m.crossEntropy(a.logits[i*v:(i+1)*v], b.MaskedIDs[lo+i], 0) })
	}
	for i, l := range a.loss[:n] {
		w := float64(b.MaskedWeights[lo+i])
		sums.MLMLoss += w * l.loss
		sums.MLMWeight += w
		sums.MLMCorrect += w * l.correct()
	}
	if p.train {
		logits := kernel.Rows(a.logits, v)
		m.biasGrad(bias.dw, a.logits, n)
		m.gemm.Mul(v, h, n, logits.T(), y, word.dw, h, true)
		m.gemm.Mul(n, h, v, logits, kernel.Rows(word.w, h), a.dy[lo*h:], h, false)
	}
}

// mlmGrad takes the gradient of the decoder's input down to a.dy, the encoder's
// output. A token may be masked twice; rows are added in order.
func (m *model[T]) mlmGrad(b *trainer.Batch) {
	a, h, n := &m.a.mlm, m.c.HiddenSize, b.Masked()
	m.normGrad(a.dx, a.dy, n, &m.p.transformNorm, &a.norm)
	m.rows(n, h, func(lo, hi int) { m.set.GELUGrad(a.dx[lo*h:hi*h], a.u[lo*h:hi*h], m.c.Activation.Tanh()) })
	m.biasGrad(m.p.transform.db, a.dx, n)
	m.linearGrad(a.dx, a.x, n, &m.p.transform, a.dy, false)
	for i, row := range b.MaskedIndex {
		m.set.Add(m.a.dy[int(row)*h:], a.dy[i*h:(i+1)*h])
	}
}
