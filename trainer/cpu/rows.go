package cpu

import (
	"pretext/trainer"
	"pretext/trainer/dropout"
)

// grain is the approximate number of elements in a thread's unit of work.
const grain = 1 << 14

// rows calls f for ranges of the n rows of a matrix of the given width, in
// parallel.
func (m *model[T]) rows(n, width int, f func(lo, hi int)) {
	m.pool.Ranges(n, max(1, grain/width), f)
}

// addBias adds b to every row of x.
func (m *model[T]) addBias(x []T, rows int, b []T) {
	m.rows(rows, len(b), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			m.set.Add(x[r*len(b):(r+1)*len(b)], b)
		}
	})
}

// activate adds b to every row of u and sets g to the activation of u.
func (m *model[T]) activate(g, u []T, rows int, b []T) {
	n := len(b)
	m.rows(rows, n, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			m.set.Add(u[r*n:(r+1)*n], b)
		}
		m.set.GELU(g[lo*n:hi*n], u[lo*n:hi*n], m.c.Activation.Tanh())
	})
}

// activateAgain recomputes g, the activation's output, from its input u.
func (m *model[T]) activateAgain(g, u []T, rows int) {
	n := m.c.IntermediateSize
	m.rows(rows, n, func(lo, hi int) { m.set.GELU(g[lo*n:hi*n], u[lo*n:hi*n], m.c.Activation.Tanh()) })
}

// activateGrad replaces du, the gradient of the activation's output, by the
// gradient of its input u.
func (m *model[T]) activateGrad(du, u []T, rows int) {
	n := m.c.IntermediateSize
	m.rows(rows, n, func(lo, hi int) { m.set.GELUGrad(du[lo*n:hi*n], u[lo*n:hi*n], m.c.Activation.Tanh()) })
}

// An addend is what a LayerNorm's input gets in addition to a block's output:
// the bias and the residual, with the rows of the residual to use, and the
// dropout site.
type addend[T float32 | float64] struct {
	bias, residual []T
	of             rowset
	site           dropout.Site
}

// addNorm sets y to LN(drop(o + bias) + residual) and stores what the gradient
// needs. o has the rows of s, and is overwritten.
func (m *model[T]) addNorm(b *trainer.Batch, s rowset, o []T, with addend[T], p *norm[T], y *normed[T]) {
	h := m.c.HiddenSize
	m.rows(s.n, h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row, from := o[r*h:(r+1)*h], with.of.row(r)
			m.set.Add(row, with.bias)
			m.drop(b, row, s.row(r), with.site)
			m.set.Add(row, with.residual[from*h:(from+1)*h])
			m.normRow(r, row, p, y)
		}
	})
}

// normRow applies LayerNorm to x, row r of a matrix, and stores the result in
// y.
func (m *model[T]) normRow(r int, x []T, p *norm[T], y *normed[T]) {
	h := len(x)
	y.scale[r] = m.set.Norm(y.y[r*h:(r+1)*h], y.xhat[r*h:(r+1)*h], x, p.gain, p.bias, m.c.LayerNormEps)
}

// normGrad sets dx to the gradient of a LayerNorm's input, and adds the
// gradients of its parameters.
func (m *model[T]) normGrad(dx, dy []T, rows int, p *norm[T], y *normed[T]) {
	h := m.c.HiddenSize
	m.rows(rows, h, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			m.set.NormGrad(dx[r*h:(r+1)*h], dy[r*h:(r+1)*h], y.xhat[r*h:(r+1)*h], p.gain, y.scale[r])
		}
	})
	m.columns(h, func(lo, hi int) {
		m.addColumns(p.dgain, dy, y.xhat, rows, lo, hi)
		m.addColumns(p.dbias, dy, nil, rows, lo, hi)
	})
}

// dropGrad sets do to the gradient of the input of a dropout whose output has
// the gradient dz. Both have the rows of s.
func (m *model[T]) dropGrad(b *trainer.Batch, s rowset, do, dz []T, site dropout.Site) {
	h := m.c.HiddenSize
	m.rows(s.n, h, func(lo, hi int) {
		copy(do[lo*h:hi*h], dz[lo*h:hi*h])
		for r := lo; r < hi; r++ {
			m.drop(b, do[r*h:(r+1)*h], s.row(r), site)
		}
	})
}

// biasGrad adds the sum of the rows of dy to db.
func (m *model[T]) biasGrad(db, dy []T, rows int) {
	m.columns(len(db), func(lo, hi int) { m.addColumns(db, dy, nil, rows, lo, hi) })
}

// columns calls f for ranges of columns in parallel. Sums over rows are divided
// by columns, so that their order does not depend on the number of threads.
func (m *model[T]) columns(n int, f func(lo, hi int)) { m.pool.Ranges(n, columnGrain, f) }

// columnGrain is the number of columns in a thread's unit of work.
const columnGrain = 256

// addColumns adds to dst[lo:hi] the sums over the rows of x, or of x·y. It sums
// blocks of rows to reduce rounding errors.
func (m *model[T]) addColumns(dst, x, y []T, rows, lo, hi int) {
	const blockRows = 64
	width := len(dst)
	var part [columnGrain]T
	for r0 := 0; r0 < rows; r0 += blockRows {
		block := part[:hi-lo]
		clear(block)
		for r := r0; r < min(rows, r0+blockRows); r++ {
			if y == nil {
				m.set.Add(block, x[r*width+lo:r*width+hi])
			} else {
				m.set.MulAdd(block, x[r*width+lo:r*width+hi], y[r*width+lo:r*width+hi])
			}
		}
		m.set.Add(dst[lo:hi], block)
	}
}
