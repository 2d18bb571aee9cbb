package cuda

import (
	"encoding/binary"
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/dropout"
	"pretext/trainer/internal/bert"
)

// heads computes all heads on the encoder's output: losses, outputs and gradients. It
// holds the sums of losses on the device and the memory of the masked-LM head, the pooler and
// the logits. Dimensions in comments: rows of the pooler (S), masked tokens in a chunk (M),
// vocabulary (V), with the capacities in type shape; hidden size (H). A buffer without a type
// in its comment holds elements.
type heads struct {
	*compute
	staging    *staging
	h          trainer.Heads
	p          *bert.Parameters[dense, norm, table]
	vocabulary int // rounded up

	sums      device.Pointer // float64 (sumSlots, 3)
	sumsHost  []byte         // page-locked, for sums
	loss, hit device.Pointer // float32: loss of each row, and 1 if its prediction is right; sized for the largest head
	mlm       maskedBuffers
	read      *transform // of what ModernBERT's other heads read; nil: BERT
	pooler    poolerBuffers
	raw       device.Pointer // float32: logits of all heads except masked LM; the heads run one after another
	dlogits   device.Pointer // gradients of raw as elements; equals raw in fp32
}

// A transform is the memory of the block before a decoder, norm.y = LN(gelu(x·Wᵀ + b)), for
// a number of rows (N). BERT has it before the masked-LM decoder, ModernBERT before every
// head, without the bias.
type transform struct {
	x, u, g    device.Pointer // (N, H)
	norm       normed         // (N, H)
	do, dg, dx device.Pointer // (N, H)
}

// request requests the memory for n rows, without that of x; name begins the names of the
// buffers.
func (t *transform) request(r *requests, name string, n int) {
	for part, at := range map[string]*device.Pointer{"u": &t.u, "g": &t.g, "do": &t.do, "dg": &t.dg, "dx": &t.dx} {
		r.elements(name+" "+part, at, n*r.c.HiddenSize)
	}
	r.normed(name+" norm", &t.norm, n)
}

// maskedBuffers are the buffers of the masked-LM head for one chunk of masked
// tokens.
type maskedBuffers struct {
	transform
	logits device.Pointer // (M, V)
	best   device.Pointer // int32 (M): most probable word of each masked token
}

// poolerBuffers are the buffers of the pooler.
type poolerBuffers struct {
	first, y, dropped device.Pointer // (S, H)
	dy, dx            device.Pointer // (S, H)
}

// request requests the buffers of the heads that the model has.
func (s *heads) request(r *requests) {
	h, n, m := r.c.HiddenSize, r.s.pooled, r.s.chunk
	r.want("sums", &s.sums, 8*3*sumSlots)
	r.floats("losses", &s.loss, max(n, m, 2*r.s.sequences))
	r.floats("hits", &s.hit, max(n, m, 2*r.s.sequences))
	if p := &s.mlm; s.h.MLM {
		r.elements("masked x", &p.x, m*h)
		p.request(r, "masked", m)
		r.elements("masked logits", &p.logits, m*r.s.vocabulary)
		r.floats("best", &p.best, m)
	}
	switch p := &s.pooler; {
	case r.c.Modern != nil && s.h.Span:
		s.read = &transform{}
		s.read.request(r, "read", r.s.tokens)
	case r.c.Modern != nil && s.h.Pooled():
		s.read = &transform{}
		r.elements("read x", &s.read.x, n*h)
		s.read.request(r, "read", n)
	case s.h.Pooled():
		for name, at := range map[string]*device.Pointer{"first": &p.first, "y": &p.y, "dropped": &p.dropped, "dy": &p.dy, "dx": &p.dx} {
			r.elements("pooler "+name, at, n*h)
		}
	}
	logits := n * max(2, s.h.ClassifierWidth())
	if s.h.Span {
		logits = max(logits, 2*r.s.tokens)
	}
	r.floats("logits", &s.raw, logits)
	if r.element != 4 {
		r.elements("gradients of logits", &s.dlogits, logits)
	}
}

// A pass is the input and the output of the heads for one batch.
type pass struct {
	d      *batch
	hidden device.Pointer   // the encoder's output: d.rows
	dy     device.Pointer   // in training: receives the gradient of hidden
	coef   trainer.Coef     // coefficients of the loss terms; zero in evaluation
	out    *trainer.Outputs // gets the outputs selected by out.Want
	tokens int              // tokens of the batch without padding
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

// sum returns the address of a sum of the current pass. which is sumMLM, sumNSP,
// sumLabel or sumSpanHits.
func (s *heads) sum(which int) device.Pointer {
	if !s.training {
		which += evaluation
	}
	return s.sums.Add(which * 3 * 8)
}

// forward computes all heads and adds their losses to the sums. In training it also
// computes the heads' gradients and sets p.dy.
func (s *heads) forward(p pass) {
	if s.training {
		s.clear(p.dy, int(p.d.rows.all.N)*s.config.HiddenSize*s.element.Size())
	} else {
		s.clear(s.sum(0), sumsOfAPass*3*8)
	}
	if p.out.Want&trainer.OutputHidden != 0 {
		p.out.Hidden = s.staging.appendElements(s.element, p.out.Hidden[:0], p.hidden, p.tokens*s.config.HiddenSize)
	}
	if s.h.MLM {
		s.masked(p)
	}
	switch {
	case s.read != nil:
		s.modern(p)
	case s.h.Pooled():
		s.pool(p)
		fallthrough
	default:
		if s.h.Span {
			s.span(p, p.hidden, p.dy)
		}
	}
}

// crossEntropy computes the loss of each row of logits (n, width) and adds it to the sum
// t.sum. Only the first columns, as many as classes, are logits; the others are padding. If
// prefix is "", logits has elements; if prefix is single, it has float32. In training the
// logits are replaced by their gradients.
func (s *heads) crossEntropy(prefix string, logits device.Pointer, t targets, n, classes, width int) {
	s.launch(prefix+"cross_entropy", device.Dim{X: n}, logits, t.bias, t.labels, t.weights, s.lossScale(), s.loss, s.hit, t.best,
		int32(classes), int32(width), float32(t.coef), s.gradient())
	s.sumLosses(t.sum, s.hit, t.weights, t.labels, n)
}

// targets are the arguments of the cross-entropy kernels besides the logits: the
// bias to add to them, the label and the weight of each row, and best, which gets
// the class with the largest logit.
type targets struct {
	bias, labels, weights, best device.Pointer // best and weights may be zero
	coef                        float64        // coefficient of the loss term
	sum                         int            // index of the sum to add to: sumMLM, …
}

// sumLosses adds the losses in s.loss, the weights and the hits of n rows to the sum with
// index sum. Rows without a label are ignored.
func (s *heads) sumLosses(sum int, hit, weights, labels device.Pointer, n int) {
	s.launch("sum_losses", device.Dim{X: 1}, s.sum(sum), s.loss, hit, weights, labels, int32(n))
}

// pool computes the pooled output and the heads that use it.
func (s *heads) pool(p pass) {
	b, h, n := &s.pooler, s.config.HiddenSize, p.d.pooled.n
	s.gather(b.first, p.hidden, p.d.pooled.first, n)
	s.linear(b.y, b.first, n, s.p.Pooler)
	s.each("tanh_forward", n*h, b.y, s.p.Pooler.b, int64(n*h), int32(h))
	if p.out.Want&trainer.OutputPooled != 0 {
		p.out.Pooled = s.staging.appendElements(s.element, p.out.Pooled[:0], b.y, p.d.real*h)
	}
	if s.training {
		s.clear(b.dy, n*h*s.element.Size())
	}
	if s.h.NSP {
		s.nsp(p)
	}
	if s.h.ClassifierWidth() > 0 {
		s.classify(p)
	}
	if !s.training {
		return
	}
	s.each("tanh_backward", n*h, b.dy, b.y, int64(n*h))
	s.denseGrad(b.dy, b.first, n, s.p.Pooler, plain)
	s.inputGrad(b.dx, b.dy, n, s.p.Pooler, 0)
	s.addRows("add_rows_elem", p.dy, b.dx, p.d.pooled.firsts)
}

// logitsGrad adds the gradients of a head's weight and bias, given the head's input x. It
// first rounds the gradients of the logits from raw, where crossEntropy has written them, to
// elements in dlogits.
func (s *heads) logitsGrad(x device.Pointer, rows int, head dense) {
	if n := rows * head.out; s.dlogits != s.raw {
		s.each("round_down", n, s.dlogits, s.raw, int64(n))
	}
	s.denseGrad(s.dlogits, x, rows, head, plain)
}

// nsp computes next-sentence prediction: two logits from the pooled output.
func (s *heads) nsp(p pass) {
	b, x, n, head := &s.pooler, s.raw, p.d.pooled.n, s.p.NSP
	s.logits(x, b.y, n, head)
	if p.out.Want&trainer.OutputNSPLogits != 0 {
		p.out.NSPLogits = s.appendLogits(p.out.NSPLogits[:0], p.d.real, head)
	}
	s.crossEntropy(single, x, targets{bias: head.master, labels: p.d.pooled.nsp, coef: p.coef.NSP, sum: sumNSP}, n, head.out, head.out)
	if s.training {
		s.logitsGrad(b.y, n, head)
		s.inputGrad(b.dy, s.dlogits, n, head, 1)
	}
}

// classify computes a classifier or a regression from the pooled output after
// dropout.
func (s *heads) classify(p pass) {
	b, n, h := &s.pooler, p.d.pooled.n, s.config.HiddenSize
	drop := s.dropping(s.config.PooledDropout(), dropout.Pooled, 0)
	s.launch("dropout_rows", rowsGrid(n), b.dropped, b.y, p.d.pooled.rows, drop, int32(h))
	s.labels(p, b.dropped, b.dx)
	if !s.training {
		return
	}
	s.launch("dropout_rows", rowsGrid(n), b.dx, b.dx, p.d.pooled.rows, drop, int32(h))
	s.each("add", n*h, b.dy, b.dx, int64(n*h))
}

// labels computes a classifier or a regression from input, one row for each sequence. In
// training, dinput becomes the gradient of input.
func (s *heads) labels(p pass, input, dinput device.Pointer) {
	x, n, head := s.raw, p.d.pooled.n, s.p.Classifier
	s.logits(x, input, n, head)
	if p.out.Want&trainer.OutputLogits != 0 {
		p.out.Logits = s.appendLogits(p.out.Logits[:0], p.d.real, head)
	}
	if s.h.Regression {
		s.launch(single+"squared_error", device.Dim{X: blocks(n, 256)}, x, head.master, p.d.pooled.scores, s.lossScale(), s.loss, int32(n), float32(p.coef.Label), s.gradient())
		s.sumLosses(sumLabel, s.loss, 0, p.d.pooled.scoreLabel, n) // the hits of a regression have no meaning
	} else {
		s.crossEntropy(single, x, targets{bias: head.master, labels: p.d.pooled.labels, coef: p.coef.Label, sum: sumLabel}, n, head.out, head.out)
	}
	if s.training {
		s.logitsGrad(input, n, head)
		s.inputGrad(dinput, s.dlogits, n, head, 0)
	}
}

// span computes start and end of an answer: two logits for each token, a softmax
// over the tokens of each sequence, and the mean of both losses. It reads input, one row
// for each token, and in training adds its gradient to dinput.
func (s *heads) span(p pass, input, dinput device.Pointer) {
	x, t, n, head := s.raw, p.d.tokens, p.d.sequences, s.p.Spans
	s.logits(x, input, t, head)
	if p.out.Want&trainer.OutputSpans != 0 {
		p.out.Spans = s.appendLogits(p.out.Spans[:0], p.tokens, head)
	}
	s.launch(single+"span_entropy", device.Dim{X: n, Y: 2}, x, head.master, uint64(p.d.all.Cu), p.d.spans, s.lossScale(), s.loss, s.hit, float32(p.coef.Label/2), s.gradient())
	ends := s.hit.Add(4 * n)
	s.sumLosses(sumLabel, s.hit, 0, p.d.spans, 2*n)
	s.sumLosses(sumSpanHits, ends, s.hit, p.d.spans, n) // the product of both hits is 1 if both ends are right
	if s.training {
		s.logitsGrad(input, t, head)
		s.inputGrad(dinput, s.dlogits, t, head, 1)
	}
}

// appendLogits reads rows of raw, adds the head's bias and appends the result
// to dst. (raw has no bias: the kernels add it when they read the logits.)
func (s *heads) appendLogits(dst []float32, rows int, head dense) []float32 {
	bias := s.staging.appendFloat32(nil, head.master, head.out)
	at := len(dst)
	dst = s.staging.appendFloat32(dst, s.raw, rows*head.out)
	for i := range dst[at:] {
		dst[at+i] += bias[i%head.out]
	}
	return dst
}

// sumsFrom returns the sums that begin at index first, from their copy on the host.
func (s *heads) sumsFrom(first int) trainer.Sums {
	at := func(which int) (v [3]float64) {
		for i := range v {
			v[i] = math.Float64frombits(binary.LittleEndian.Uint64(s.sumsHost[8*((first+which)*3+i):]))
		}
		return v
	}
	mlm, nsp, label := at(sumMLM), at(sumNSP), at(sumLabel)
	total := trainer.Sums{MLMLoss: mlm[0], MLMWeight: mlm[1], MLMCorrect: mlm[2], NSPLoss: nsp[0], NSPCount: nsp[1], NSPCorrect: nsp[2]}
	switch {
	case s.h.Span:
		total.LabelLoss, total.LabelCount, total.LabelCorrect = label[0]/2, label[1]/2, at(sumSpanHits)[2]
	case s.h.Regression:
		total.LabelLoss, total.LabelCount = label[0], label[1]
	case s.h.Labels > 0:
		total.LabelLoss, total.LabelCount, total.LabelCorrect = label[0], label[1], label[2]
	}
	return total
}
