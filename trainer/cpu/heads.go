package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// A pass selects what the heads compute besides the sums of their losses.
type pass[T kernel.Float] struct {
	train bool         // compute gradients, including a.dy
	coef  trainer.Coef // coefficients of the loss terms, if train is set
	out   *trainer.Outputs
}

// heads computes all heads and their losses. With p.train it sets a.dy, the
// gradient of the encoder's output.
func (m *model[T]) heads(b *trainer.Batch, p pass[T]) trainer.Sums {
	sums := trainer.Sums{Tokens: float64(b.Tokens()), Sequences: float64(b.Sequences())}
	if p.train {
		clear(m.a.dy[:m.behindAttention(b, m.c.Layers-1).n*m.c.HiddenSize])
	}
	if p.out.Want&trainer.OutputHidden != 0 {
		p.out.Hidden = appendFloat32(p.out.Hidden[:0], m.output()[:b.Tokens()*m.c.HiddenSize])
	}
	if m.h.MLM {
		m.mlm(b, p, &sums)
	}
	if m.h.Pooled() {
		m.pooler(b, p, &sums)
	}
	if m.h.Span {
		m.span(b, p, &sums)
	}
	return sums
}

// pooler computes the pooled output and the heads that use it.
func (m *model[T]) pooler(b *trainer.Batch, p pass[T], sums *trainer.Sums) {
	a, h, n := &m.a, m.c.HiddenSize, b.Sequences()
	for s := range n {
		copy(a.first[s*h:(s+1)*h], m.output()[a.selected.at(b.CuSeqlens[s])*h:])
	}
	pooled := a.pooled[:n*h]
	m.linear(pooled, a.first, n, &m.p.pooler)
	m.addBias(pooled, n, m.p.pooler.b)
	for i, v := range pooled {
		pooled[i] = T(math.Tanh(float64(v)))
	}
	if p.out.Want&trainer.OutputPooled != 0 {
		p.out.Pooled = appendFloat32(p.out.Pooled[:0], pooled)
	}
	clear(a.dpooled[:n*h])
	if m.h.NSP {
		m.nsp(b, p, sums)
	}
	if m.h.ClassifierWidth() > 0 {
		m.classify(b, p, sums)
	}
	if !p.train {
		return
	}
	dpooled := a.dpooled[:n*h]
	for i, y := range pooled {
		dpooled[i] *= 1 - y*y
	}
	m.biasGrad(m.p.pooler.db, dpooled, n)
	m.linearGrad(dpooled, a.first, n, &m.p.pooler, a.dropped, false)
	for s := range n {
		m.set.Add(a.dy[a.selected.at(b.CuSeqlens[s])*h:], a.dropped[s*h:(s+1)*h])
	}
}

// nsp computes next-sentence prediction: two logits from the pooled output.
func (m *model[T]) nsp(b *trainer.Batch, p pass[T], sums *trainer.Sums) {
	n, d := b.Sequences(), &m.p.nsp
	logits := make([]T, n*d.out)
	m.linear(logits, m.a.pooled, n, d)
	m.addBias(logits, n, d.b)
	if p.out.Want&trainer.OutputNSPLogits != 0 {
		p.out.NSPLogits = appendFloat32(p.out.NSPLogits[:0], logits)
	}
	for s, label := range b.NSPLabels {
		row := logits[s*d.out : (s+1)*d.out]
		if label == trainer.NoLabel {
			clear(row)
			continue
		}
		l := m.crossEntropy(row, label, T(p.coef.NSP))
		sums.NSPLoss += l.loss
		sums.NSPCorrect += l.correct()
		sums.NSPCount++
	}
	if p.train {
		m.biasGrad(d.db, logits, n)
		m.linearGrad(logits, m.a.pooled, n, d, m.a.dpooled, true)
	}
}

// classify computes a classifier or a regression from the pooled output after
// dropout.
func (m *model[T]) classify(b *trainer.Batch, p pass[T], sums *trainer.Sums) {
	n, h, d := b.Sequences(), m.c.HiddenSize, &m.p.classifier
	input := m.a.dropped[:n*h]
	copy(input, m.a.pooled)
	m.dropPooled(b, input)
	logits := make([]T, n*d.out)
	m.linear(logits, input, n, d)
	m.addBias(logits, n, d.b)
	if p.out.Want&trainer.OutputLogits != 0 {
		p.out.Logits = appendFloat32(p.out.Logits[:0], logits)
	}
	if m.h.Regression {
		regress(b, logits, p.coef.Label, sums)
	} else {
		m.classes(b, logits, p.coef.Label, sums)
	}
	if p.train {
		m.biasGrad(d.db, logits, n)
		dinput := make([]T, n*h)
		m.linearGrad(logits, input, n, d, dinput, false)
		m.dropPooled(b, dinput)
		m.set.Add(m.a.dpooled, dinput)
	}
}

func (m *model[T]) dropPooled(b *trainer.Batch, x []T) {
	h := m.c.HiddenSize
	for s, position := range b.Sequence {
		dropout.Hidden(m.pooled, x[s*h:(s+1)*h], position, dropout.At(dropout.Pooled, 0), 0)
	}
}

// classes adds the classifier's losses to sums and replaces the logits by their
// gradients.
func (m *model[T]) classes(b *trainer.Batch, logits []T, coef float64, sums *trainer.Sums) {
	n := m.h.Labels
	for s, label := range b.Labels {
		row := logits[s*n : (s+1)*n]
		if label == trainer.NoLabel {
			clear(row)
			continue
		}
		l := m.crossEntropy(row, label, T(coef))
		sums.LabelLoss += l.loss
		sums.LabelCorrect += l.correct()
		sums.LabelCount++
	}
}

// regress adds the squared errors of scores to sums and replaces the scores by
// their gradients.
func regress[T kernel.Float](b *trainer.Batch, scores []T, coef float64, sums *trainer.Sums) {
	for s, want := range b.Scores {
		if math.IsNaN(float64(want)) {
			scores[s] = 0
			continue
		}
		d := float64(scores[s]) - float64(want)
		sums.LabelLoss += d * d
		sums.LabelCount++
		scores[s] = T(2 * d * coef)
	}
}

// span computes the start and end of an answer: two logits for each token, a
// softmax over the tokens of each sequence, and the mean of both losses.
func (m *model[T]) span(b *trainer.Batch, p pass[T], sums *trainer.Sums) {
	t, d := b.Tokens(), &m.p.spans
	logits := make([]T, t*2)
	m.linear(logits, m.output(), t, d)
	m.addBias(logits, t, d.b)
	if p.out.Want&trainer.OutputSpans != 0 {
		p.out.Spans = appendFloat32(p.out.Spans[:0], logits)
	}
	for s := range b.Sequences() {
		part := logits[2*b.CuSeqlens[s] : 2*b.CuSeqlens[s+1]]
		if b.Starts[s] == trainer.NoLabel {
			clear(part)
			continue
		}
		start := m.endpoint(part, 0, b.Starts[s], T(p.coef.Label/2))
		end := m.endpoint(part, 1, b.Ends[s], T(p.coef.Label/2))
		sums.LabelLoss += (start.loss + end.loss) / 2
		sums.LabelCorrect += start.correct() * end.correct()
		sums.LabelCount++
	}
	if p.train {
		m.biasGrad(d.db, logits, t)
		m.linearGrad(logits, m.output(), t, d, m.a.dy, true)
	}
}

// endpoint returns the loss of the start (column 0) or the end (column 1) of an
// answer, and replaces this column of a sequence's span logits by its gradient.
func (m *model[T]) endpoint(part []T, column int, label int32, coef T) rowLoss {
	values := make([]T, len(part)/2)
	for i := range values {
		values[i] = part[2*i+column]
	}
	l := m.crossEntropy(values, label, coef)
	for i, v := range values {
		part[2*i+column] = v
	}
	return l
}
