package cpu

import (
	"math"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// compute has the matrix operations shared by encoder and heads. It holds the threads and
// the instruction set, but no data of a batch.
type compute[T kernel.Float] struct {
	config trainer.Config
	set    *kernel.Set[T]
	pool   *kernel.Pool
	gemm   *kernel.Gemm[T]
	lower  *lower[T] // nil: what is computed is not rounded further
}

// grain is the approximate number of elements in a thread's unit of work.
const grain = 1 << 14

// rows calls f for ranges of the n rows of a matrix of the given width, in
// parallel.
func (c *compute[T]) rows(n, width int, f func(lo, hi int)) {
	c.pool.Ranges(n, max(1, grain/width), f)
}

// product computes y = x·Wᵀ, without the bias, and does not round it. y is (rows, out), x is
// (rows, in).
func (c *compute[T]) product(y, x []T, rows int, d *dense[T]) {
	w := d.w
	if d.eight != nil {
		w, x = d.eight.w, c.eightBits(d.eight.x, x[:rows*d.in], &d.eight.input, e4m3)
	}
	if d.packed != nil {
		c.gemm.MulAll(rows, kernel.Rows(x, d.in), d.packed, y, d.out, false)
		return
	}
	c.gemm.Mul(rows, d.out, d.in, kernel.Rows(x, d.in), kernel.Rows(w, d.in).T(), y, d.out, false)
}

// linear computes y = x·Wᵀ, without the bias. y is (rows, out), x is (rows, in).
func (c *compute[T]) linear(y, x []T, rows int, d *dense[T]) {
	c.product(y, x, rows, d)
	c.round(y[:rows*d.out])
}

// affine computes y = x·Wᵀ + b, without b if d has none. y is (rows, out), x is (rows, in).
func (c *compute[T]) affine(y, x []T, rows int, d *dense[T]) {
	c.product(y, x, rows, d)
	if d.b != nil {
		c.rows(rows, d.out, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				c.set.Add(y[r*d.out:(r+1)*d.out], d.b)
			}
		})
	}
	c.round(y[:rows*d.out])
}

// denseGrad adds the gradients of W and b to d. Then it computes the gradient of x: it adds
// it to dx if add is set, otherwise it overwrites dx, which may be x.
func (c *compute[T]) denseGrad(dy, x []T, rows int, d *dense[T], dx []T, add bool) {
	if d.db != nil {
		c.columns(d.out, func(lo, hi int) { c.addColumns(d.db, dy, nil, rows, lo, hi) })
	}
	c.round(dy[:rows*d.out])
	w := d.w
	if d.eight != nil {
		w, x, dy = d.eight.w, d.eight.x, c.eightBits(d.eight.dy, dy[:rows*d.out], &d.eight.gradient, e5m2)
	}
	c.gemm.Mul(d.out, d.in, rows, kernel.Rows(dy, d.out).T(), kernel.Rows(x, d.in), d.dw, d.in, true)
	c.gemm.Mul(rows, d.in, d.out, kernel.Rows(dy, d.out), kernel.Rows(w, d.in), dx, d.in, add)
	c.round(dx[:rows*d.in])
}

// gelu computes g, the activation of u; both have rows of n elements. If bias is not nil,
// gelu first adds it to every row of u.
func (c *compute[T]) gelu(g, u []T, rows, n int, bias []T) {
	c.rows(rows, n, func(lo, hi int) {
		for r := lo; r < hi && bias != nil; r++ {
			c.set.Add(u[r*n:(r+1)*n], bias)
		}
		if c.lower != nil {
			round(u[lo*n : hi*n])
		}
		c.set.GELU(g[lo*n:hi*n], u[lo*n:hi*n], c.config.Activation.Tanh())
	})
	c.round(g[:rows*n])
}

// geluGrad replaces du, the gradient of the activation's output, by the gradient of its
// input u; both have rows of n elements.
func (c *compute[T]) geluGrad(du, u []T, rows, n int) {
	c.rows(rows, n, func(lo, hi int) { c.set.GELUGrad(du[lo*n:hi*n], u[lo*n:hi*n], c.config.Activation.Tanh()) })
	c.round(du[:rows*n])
}

// normRow applies LayerNorm to x, row r of a matrix, and stores the result in
// y.
func (c *compute[T]) normRow(r int, x []T, p *norm[T], y *normed[T]) {
	h := len(x)
	y.scale[r] = c.set.Norm(y.y[r*h:(r+1)*h], y.xhat[r*h:(r+1)*h], x, p.gain, p.bias, c.config.LayerNormEps)
}

// normGrad sets dx to the gradient of a LayerNorm's input, and adds the
// gradients of its parameters.
func (c *compute[T]) normGrad(dx, dy []T, rows int, p *norm[T], y *normed[T]) {
	h := c.config.HiddenSize
	c.rows(rows, h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			c.set.NormGrad(dx[r*h:(r+1)*h], dy[r*h:(r+1)*h], y.xhat[r*h:(r+1)*h], p.gain, y.scale[r])
		}
	})
	c.columns(h, func(lo, hi int) {
		c.addColumns(p.dgain, dy, y.xhat, rows, lo, hi)
		if p.dbias != nil {
			c.addColumns(p.dbias, dy, nil, rows, lo, hi)
		}
	})
}

// columns calls f for ranges of the n columns, in parallel. Sums over rows are divided among
// the threads by columns, so that their order does not depend on the number of threads.
func (c *compute[T]) columns(n int, f func(lo, hi int)) { c.pool.Ranges(n, columnGrain, f) }

// columnGrain is the number of columns in a thread's unit of work.
const columnGrain = 256

// addColumns adds to dst[lo:hi] the sums over the rows of x, or of x·y. It sums
// blocks of rows to reduce rounding errors.
func (c *compute[T]) addColumns(dst, x, y []T, rows, lo, hi int) {
	const blockRows = 64
	width := len(dst)
	var part [columnGrain]T
	for r0 := 0; r0 < rows; r0 += blockRows {
		block := part[:hi-lo]
		clear(block)
		for r := r0; r < min(rows, r0+blockRows); r++ {
			if y == nil {
				c.set.Add(block, x[r*width+lo:r*width+hi])
			} else {
				c.set.MulAdd(block, x[r*width+lo:r*width+hi], y[r*width+lo:r*width+hi])
			}
		}
		c.set.Add(dst[lo:hi], block)
	}
}

// softmax replaces x by softmax(x·scale) and returns the logarithm of the sum
// of the exponentials.
func (c *compute[T]) softmax(x []T, scale T) T {
	c.set.Scale(x, scale)
	top := c.set.Max(x)
	sum := c.set.ExpSum(x, top)
	c.set.Scale(x, 1/sum)
	return top + T(math.Log(float64(sum)))
}

// rowLoss is the cross entropy of one row of logits.
type rowLoss struct {
	loss float64
	hit  bool  // the label has the largest logit
	best int32 // index of the largest logit; set only for the masked-LM head
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
func (c *compute[T]) crossEntropy(x []T, label int32, coef T) rowLoss {
	target, top := x[label], c.set.Max(x)
	l := rowLoss{hit: target == top}
	for i := 0; l.hit && i < int(label); i++ {
		l.hit = x[i] != top
	}
	sum := c.set.ExpSum(x, top)
	l.loss = math.Log(float64(sum)) + float64(top) - float64(target)
	c.set.Scale(x, coef/sum)
	x[label] -= coef
	return l
}

// normed is a LayerNorm's output and the values that its gradient needs.
type normed[T kernel.Float] struct {
	y     []T // (T, H)
	xhat  []T // (T, H) standardized input
	scale []T // (T) 1/σ
}

func newNormed[T kernel.Float](rows, hidden int) normed[T] {
	return normed[T]{y: large[T](rows * hidden), xhat: large[T](rows * hidden), scale: make([]T, rows)}
}
