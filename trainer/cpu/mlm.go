package cpu

import (
	"math"
	"slices"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// mlmColumns is the number of masked tokens in a chunk. The logits of one chunk are in
// memory at the same time.
const mlmColumns = 256

// mlmRows is the number of words in a part of the vocabulary, a thread's unit of work. It is
// small enough for the logits of a part to stay in the second-level cache. It does not
// depend on the number of threads, so that sums always have the same order.
const mlmRows = 252

// mlmScratch is the working memory of the masked-LM head.
type mlmScratch[T kernel.Float] struct {
	*transform[T] // of the masked tokens

	// Values of a chunk of up to mlmColumns masked tokens. n is their number, rounded
	// up to whole panels.
	width         int              // n
	columns, rows kernel.Packed[T] // the decoder's input as (H, n) and as (n, H)
	logits        []T              // (V, n)
	top, sum      []T              // (vocabulary parts, n) largest logit; sum of exp(logit − largest)
	shift, scale  []T              // (n) a probability's gradient is exp(logit − shift)·scale
	loss          []rowLoss        // (n)
}

func newMLMScratch[T kernel.Float](c *compute[T], o trainer.Options) mlmScratch[T] {
	widest, parts := c.gemm.Width(min(mlmColumns, o.Masked)), vocabParts(c.config)
	s := mlmScratch[T]{
		transform: newTransform(c, o.Masked, o.Train),
		logits:    large[T](c.config.VocabSize * widest), top: make([]T, parts*widest), sum: make([]T, parts*widest),
		shift: make([]T, widest), scale: make([]T, widest), loss: make([]rowLoss, widest),
	}
	return s
}

// masked computes the masked-LM head on the masked tokens: transform, LayerNorm, and the
// decoder tied to the word embedding. A token may be masked twice, so the rows of its
// gradient are added, in order.
func (s *heads[T]) masked(p pass[T]) {
	a, b, h, n := &s.mlm, p.batch, s.config.HiddenSize, p.batch.Masked()
	for i, row := range b.MaskedIndex {
		copy(a.x[i*h:(i+1)*h], p.hidden[p.rows.At(row)*h:])
	}
	s.transform(a.transform, n)
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = p.out.MLMLogits[:0]
	}
	p.out.MLMLosses, p.out.MLMBest = p.out.MLMLosses[:0], p.out.MLMBest[:0]
	for lo := 0; lo < n; lo += mlmColumns {
		s.mlmChunk(p, lo, min(n, lo+mlmColumns))
	}
	if p.dy == nil {
		return
	}
	s.transformGrad(a.transform, n)
	for i, row := range b.MaskedIndex {
		s.set.Add(p.dy[p.rows.At(row)*h:], a.dy[i*h:(i+1)*h])
	}
	s.round(p.dy)
}

// mlmChunk computes logits and losses of the masked tokens [lo, hi). When training it also
// computes the gradients of the decoder, and writes the gradient of the decoder's input to
// dy. Logits have a row for each word and a column for each token, so that the word vectors,
// the largest matrix, need not be packed.
func (s *heads[T]) mlmChunk(p pass[T], lo, hi int) {
	a, b, h, n := &s.mlm, p.batch, s.config.HiddenSize, hi-lo
	y := kernel.Rows(a.norm.y[lo*h:], h)
	a.width = s.gemm.Width(n)
	s.gemm.Pack(&a.columns, y.T(), h, n)
	s.mlmLogits()
	if p.out.Want&trainer.OutputMLMLogits != 0 {
		p.out.MLMLogits = s.appendLogits(p.out.MLMLogits, n)
	}
	for j := n; j < a.width; j++ { // columns after the last token have no gradient
		a.shift[j], a.scale[j] = T(math.Inf(1)), 0
	}
	s.pool.Do(n, func(_, j int) {
		label, coef := b.MaskedIDs[lo+j], p.coef.MLM*float64(b.MaskedWeights[lo+j])
		a.loss[j] = s.mlmLoss(j, int(label), coef)
	})
	if p.out.Want&trainer.OutputMLMLosses != 0 {
		for _, l := range a.loss[:n] {
			p.out.MLMLosses, p.out.MLMBest = append(p.out.MLMLosses, l.loss), append(p.out.MLMBest, l.best)
		}
	}
	for i, l := range a.loss[:n] {
		w := float64(b.MaskedWeights[lo+i])
		p.sums.MLMLoss += w * l.loss
		p.sums.MLMWeight += w
		p.sums.MLMCorrect += w * l.correct()
	}
	if p.dy != nil {
		s.gemm.Pack(&a.rows, y, n, h)
		s.mlmGrad(b.MaskedIDs[lo:hi], a.dy[lo*h:hi*h], func(j int) T { return T(p.coef.MLM * float64(b.MaskedWeights[lo+j])) })
		s.round(a.dy[lo*h : hi*h])
	}
}

// vocabParts returns the number of parts of the vocabulary.
func vocabParts(c trainer.Config) int { return (c.VocabSize + mlmRows - 1) / mlmRows }

// eachPart calls f for the parts [from, to) of the vocabulary: words [first, first+n).
func (s *heads[T]) eachPart(from, to int, f func(worker, part, first, n int)) {
	s.pool.Do(to-from, func(worker, i int) {
		first := (from + i) * mlmRows
		f(worker, from+i, first, min(mlmRows, s.config.VocabSize-first))
	})
}

// mlmLogits computes the logits of a.columns, and the largest logit and the sum
// of exponentials of every part.
func (s *heads[T]) mlmLogits() {
	a, h, w := &s.mlm, s.config.HiddenSize, s.mlm.width
	s.eachPart(0, vocabParts(s.config), func(worker, part, first, n int) {
		logits, top, sum := a.logits[first*w:(first+n)*w], a.top[part*w:(part+1)*w], a.sum[part*w:(part+1)*w]
		s.gemm.MulPacked(worker, n, w, kernel.Rows(s.p.Word.w[first*h:], h), &a.columns, logits, w, false)
		if s.lower != nil {
			round(logits)
		}
		for j := range top {
			top[j] = T(math.Inf(-1))
		}
		for i := range n {
			s.set.AddMax(logits[i*w:(i+1)*w], top, s.p.DecoderBias.w[first+i])
		}
		clear(sum)
		for i := range n {
			s.set.ExpSums(sum, logits[i*w:(i+1)*w], top)
		}
	})
}

// mlmLoss returns the loss of a column and records its shift and scale. If
// several logits are the largest, the first one is the prediction.
func (s *heads[T]) mlmLoss(j, label int, coef float64) rowLoss {
	a, w := &s.mlm, s.mlm.width
	parts := vocabParts(s.config)
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
	best, end := first*mlmRows, min((first+1)*mlmRows, s.config.VocabSize)
	for best < end-1 && float64(a.logits[best*w+j]) != top {
		best++
	}
	a.shift[j], a.scale[j] = T(top), T(coef/sum)
	return rowLoss{loss: math.Log(sum) + top - float64(target), hit: best == label && float64(target) == top, best: int32(best)}
}

// partsAtOnce is the number of parts for each thread whose gradients are computed before they
// are multiplied with the word vectors: so few that they are still in the second-level cache.
const partsAtOnce = 2

// mlmGrad computes the gradients of the decoder and of its input, dy.
func (s *heads[T]) mlmGrad(labels []int32, dy []T, coef func(j int) T) {
	a, h, done, parts := &s.mlm, s.config.HiddenSize, 0, vocabParts(s.config)
	for from := 0; from < parts; from += partsAtOnce * s.pool.Threads {
		to := min(parts, from+partsAtOnce*s.pool.Threads)
		s.mlmWordGrad(from, to, labels, coef)
		words := s.config.VocabSize
		if to < parts { // sums have the order of one product over all words
			words = to * mlmRows / kernel.Depth * kernel.Depth
		}
		if words > done {
			s.gemm.Mul(len(labels), h, words-done, kernel.Rows(a.logits[done*a.width:], a.width).T(), kernel.Rows(s.p.Word.w[done*h:], h), dy, h, done > 0)
		}
		done = words
	}
}

// mlmWordGrad replaces the logits of the parts [from, to) by their gradients and adds the
// gradients of the decoder.
func (s *heads[T]) mlmWordGrad(from, to int, labels []int32, coef func(j int) T) {
	a, h, w := &s.mlm, s.config.HiddenSize, s.mlm.width
	db := s.p.DecoderBias.dw
	s.eachPart(from, to, func(worker, _, first, n int) {
		for i := first; i < first+n; i++ {
			sum := s.set.ExpScale(a.logits[i*w:(i+1)*w], a.shift, a.scale)
			if s.lower == nil {
				db[i] += sum
			}
		}
		for j, label := range labels {
			if i := int(label); i >= first && i < first+n {
				a.logits[i*w+j] -= coef(j)
				if s.lower == nil {
					db[i] -= coef(j)
				}
			}
		}
		if s.lower != nil {
			s.roundLogits(db, first, n)
		}
		s.gemm.MulPacked(worker, n, h, kernel.Rows(a.logits[first*w:], w), &a.rows, s.p.Word.dw[first*h:], h, true)
	})
}

// appendLogits appends the logits of n tokens, one row for each token.
func (s *heads[T]) appendLogits(dst []float32, n int) []float32 {
	const rows = 64 // rows that are transposed at a time
	v, w := s.config.VocabSize, s.mlm.width
	at := len(dst)
	dst = slices.Grow(dst, n*v)[:at+n*v]
	for first := 0; first < v; first += rows {
		for j := range n {
			for i := first; i < min(v, first+rows); i++ {
				dst[at+j*v+i] = float32(s.mlm.logits[i*w+j])
			}
		}
	}
	return dst
}
