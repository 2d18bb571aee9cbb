package cuda

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/dropout"
)

// A pass is the input and the output of the heads for one batch.
type pass struct {
	coef  trainer.Coef     // coefficients of the loss terms; zero in evaluation
	out   *trainer.Outputs // gets the outputs selected by out.Want
	batch *trainer.Batch   // nil in training
}

// Indexes of the sums on the device. Each sum has three values: Σ weight·loss,
// Σ weight, Σ weight·hit, where hit is 1 for a right prediction. Evaluation has
// separate sums, which begin at index evaluation, so that it can run between the
// micro-batches of a step.
const (
	sumMLM      = iota
	sumNSP      // next sentence
	sumLabel    // classification, regression, or start and end of spans
	sumSpanHits // spans with start and end both right
	sumsOfAPass // number of sums in a pass
	evaluation  = sumsOfAPass
	sumSlots    = 2 * sumsOfAPass
)

// sums returns the address of a sum of the current pass. which is sumMLM, sumNSP,
// sumLabel or sumSpanHits.
func (m *model) sums(which int) device.Pointer {
	if !m.training {
		which += evaluation
	}
	return m.b.sums.Add(which * 3 * 8)
}

// gradient returns the kernels' argument that requests gradients: 1 in training, 0
// in evaluation.
func (m *model) gradient() int32 {
	if m.training {
		return 1
	}
	return 0
}

// lossScale returns the device address of the loss scale, by which the kernels
// multiply all gradients.
func (m *model) lossScale() device.Pointer { return m.b.control.Add(lossScaleOffset) }

// heads computes all heads and adds their losses to the sums. In training it also
// computes the heads' gradients and sets b.dy, the gradient of the encoder's output.
func (m *model) heads(d *batch, p pass) {
	if m.training {
		m.clear(m.b.dy, int(d.rows.N)*m.c.HiddenSize*m.element.Size())
	} else {
		m.clear(m.sums(0), sumsOfAPass*3*8)
	}
	if p.out.Want&trainer.OutputHidden != 0 {
		p.out.Hidden = m.appendElements(p.out.Hidden[:0], m.output(), p.batch.Tokens()*m.c.HiddenSize)
	}
	if m.h.MLM {
		m.mlm(d, p)
	}
	if m.h.Pooled() {
		m.pooler(d, p)
	}
	if m.h.Span {
		m.span(d, p)
	}
}

// crossEntropy computes the loss of each row of logits (n, width) and adds it to
// the sum t.sum. Only the first classes columns are logits; the others are padding.
// logits are elements if prefix is "", float32 if it is single. In training the
// logits are replaced by their gradients.
func (m *model) crossEntropy(prefix string, logits device.Pointer, t targets, n, classes, width int) {
	m.launch(prefix+"cross_entropy", device.Dim{X: n}, logits, t.bias, t.labels, t.weights, m.lossScale(), m.b.loss, m.b.hit, t.best,
		int32(classes), int32(width), float32(t.coef), m.gradient())
	m.sumLosses(t.sum, m.b.hit, t.weights, t.labels, n)
}

// targets are the arguments of the cross-entropy kernels besides the logits: the
// bias to add to them, the label and the weight of each row, and best, which gets
// the class with the largest logit.
type targets struct {
	bias, labels, weights, best device.Pointer // best and weights may be zero
	coef                        float64        // coefficient of the loss term
	sum                         int            // index of the sum to add to: sumMLM, …
}

// sumLosses adds the losses in b.loss, the weights and the hits of n rows to the
// sum with index sum. Rows without a label do not count.
func (m *model) sumLosses(sum int, hit, weights, labels device.Pointer, n int) {
	m.launch("sum_losses", device.Dim{X: 1}, m.sums(sum), m.b.loss, hit, weights, labels, int32(n))
}

// pooler computes the pooled output and the heads that use it.
func (m *model) pooler(d *batch, p pass) {
	b, h, n := &m.b.pooler, m.c.HiddenSize, d.pooled
	m.gather(b.first, m.output(), d.first, n)
	m.linear(b.y, b.first, n, m.p.pooler)
	m.each("tanh_forward", n*h, b.y, m.p.pooler.b, int64(n*h), int32(h))
	if p.out.Want&trainer.OutputPooled != 0 {
		p.out.Pooled = m.appendElements(p.out.Pooled[:0], b.y, d.real*h)
	}
	if m.training {
		m.clear(b.dy, n*h*m.element.Size())
	}
	if m.h.NSP {
		m.nsp(d, p)
	}
	if m.h.ClassifierWidth() > 0 {
		m.classify(d, p)
	}
	if !m.training {
		return
	}
	m.each("tanh_backward", n*h, b.dy, b.y, int64(n*h))
	m.denseGrad(b.dy, b.first, n, m.p.pooler)
	m.inputGrad(b.dx, b.dy, n, m.p.pooler, 0)
	m.addRows("add_rows_elem", m.b.dy, b.dx, d.firsts)
}

// denseGrad adds the gradients of the weight and bias of y = x·Wᵀ + b, given dy
// (rows, out) and x (rows, in), to d.dw and d.db.
func (m *model) denseGrad(dy, x device.Pointer, rows int, d dense) {
	m.columns(d.db, dy, rows, d.out)
	m.linearGrad(dy, x, rows, d)
}

// logitsGrad adds the gradients of a head's weight and bias, given the head's input
// x. It first rounds the gradients of the logits, which crossEntropy left in
// b.logits, to b.dlogits.
func (m *model) logitsGrad(x device.Pointer, rows int, head dense) {
	if n := rows * head.out; m.b.dlogits != m.b.logits {
		m.each("round_down", n, m.b.dlogits, m.b.logits, int64(n))
	}
	m.denseGrad(m.b.dlogits, x, rows, head)
}

// nsp computes next-sentence prediction: two logits from the pooled output.
func (m *model) nsp(d *batch, p pass) {
	b, x, n, head := &m.b.pooler, m.b.logits, d.pooled, m.p.nsp
	m.logits(x, b.y, n, head)
	if p.out.Want&trainer.OutputNSPLogits != 0 {
		p.out.NSPLogits = m.appendLogits(p.out.NSPLogits[:0], d.real, head)
	}
	m.crossEntropy(single, x, targets{bias: head.master, labels: d.nsp, coef: p.coef.NSP, sum: sumNSP}, n, head.out, head.out)
	if m.training {
		m.logitsGrad(b.y, n, head)
		m.inputGrad(b.dy, m.b.dlogits, n, head, 1)
	}
}

// classify computes a classifier or a regression from the pooled output after
// dropout.
func (m *model) classify(d *batch, p pass) {
	b, x, n, h, head := &m.b.pooler, m.b.logits, d.pooled, m.c.HiddenSize, m.p.classifier
	drop := m.dropping(m.c.PooledDropout(), dropout.Pooled, 0)
	m.launch("dropout_rows", rowsGrid(n), b.dropped, b.y, d.firstRows, drop, int32(h))
	m.logits(x, b.dropped, n, head)
	if p.out.Want&trainer.OutputLogits != 0 {
		p.out.Logits = m.appendLogits(p.out.Logits[:0], d.real, head)
	}
	if m.h.Regression {
		m.launch(single+"squared_error", device.Dim{X: blocks(n, 256)}, x, head.master, d.scores, m.lossScale(), m.b.loss, int32(n), float32(p.coef.Label), m.gradient())
		m.sumLosses(sumLabel, m.b.loss, 0, d.scoreLabel, n) // hits do not count
	} else {
		m.crossEntropy(single, x, targets{bias: head.master, labels: d.labels, coef: p.coef.Label, sum: sumLabel}, n, head.out, head.out)
	}
	if !m.training {
		return
	}
	m.logitsGrad(b.dropped, n, head)
	m.inputGrad(b.dx, m.b.dlogits, n, head, 0)
	m.launch("dropout_rows", rowsGrid(n), b.dx, b.dx, d.firstRows, drop, int32(h))
	m.each("add", n*h, b.dy, b.dx, int64(n*h))
}

// span computes start and end of an answer: two logits for each token, a softmax
// over the tokens of each sequence, and the mean of both losses.
func (m *model) span(d *batch, p pass) {
	x, t, n, head := m.b.logits, d.tokens, d.sequences, m.p.spans
	m.logits(x, m.output(), t, head)
	if p.out.Want&trainer.OutputSpans != 0 {
		p.out.Spans = m.appendLogits(p.out.Spans[:0], p.batch.Tokens(), head)
	}
	m.launch(single+"span_entropy", device.Dim{X: n, Y: 2}, x, head.master, uint64(d.all.Cu), d.spans, m.lossScale(), m.b.loss, m.b.hit, float32(p.coef.Label/2), m.gradient())
	ends := m.b.hit.Add(4 * n)
	m.sumLosses(sumLabel, m.b.hit, 0, d.spans, 2*n)
	m.sumLosses(sumSpanHits, ends, m.b.hit, d.spans, n) // Σ hit·hit: both ends are right
	if m.training {
		m.logitsGrad(m.output(), t, head)
		m.inputGrad(m.b.dy, m.b.dlogits, t, head, 1)
	}
}

// appendElements reads n elements at an address of the device and appends them to
// dst as float32.
func (m *model) appendElements(dst []float32, from device.Pointer, n int) []float32 {
	size := m.element.Size()
	for n > 0 && m.err == nil {
		k := min(n, stagingBytes/size)
		dst = appendFloats(dst, m.download(from, k*size), m.element)
		from, n = from.Add(k*size), n-k
	}
	return dst
}

// appendLogits reads rows of b.logits, adds the head's bias and appends the result
// to dst. (b.logits has no bias: the kernels add it when they read the logits.)
func (m *model) appendLogits(dst []float32, rows int, head dense) []float32 {
	bias := m.appendFloat32(nil, head.master, head.out)
	at := len(dst)
	dst = m.appendFloat32(dst, m.b.logits, rows*head.out)
	for i := range dst[at:] {
		dst[at+i] += bias[i%head.out]
	}
	return dst
}

// readSums waits for the device and returns the sums that begin at index first: 0
// for training, evaluation for evaluation.
func (m *model) readSums(first int) trainer.Sums {
	m.toHost(m.results[controlBytes:], m.b.sums)
	if m.sync() != nil {
		return trainer.Sums{}
	}
	return m.sumsFrom(first)
}

// sumsFrom returns the sums that begin at index first, from the copy in m.results.
func (m *model) sumsFrom(first int) trainer.Sums {
	at := func(which int) (v [3]float64) {
		for i := range v {
			v[i] = math.Float64frombits(uint64At(m.results[controlBytes:], (first+which)*3+i))
		}
		return v
	}
	mlm, nsp, label := at(sumMLM), at(sumNSP), at(sumLabel)
	s := trainer.Sums{MLMLoss: mlm[0], MLMWeight: mlm[1], MLMCorrect: mlm[2], NSPLoss: nsp[0], NSPCount: nsp[1], NSPCorrect: nsp[2]}
	switch {
	case m.h.Span:
		s.LabelLoss, s.LabelCount, s.LabelCorrect = label[0]/2, label[1]/2, at(sumSpanHits)[2]
	case m.h.Regression:
		s.LabelLoss, s.LabelCount = label[0], label[1]
	case m.h.Labels > 0:
		s.LabelLoss, s.LabelCount, s.LabelCorrect = label[0], label[1], label[2]
	}
	return s
}
