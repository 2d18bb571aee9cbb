package cpu

import (
	"math"
	"slices"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// mlmColumns is the number of masked tokens in a chunk, whose logits are in
// memory at once.
const mlmColumns = 256

// mlmRows is the number of words in a part of the vocabulary, the unit of work
// of a thread: the logits of a part stay in the second-level cache. Parts do
// not depend on the number of threads, because sums are made in their order.
const mlmRows = 252

// rowLoss is the cross entropy of one row of logits.
type rowLoss struct {
	loss float64
	hit  bool  // the largest logit is that of the label
	best int32 // index of the largest logit; only of the masked-LM head
}

func (l rowLoss) correct() float64 {
	if l.hit {
		return 1
	}
	return 0
}

// crossEntropy returns the loss −log softmax(x)[label] and replaces x by
// coef·(softmax(x) − onehot(label)). If several logits are the largest, the
// first one is the prediction.
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
		copy(a.x[i*h:(i+1)*h], m.output()[m.a.selected.at(row)*h:])
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
	p.out.MLMLosses, p.out.MLMBest = p.out.MLMLosses[:0], p.out.MLMBest[:0]
	for lo := 0; lo < n; lo += mlmColumns {
		m.mlmChunk(b, p, sums, lo, min(n, lo+mlmColumns))
	}
	if p.train {
		m.mlmGrad(b)
	}
}

// mlmChunk computes logits and losses of the masked tokens [lo, hi). When
// training it also computes the gradients of the decoder and, into dy, of its
// input. Logits have a row for each word and a column for each token. So the
// word vectors, the largest matrix, are used in place, one part after the
// other.
func (m *model[T]) mlmChunk(b *trainer.Batch, p pass[T], sums *trainer.Sums, lo, hi int) {
	a, h, n := &m.a.mlm, m.c.HiddenSize, hi-lo
	y := kernel.Rows(a.norm.y[lo*h:], h)
	a.width = m.gemm.Width(n)
	m.gemm.Pack(&a.columns, y.T(), h, n)
	m.mlmLogits()
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = m.appendLogits(p.out.MLMLogits, n)
	}
	for j := n; j < a.width; j++ { // columns after the last token have no gradient
		a.shift[j], a.scale[j] = T(math.Inf(1)), 0
	}
	m.pool.Do(n, func(_, j int) {
		label, coef := b.MaskedIDs[lo+j], p.coef.MLM*float64(b.MaskedWeights[lo+j])
		a.loss[j] = m.mlmLoss(j, int(label), coef)
	})
	if p.out.Want&trainer.OutputMLMLosses != 0 {
		for _, l := range a.loss[:n] {
			p.out.MLMLosses, p.out.MLMBest = append(p.out.MLMLosses, l.loss), append(p.out.MLMBest, l.best)
		}
	}
	for i, l := range a.loss[:n] {
		w := float64(b.MaskedWeights[lo+i])
		sums.MLMLoss += w * l.loss
		sums.MLMWeight += w
		sums.MLMCorrect += w * l.correct()
	}
	if p.train {
		m.gemm.Pack(&a.rows, y, n, h)
		m.mlmWordGrad(b.MaskedIDs[lo:hi], func(j int) T { return T(p.coef.MLM * float64(b.MaskedWeights[lo+j])) })
		m.gemm.Mul(n, h, m.c.VocabSize, kernel.Rows(a.logits, a.width).T(), kernel.Rows(m.p.word.w, h), a.dy[lo*h:], h, false)
	}
}

// vocabParts returns the number of parts of the vocabulary.
func vocabParts(c trainer.Config) int { return (c.VocabSize + mlmRows - 1) / mlmRows }

// eachPart calls f for the parts of the vocabulary: words [first, first+n).
func (m *model[T]) eachPart(f func(worker, part, first, n int)) {
	m.pool.Do(vocabParts(m.c), func(worker, part int) {
		first := part * mlmRows
		f(worker, part, first, min(mlmRows, m.c.VocabSize-first))
	})
}

// mlmLogits computes the logits of a.columns, and the largest logit and the sum
// of exponentials of every part.
func (m *model[T]) mlmLogits() {
	a, h, w := &m.a.mlm, m.c.HiddenSize, m.a.mlm.width
	m.eachPart(func(worker, part, first, n int) {
		logits, top, sum := a.logits[first*w:(first+n)*w], a.top[part*w:(part+1)*w], a.sum[part*w:(part+1)*w]
		m.gemm.MulPacked(worker, n, w, kernel.Rows(m.p.word.w[first*h:], h), &a.columns, logits, w, false)
		for j := range top {
			top[j] = T(math.Inf(-1))
		}
		for i := range n {
			m.set.AddMax(logits[i*w:(i+1)*w], top, m.p.decoderBias.w[first+i])
		}
		clear(sum)
		for i := range n {
			m.set.ExpSums(sum, logits[i*w:(i+1)*w], top)
		}
	})
}

// mlmLoss returns the loss of a column and records its shift and scale. If
// several logits are the largest, the first one is the prediction.
func (m *model[T]) mlmLoss(j, label int, coef float64) rowLoss {
	a, w := &m.a.mlm, m.a.mlm.width
	parts := vocabParts(m.c)
	first := 0 // first part with the largest logit
	for part := range parts {
		if a.top[part*w+j] > a.top[first*w+j] {
			first = part
		}
	}
	top, sum := float64(a.top[first*w+j]), 0.0
	for part := range parts {
		sum += float64(a.sum[part*w+j]) * math.Exp(float64(a.top[part*w+j])-top)
	}
	target := a.logits[label*w+j]
	best, end := first*mlmRows, min((first+1)*mlmRows, m.c.VocabSize)
	for best < end-1 && float64(a.logits[best*w+j]) != top {
		best++
	}
	a.shift[j], a.scale[j] = T(top), T(coef/sum)
	return rowLoss{loss: math.Log(sum) + top - float64(target), hit: best == label && float64(target) == top, best: int32(best)}
}

// mlmWordGrad replaces logits by their gradients and adds the gradients of the
// decoder.
func (m *model[T]) mlmWordGrad(labels []int32, coef func(j int) T) {
	a, h, w := &m.a.mlm, m.c.HiddenSize, m.a.mlm.width
	db := m.p.decoderBias.dw
	m.eachPart(func(worker, _, first, n int) {
		for i := first; i < first+n; i++ {
			db[i] += m.set.ExpScale(a.logits[i*w:(i+1)*w], a.shift, a.scale)
		}
		for j, label := range labels {
			if i := int(label); i >= first && i < first+n {
				a.logits[i*w+j] -= coef(j)
				db[i] -= coef(j)
			}
		}
		m.gemm.MulPacked(worker, n, h, kernel.Rows(a.logits[first*w:], w), &a.rows, m.p.word.dw[first*h:], h, true)
	})
}

// appendLogits appends the logits of n tokens, one row for each token.
func (m *model[T]) appendLogits(dst []float32, n int) []float32 {
	const rows = 64 // rows that a transposing pass reads at once
	v, w := m.c.VocabSize, m.a.mlm.width
	at := len(dst)
	dst = slices.Grow(dst, n*v)[:at+n*v]
	for first := 0; first < v; first += rows {
		for j := range n {
			for i := first; i < min(v, first+rows); i++ {
				dst[at+j*v+i] = float32(m.a.mlm.logits[i*w+j])
			}
		}
	}
	return dst
}

// mlmGrad propagates the gradient of the decoder's input to a.dy, the gradient
// of the encoder's output. A token may be masked twice; rows are added in
// order.
func (m *model[T]) mlmGrad(b *trainer.Batch) {
	a, h, n := &m.a.mlm, m.c.HiddenSize, b.Masked()
	m.normGrad(a.dx, a.dy, n, &m.p.transformNorm, &a.norm)
	m.rows(n, h, func(lo, hi int) { m.set.GELUGrad(a.dx[lo*h:hi*h], a.u[lo*h:hi*h], m.c.Activation.Tanh()) })
	m.biasGrad(m.p.transform.db, a.dx, n)
	m.linearGrad(a.dx, a.x, n, &m.p.transform, a.dy, false)
	for i, row := range b.MaskedIndex {
		m.set.Add(m.a.dy[m.a.selected.at(row)*h:], a.dy[i*h:(i+1)*h])
	}
}
