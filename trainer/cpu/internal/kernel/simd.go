//go:build amd64 || arm64

package kernel

import (
	"math"

	"pretext/trainer/optim"
)

//go:generate go run gen.go gen_elements.go gen_norm.go gen_neon.go

// constants is the table that the assembly reads, in the order of the indexes in
// gen.go. The polynomial of exp has the coefficients 1/7! … 1/0!; that of erf is
// Abramowitz and Stegun's 7.1.26.
var constants = [...]float32{
	math.Log2E, 0.693359375, -2.12194440e-4, -87, 88,
	1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1,
	-2 * geluRoot, -2 * geluRoot * geluCubic, 2 * geluRoot, 6 * geluRoot * geluCubic,
	math.Sqrt2 / 2, 0.3275911, 1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592,
	0.5, 0.39894228040143267794, float32(math.Copysign(0, -1)),
}

// A level selects the assembly functions of an instruction set; width is the number of
// floats in a register. Its methods call the functions directly, not through function
// values, so that small buffers passed by address stay on the stack.
type level struct {
	isa   ISA
	width int
	wide  bool // AVX-512, where a processor has the choice
}

// simd returns the set that uses the assembly of a level, with tiles of mr rows.
func simd(l level, mr int) *Set[float32] {
	return &Set[float32]{
		ISA: l.isa, Tiles: l.tiles(mr),
		ExpSum: l.expSum, ExpSums: l.expSums, ExpScale: l.expScale, AddMax: l.addMax, Max: l.max, GELU: l.gelu, GELUGrad: l.geluGrad, Adam: l.adam, SumSquares: l.sumSquares,
		Norm: l.norm, NormGrad: l.normGrad, SoftmaxGrad: l.softmaxGrad,
		Add: l.add, MulAdd: l.mulAdd, Scale: l.scale,
	}
}

// The functions below process the remaining elements at the end of a slice in a padded copy.

func (l level) expSum(x []float32, shift float32) float32 {
	total := float32(0)
	n := len(x) / l.width * l.width
	if n > 0 {
		total = l.expSumFull(x[:n], shift)
	}
	if n < len(x) {
		var tail [16]float32
		copy(tail[:], x[n:])
		l.expSumFull(tail[:l.width], shift)
		for i := range x[n:] {
			x[n+i] = tail[i]
			total += tail[i]
		}
	}
	return total
}

func (l level) expSumFull(x []float32, shift float32) float32 {
	var sums [16]float32
	expSumAny(l, &x[0], len(x), &shift, &constants[0], &sums[0])
	return sum(sums[:l.width])
}

func (l level) expSums(sums, x, shift []float32) {
	x, shift = x[:len(sums)], shift[:len(sums)]
	n := len(sums) / l.width * l.width
	if n > 0 {
		expSumsAny(l, &sums[0], &x[0], &shift[0], n, &constants[0])
	}
	if n < len(sums) {
		var ts, tx, th [16]float32
		copy(tx[:], x[n:])
		copy(th[:], shift[n:])
		copy(ts[:], sums[n:])
		expSumsAny(l, &ts[0], &tx[0], &th[0], l.width, &constants[0])
		copy(sums[n:], ts[:])
	}
}

func (l level) expScale(x, shift, by []float32) float32 {
	shift, by = shift[:len(x)], by[:len(x)]
	n := len(x) / l.width * l.width
	total := float32(0)
	if n > 0 {
		total = l.expScaleFull(x[:n], shift, by)
	}
	if n < len(x) {
		var tx, th, tb [16]float32
		copy(tx[:], x[n:])
		copy(th[:], shift[n:])
		copy(tb[:], by[n:])
		total += l.expScaleFull(tx[:l.width], th[:], tb[:]) // elements past the end are multiplied by zero
		copy(x[n:], tx[:])
	}
	return total
}

func (l level) expScaleFull(x, shift, by []float32) float32 {
	var sums [16]float32
	expScaleAny(l, &x[0], &shift[0], &by[0], len(x), &constants[0], &sums[0])
	return sum(sums[:l.width])
}

func (l level) addMax(x, top []float32, by float32) {
	top = top[:len(x)]
	n := len(x) / l.width * l.width
	if n > 0 {
		addMaxAny(l, &x[0], &top[0], n, &by)
	}
	plainAddMax(x[n:], top[n:], by)
}

func (l level) max(x []float32) float32 {
	n := len(x) / l.width * l.width
	top := x[len(x)-1]
	if n > 0 {
		var parts [16]float32
		maxAny(l, &x[0], n, &parts[0])
		for _, p := range parts[:l.width] {
			top = max(top, p)
		}
	}
	for _, v := range x[n:] {
		top = max(top, v)
	}
	return top
}

func (l level) gelu(y, x []float32, tanh bool) {
	l.pairs(y, x, func(y, x *float32, n int) {
		if tanh {
			geluAny(l, y, x, n, &constants[0])
		} else {
			erfGeluAny(l, y, x, n, &constants[0])
		}
	})
}

func (l level) geluGrad(dy, x []float32, tanh bool) {
	l.pairs(dy, x, func(y, x *float32, n int) {
		if tanh {
			geluGradAny(l, y, x, n, &constants[0])
		} else {
			erfGeluGradAny(l, y, x, n, &constants[0])
		}
	})
}

func (l level) pairs(y, x []float32, f func(y, x *float32, n int)) {
	y = y[:len(x)]
	n := len(x) / l.width * l.width
	if n > 0 {
		f(&y[0], &x[0], n)
	}
	if n < len(x) {
		var ty, tx [16]float32
		copy(ty[:], y[n:])
		copy(tx[:], x[n:])
		f(&ty[0], &tx[0], l.width)
		copy(y[n:], ty[:])
	}
}

func (l level) adam(c optim.Constants[float32], w, m, v, g []float32) {
	w, m, v = w[:len(g)], m[:len(g)], v[:len(g)]
	n := len(g) / l.width * l.width
	if n > 0 {
		l.adamFull(c, w[:n], m[:n], v[:n], g[:n])
	}
	if n < len(g) {
		var t [4][16]float32
		for i, x := range [4][]float32{w, m, v, g} {
			copy(t[i][:], x[n:])
		}
		l.adamFull(c, t[0][:l.width], t[1][:l.width], t[2][:l.width], t[3][:l.width])
		for i, x := range [4][]float32{w, m, v, g} {
			copy(x[n:], t[i][:])
		}
	}
}

func (l level) adamFull(c optim.Constants[float32], w, m, v, g []float32) {
	table := [10]float32{c.Scale, c.Beta1, c.Rest1, c.Beta2, c.Rest2, c.C1, c.C2, c.Epsilon, c.Decay, c.Rate}
	adamAny(l, &table[0], &w[0], &m[0], &v[0], &g[0], len(g), c.Direction)
}

func (l level) sumSquares(x []float32) float64 {
	n := len(x) / l.width * l.width
	sum := optim.SumSquares(x[n:])
	if n == 0 {
		return sum
	}
	var parts [8]float64
	squaresAny(l, &x[0], n, &parts[0])
	for _, p := range parts {
		sum += p
	}
	return sum
}

func (l level) add(x, y []float32) {
	x = x[:len(y)]
	n := len(y) / l.width * l.width
	if n > 0 {
		addAny(l, &x[0], &y[0], n)
	}
	for i := n; i < len(y); i++ {
		x[i] += y[i]
	}
}

func (l level) mulAdd(x, y, z []float32) {
	x, z = x[:len(y)], z[:len(y)]
	n := len(y) / l.width * l.width
	if n > 0 {
		mulAddAny(l, &x[0], &y[0], &z[0], n)
	}
	for i := n; i < len(y); i++ {
		x[i] += y[i] * z[i]
	}
}

func (l level) scale(x []float32, by float32) {
	n := len(x) / l.width * l.width
	if n > 0 {
		scaleAny(l, &x[0], n, &by)
	}
	for i := n; i < len(x); i++ {
		x[i] *= by
	}
}
