package cpu

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/internal/bert"
)

// Precisions bf16 and fp8 of BERT's masked LM, for experiments: single precision, rounded
// wherever package trainer/cuda stores a 16-bit or an 8-bit value, so that one sees what a
// model learns in them without a GPU. TestTheCPUImitatesLowerPrecisions of that package
// holds both together. Two things differ: the order of sums, and of sequences over 64 tokens
// the probabilities are rounded once, beside the largest of all scores. Where either changes
// a rounding, weights differ from then on, and so may, by a few, the elements that are too
// large for their factors.
//
// A lower holds what these precisions need besides single precision.
type lower[T kernel.Float] struct {
	weights  []T // rounded copy of the parameters, for which the views of the weights stand
	stale    bool
	training bool // the current pass updates what is below

	eight []*eightDense[T] // of the encoder's products; nil in bf16
	steps int              // in the histories, at most amaxHistory
	next  int              // place of the present step
	lost  atomic.Int64     // elements of this step that were too large
}

// amaxHistory is the number of steps from whose largest values a factor is chosen.
const amaxHistory = 16

// An eightDense has the 8-bit operands of a dense layer, as the numbers that they stand for.
type eightDense[T kernel.Float] struct {
	w, x, dy        []T // (out, in); (T, in) input of the last forward pass; (T, out)
	input, gradient history
}

// A history holds the largest values of a tensor in the last steps.
type history struct {
	past [amaxHistory]float32
	seen float32 // in this step
}

// newLower returns nil for precisions that are computed as they are.
func newLower[T kernel.Float](o trainer.Options, weights int) *lower[T] {
	if o.Precision != trainer.BFloat16 && o.Precision != trainer.Float8 {
		return nil
	}
	return &lower[T]{weights: make([]T, weights), stale: true}
}

// attach makes the products of the encoder's layers use 8 bits.
func (l *lower[T]) attach(p *bert.Parameters[dense[T], norm[T], table[T]], o trainer.Options) {
	if l == nil || o.Precision != trainer.Float8 {
		return
	}
	for i := range p.Layers {
		layer := &p.Layers[i]
		for _, d := range []*dense[T]{&layer.QKV, &layer.Attended, &layer.Up, &layer.Down} {
			d.eight = &eightDense[T]{w: make([]T, len(d.w)), x: make([]T, o.Tokens*d.in), dy: make([]T, o.Tokens*d.out)}
			l.eight = append(l.eight, d.eight)
		}
	}
}

// lowerSupported returns why a model has no imitation of lower precisions.
func lowerSupported(c trainer.Config, h trainer.Heads, o trainer.Options) error {
	if c.Modern != nil || h != (trainer.Heads{MLM: true}) || trainer.OrAlone(o.Comm).Size() > 1 {
		return fmt.Errorf("precision %q on the CPU: only for BERT with masked LM alone, on one rank", o.Precision)
	}
	if o.Precision == trainer.Float8 && c.IntermediateSize%16 != 0 {
		return errors.New("intermediate_size: must be a multiple of 16")
	}
	return nil
}

// begin prepares a pass: it rounds the weights w if they have changed.
func (l *lower[T]) begin(p *parameters[T], train bool) {
	if l == nil {
		return
	}
	l.training = train
	if !l.stale {
		return
	}
	l.stale = false
	copy(l.weights, p.w)
	round(l.weights)
	for i := range p.views.Layers {
		layer := &p.views.Layers[i]
		for _, d := range []*dense[T]{&layer.QKV, &layer.Attended, &layer.Up, &layer.Down} {
			if d.eight != nil {
				convert(d.eight.w, d.w, largest(d.w), e4m3)
			}
		}
	}
}

// changed notes that the weights have changed.
func (l *lower[T]) changed() {
	if l != nil {
		l.stale = true
	}
}

// roll ends a step: the largest values become part of the histories. It returns the number of
// elements of the step that were too large for their factors.
func (l *lower[T]) roll() float64 {
	if l == nil {
		return 0
	}
	l.stale = true
	for _, d := range l.eight {
		for _, h := range []*history{&d.input, &d.gradient} {
			h.past[l.next], h.seen = h.seen, 0
		}
	}
	l.next = (l.next + 1) % amaxHistory
	l.steps = min(l.steps+1, amaxHistory)
	return float64(l.lost.Swap(0))
}

// eightBits converts x to dst, by the factor of the history in training.
func (c *compute[T]) eightBits(dst, x []T, h *history, f eight) []T {
	l, amax := c.lower, largest(x)
	dst = dst[:len(x)]
	from := amax
	if l.training {
		if l.steps > 0 {
			from = slices.Max(h.past[:])
		}
		h.seen = max(h.seen, amax)
	}
	c.rows(len(x), 1, func(lo, hi int) {
		if lost := convert(dst[lo:hi], x[lo:hi], from, f); l.training {
			l.lost.Add(int64(lost))
		}
	})
	return dst
}

// round rounds x to bfloat16 if the precision is a lower one.
func (c *compute[T]) round(x []T) {
	if c.lower != nil {
		c.rows(len(x), 1, func(lo, hi int) { round(x[lo:hi]) })
	}
}

// roundNorm rounds row r of a LayerNorm as trainer/cuda's norm_forward does: its standardized
// values are computed again from the rounded output where gains and biases allow it
// (kernels/norm.cu), and rounded elsewhere.
func (c *compute[T]) roundNorm(r int, p *norm[T], y *normed[T]) {
	if c.lower == nil {
		return
	}
	const run = 16
	h := len(p.gain)
	out, hats := y.y[r*h:(r+1)*h], y.xhat[r*h:(r+1)*h]
	round(out)
	for first := 0; first < h; first += run {
		gain, bias, hats, out := p.gain[first:first+run], p.bias[first:first+run], hats[first:first+run], out[first:first+run]
		again := true
		for i, g := range gain {
			g := math.Abs(float64(g))
			again = again && g >= 1.0/64 && 4*g >= math.Abs(float64(bias[i]))
		}
		if !again {
			round(hats)
			continue
		}
		for i := range hats {
			hats[i] = (out[i] - bias[i]) / gain[i]
		}
	}
}

// weigh replaces the scores of a block by exp(score − largest), the weights of its keys before
// the division by their sum, and returns the sums. It sets lse.
func (e *encoder[T]) weigh(h head[T], b rowBlock[T], lse []T) []T {
	sums := make([]T, b.n)
	for r := range b.n {
		row, own := b.row(b.p, r, h.reach)
		e.set.Scale(own, h.scale)
		top := e.set.Max(own)
		sums[r] = e.set.ExpSum(own, top)
		lse[b.first+r] = top + T(math.Log(float64(sums[r])))
		clearBeside(row, own)
	}
	return sums
}

// scoresGrad replaces dp, the gradient of the probabilities p of a block, by that of the
// scores, with delta from the rounded output of the attention.
func (e *encoder[T]) scoresGrad(h head[T], b rowBlock[T], ctx, dctx []T) {
	width := e.config.HiddenSize
	for r := range b.n {
		at, delta := (b.first+r)*width, T(0)
		for i := range h.size {
			delta += ctx[at+i] * dctx[at+i]
		}
		p, dp := b.p[r*b.keys:(r+1)*b.keys], b.dp[r*b.keys:(r+1)*b.keys]
		for i := range dp {
			dp[i] = p[i] * (dp[i] - delta) * h.scale
		}
	}
}

// roundLogits rounds the gradients of logits of words [first, first+n), and adds their sums to
// db.
func (s *heads[T]) roundLogits(db []T, first, n int) {
	w := s.mlm.width
	for i := first; i < first+n; i++ {
		row := s.mlm.logits[i*w : (i+1)*w]
		round(row)
		for _, v := range row {
			db[i] += v
		}
	}
}

// round rounds x to bfloat16, ties to even.
func round[T kernel.Float](x []T) {
	for i, v := range x {
		if b := math.Float32bits(float32(v)); v == v {
			x[i] = T(math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff))
		}
	}
}

// largest returns the largest |x|.
func largest[T kernel.Float](x []T) float32 {
	most := T(0)
	for _, v := range x {
		most = max(most, v, -v)
	}
	return float32(most)
}

// An eight is an 8-bit format of the OCP 8-bit Floating Point Specification.
type eight struct {
	bits     int     // of the mantissa
	exponent int     // of the largest number, whose mantissa is 1.75
	smallest float32 // normal number
}

var (
	e4m3 = eight{bits: 3, exponent: 8, smallest: 0x1p-6}
	e5m2 = eight{bits: 2, exponent: 15, smallest: 0x1p-14}
)

// factor returns the largest power of two by which amax stays in the format.
func (f eight) factor(amax float32) float32 {
	if !(amax > 0) || math.IsInf(float64(amax), 0) {
		return 1
	}
	mantissa, e := math.Frexp(float64(amax))
	e = f.exponent - (e - 1)
	if mantissa > 0.875 {
		e--
	}
	return float32(math.Ldexp(1, min(e, 126)))
}

// convert sets dst to x, rounded to the format with the factor of amax. It returns the number
// of elements that were too large.
func convert[T kernel.Float](dst, x []T, amax float32, f eight) (lost int) {
	factor := f.factor(amax) // a power of two, and so is its inverse
	inverse := 1 / factor
	most := 1.75 * float32(math.Ldexp(1, f.exponent))
	unit := f.smallest / float32(int(1)<<f.bits) // of the numbers below the smallest normal one
	drop := uint32(23 - f.bits)
	for i, v := range x {
		all := math.Float32bits(float32(v) * factor)
		sign := all & (1 << 31)
		size := math.Float32frombits(all &^ (1 << 31))
		switch {
		case size != size:
		case size > most:
			size, lost = most, lost+1
		case size < f.smallest:
			size = float32(math.RoundToEven(float64(size/unit))) * unit
		default:
			b := math.Float32bits(size)
			size = math.Float32frombits((b + 1<<(drop-1) - 1 + b>>drop&1) >> drop << drop)
		}
		dst[i] = T(math.Float32frombits(math.Float32bits(size)|sign) * inverse)
	}
	return lost
}
