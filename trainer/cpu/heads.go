package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
	"pretext/trainer/internal/bert"
)

// heads computes all heads on the encoder's output: losses, outputs and gradients. It holds
// the memory of the pooler and of the masked-LM head. Shapes in comments use the
// maximum numbers of sequences (S) and masked tokens (M) of trainer.Options.
type heads[T kernel.Float] struct {
	*compute[T]
	h    trainer.Heads
	seed uint64 // seed of dropout
	p    *bert.Parameters[dense[T], norm[T], table[T]]
	mlm  mlmScratch[T]
	read *transform[T] // of what ModernBERT's other heads read

	mask    dropout.Mask // of the pooled output, in the current pass
	pooled  []T          // (S, H) after tanh
	first   []T          // (S, H) hidden rows of first tokens
	dropped []T          // (S, H) pooled output, dropped out
	dpooled []T          // (S, H) gradient of pooled
}

// A pass is the input and the output of the heads for one batch.
type pass[T kernel.Float] struct {
	batch  *trainer.Batch
	hidden []T              // the encoder's output: the selected rows
	rows   *bert.Selection  // of hidden
	drop   bool             // apply dropout
	dy     []T              // receives the gradient of hidden; nil: compute no gradients
	coef   trainer.Coef     // coefficients of the loss terms, if dy is set
	out    *trainer.Outputs // gets the outputs selected by out.Want
	sums   *trainer.Sums    // set by forward
}

func newHeads[T kernel.Float](c *compute[T], h trainer.Heads, o trainer.Options, p *bert.Parameters[dense[T], norm[T], table[T]]) *heads[T] {
	s := &heads[T]{compute: c, h: h, seed: o.Seed, p: p}
	if h.MLM {
		s.mlm = newMLMScratch(c, o)
	}
	switch n := o.Sequences * c.config.HiddenSize; {
	case c.config.Modern != nil && h.Span:
		s.read = newTransform(c, o.Tokens, o.Train)
	case c.config.Modern != nil && h.Pooled():
		s.read = newTransform(c, o.Sequences, o.Train)
	case h.Pooled():
		s.pooled, s.first, s.dropped, s.dpooled = make([]T, n), make([]T, n), make([]T, n), make([]T, n)
	}
	return s
}

// forward computes all heads and returns the sums of their losses. If p.dy is set, it also
// computes the gradients of hidden and of the heads' parameters.
func (s *heads[T]) forward(p pass[T]) trainer.Sums {
	b := p.batch
	p.sums = &trainer.Sums{Tokens: float64(b.Tokens()), Sequences: float64(b.Sequences())}
	s.mask = dropout.None()
	if p.drop {
		s.mask = dropout.New(s.seed, s.config.PooledDropout())
	}
	clear(p.dy)
	if p.out.Want&trainer.OutputHidden != 0 {
		p.out.Hidden = appendFloat32(p.out.Hidden[:0], p.hidden)
	}
	if s.h.MLM {
		s.masked(p)
	}
	switch {
	case s.read != nil:
		s.modern(p)
	case s.h.Pooled():
		s.pooler(p)
		fallthrough
	default:
		if s.h.Span {
			s.span(p, p.hidden, p.dy)
		}
	}
	return *p.sums
}

// pooler computes the pooled output and the heads that use it.
func (s *heads[T]) pooler(p pass[T]) {
	b, h, n := p.batch, s.config.HiddenSize, p.batch.Sequences()
	for i := range n {
		copy(s.first[i*h:(i+1)*h], p.hidden[p.rows.At(b.CuSeqlens[i])*h:])
	}
	pooled, dpooled := s.pooled[:n*h], s.dpooled[:n*h]
	s.affine(pooled, s.first, n, &s.p.Pooler)
	for i, v := range pooled {
		pooled[i] = T(math.Tanh(float64(v)))
	}
	if p.out.Want&trainer.OutputPooled != 0 {
		p.out.Pooled = appendFloat32(p.out.Pooled[:0], pooled)
	}
	clear(dpooled)
	if s.h.NSP {
		s.nsp(p)
	}
	if s.h.ClassifierWidth() > 0 {
		s.classify(p)
	}
	if p.dy == nil {
		return
	}
	for i, y := range pooled {
		dpooled[i] *= 1 - y*y
	}
	s.denseGrad(dpooled, s.first, n, &s.p.Pooler, s.dropped, false)
	for i := range n {
		s.set.Add(p.dy[p.rows.At(b.CuSeqlens[i])*h:], s.dropped[i*h:(i+1)*h])
	}
}

// nsp computes next-sentence prediction: two logits from the pooled output.
func (s *heads[T]) nsp(p pass[T]) {
	n, d := p.batch.Sequences(), &s.p.NSP
	logits := make([]T, n*d.out)
	s.affine(logits, s.pooled, n, d)
	if p.out.Want&trainer.OutputNSPLogits != 0 {
		p.out.NSPLogits = appendFloat32(p.out.NSPLogits[:0], logits)
	}
	s.classes(logits, p.batch.NSPLabels, T(p.coef.NSP), [3]*float64{&p.sums.NSPLoss, &p.sums.NSPCorrect, &p.sums.NSPCount})
	if p.dy != nil {
		s.denseGrad(logits, s.pooled, n, d, s.dpooled, true)
	}
}

// classify computes a classifier or a regression from the pooled output after
// dropout.
func (s *heads[T]) classify(p pass[T]) {
	n, h, d := p.batch.Sequences(), s.config.HiddenSize, &s.p.Classifier
	input := s.dropped[:n*h]
	copy(input, s.pooled)
	s.drop(p.batch, input)
	logits := s.labels(p, input)
	if p.dy != nil {
		dinput := make([]T, n*h)
		s.denseGrad(logits, input, n, d, dinput, false)
		s.drop(p.batch, dinput)
		s.set.Add(s.dpooled, dinput)
	}
}

// labels computes a classifier or a regression from input, one row for each sequence. It
// returns the gradients of the logits.
func (s *heads[T]) labels(p pass[T], input []T) []T {
	n, d := p.batch.Sequences(), &s.p.Classifier
	logits := make([]T, n*d.out)
	s.affine(logits, input, n, d)
	if p.out.Want&trainer.OutputLogits != 0 {
		p.out.Logits = appendFloat32(p.out.Logits[:0], logits)
	}
	if s.h.Regression {
		regress(p, logits)
	} else {
		s.classes(logits, p.batch.Labels, T(p.coef.Label), [3]*float64{&p.sums.LabelLoss, &p.sums.LabelCorrect, &p.sums.LabelCount})
	}
	return logits
}

// drop applies dropout in place to x, one row of hidden size for each sequence.
func (s *heads[T]) drop(b *trainer.Batch, x []T) {
	h := s.config.HiddenSize
	for i, position := range b.Sequence {
		dropout.Hidden(s.mask, x[i*h:(i+1)*h], position, dropout.At(dropout.Pooled, 0), 0)
	}
}

// classes adds, for each row of logits with a label, the loss, the hit and the count to the
// three sums. It replaces the logits by their gradients.
func (s *heads[T]) classes(logits []T, labels []int32, coef T, sums [3]*float64) {
	n := len(logits) / max(1, len(labels))
	for i, label := range labels {
		row := logits[i*n : (i+1)*n]
		if label == trainer.NoLabel {
			clear(row)
			continue
		}
		l := s.crossEntropy(row, label, coef)
		*sums[0] += l.loss
		*sums[1] += l.correct()
		*sums[2]++
	}
}

// regress adds the squared errors of scores to p.sums, and replaces the scores by their
// gradients.
func regress[T kernel.Float](p pass[T], scores []T) {
	for i, want := range p.batch.Scores {
		if math.IsNaN(float64(want)) {
			scores[i] = 0
			continue
		}
		d := float64(scores[i]) - float64(want)
		p.sums.LabelLoss += d * d
		p.sums.LabelCount++
		scores[i] = T(2 * d * p.coef.Label)
	}
}

// span computes the start and end of an answer: two logits for each token, a
// softmax over the tokens of each sequence, and the mean of both losses. It reads input and
// adds its gradient to dinput.
func (s *heads[T]) span(p pass[T], input, dinput []T) {
	b, t, d := p.batch, p.batch.Tokens(), &s.p.Spans
	logits := make([]T, t*2)
	s.affine(logits, input, t, d)
	if p.out.Want&trainer.OutputSpans != 0 {
		p.out.Spans = appendFloat32(p.out.Spans[:0], logits)
	}
	for i := range b.Sequences() {
		part := logits[2*b.CuSeqlens[i] : 2*b.CuSeqlens[i+1]]
		if b.Starts[i] == trainer.NoLabel {
			clear(part)
			continue
		}
		start := s.endpoint(part, 0, b.Starts[i], T(p.coef.Label/2))
		end := s.endpoint(part, 1, b.Ends[i], T(p.coef.Label/2))
		p.sums.LabelLoss += (start.loss + end.loss) / 2
		p.sums.LabelCorrect += start.correct() * end.correct()
		p.sums.LabelCount++
	}
	if p.dy != nil {
		s.denseGrad(logits, input, t, d, dinput, true)
	}
}

// endpoint returns the loss of the start (column 0) or the end (column 1) of an answer. It
// replaces this column of part, a sequence's span logits, by its gradient.
func (s *heads[T]) endpoint(part []T, column int, label int32, coef T) rowLoss {
	values := make([]T, len(part)/2)
	for i := range values {
		values[i] = part[2*i+column]
	}
	l := s.crossEntropy(values, label, coef)
	for i, v := range values {
		part[2*i+column] = v
	}
	return l
}
