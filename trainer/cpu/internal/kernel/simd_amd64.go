package kernel

import (
	"fmt"
	"math"

	"golang.org/x/sys/cpu"

	"pretext/trainer/optim"
)

//go:generate go run gen.go gen_elements.go gen_norm.go

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

// single returns the inner loops for an instruction set in single precision.
func single(isa ISA) (*Set[float32], error) {
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA
	avx512 := avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
	if isa == Best {
		switch {
		case avx512:
			isa = AVX512
		case avx2:
			isa = AVX2
		default:
			isa = Plain
		}
	}
	switch {
	case isa == Plain:
		return plain[float32](), nil
	case isa == AVX2 && avx2:
		return simd(level{isa: AVX2, width: 8}, 6, 16), nil
	case isa == AVX512 && avx512:
		return simd(level{isa: AVX512, width: 16, wide: true}, 14, 32), nil
	}
	return nil, fmt.Errorf("instruction set %q: not on this machine", isa)
}

// A level selects the assembly functions of an instruction set; width is the number of
// floats in a register. Its methods call the functions directly, not through function
// values, so that small buffers passed by address stay on the stack.
type level struct {
	isa   ISA
	width int
	wide  bool
}

// simd returns the set that uses the assembly of a level.
func simd(l level, mr, nr int) *Set[float32] {
	return &Set[float32]{
		ISA: l.isa,
		Tiles: Tiles[float32]{
			MR: mr, NR: nr, Transpose8: transpose8, CopyEights: copyEights, CopyPanels: l.copyPanels,
			Micro: func(k int, a, b, c []float32, ldc int, add bool) {
				_, _, _ = a[k*mr-1], b[k*nr-1], c[(mr-1)*ldc+nr-1]
				l.microAny(k, &a[0], &b[0], &c[0], ldc, add)
			},
			MicroRows: func(k int, a []float32, lda int, b, c []float32, ldc int, add bool) {
				_, _, _ = a[(mr-1)*lda+k-1], b[k*nr-1], c[(mr-1)*ldc+nr-1]
				l.microRowsAny(k, &a[0], &b[0], &c[0], ldc, add, lda)
			},
		},
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
	l.expSumAny(&x[0], len(x), &shift, &constants[0], &sums[0])
	return sum(sums[:])
}

func (l level) expSums(sums, x, shift []float32) {
	x, shift = x[:len(sums)], shift[:len(sums)]
	n := len(sums) / l.width * l.width
	if n > 0 {
		l.expSumsAny(&sums[0], &x[0], &shift[0], n, &constants[0])
	}
	if n < len(sums) {
		var ts, tx, th [16]float32
		copy(tx[:], x[n:])
		copy(th[:], shift[n:])
		copy(ts[:], sums[n:])
		l.expSumsAny(&ts[0], &tx[0], &th[0], l.width, &constants[0])
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
	l.expScaleAny(&x[0], &shift[0], &by[0], len(x), &constants[0], &sums[0])
	return sum(sums[:])
}

func (l level) addMax(x, top []float32, by float32) {
	top = top[:len(x)]
	n := len(x) / l.width * l.width
	if n > 0 {
		l.addMaxAny(&x[0], &top[0], n, &by)
	}
	plainAddMax(x[n:], top[n:], by)
}

func (l level) max(x []float32) float32 {
	n := len(x) / l.width * l.width
	top := x[len(x)-1]
	if n > 0 {
		var parts [16]float32
		l.maxAny(&x[0], n, &parts[0])
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
			l.geluAny(y, x, n, &constants[0])
		} else {
			l.erfGeluAny(y, x, n, &constants[0])
		}
	})
}

func (l level) geluGrad(dy, x []float32, tanh bool) {
	l.pairs(dy, x, func(y, x *float32, n int) {
		if tanh {
			l.geluGradAny(y, x, n, &constants[0])
		} else {
			l.erfGeluGradAny(y, x, n, &constants[0])
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
	l.adamAny(&table[0], &w[0], &m[0], &v[0], &g[0], len(g), c.Direction)
}

func (l level) sumSquares(x []float32) float64 {
	n := len(x) / l.width * l.width
	sum := optim.SumSquares(x[n:])
	if n == 0 {
		return sum
	}
	var parts [8]float64
	l.squaresAny(&x[0], n, &parts[0])
	for _, p := range parts {
		sum += p
	}
	return sum
}

func (l level) add(x, y []float32) {
	x = x[:len(y)]
	n := len(y) / l.width * l.width
	if n > 0 {
		l.addAny(&x[0], &y[0], n)
	}
	for i := n; i < len(y); i++ {
		x[i] += y[i]
	}
}

func (l level) mulAdd(x, y, z []float32) {
	x, z = x[:len(y)], z[:len(y)]
	n := len(y) / l.width * l.width
	if n > 0 {
		l.mulAddAny(&x[0], &y[0], &z[0], n)
	}
	for i := n; i < len(y); i++ {
		x[i] += y[i] * z[i]
	}
}

func (l level) scale(x []float32, by float32) {
	n := len(x) / l.width * l.width
	if n > 0 {
		l.scaleAny(&x[0], n, &by)
	}
	for i := n; i < len(x); i++ {
		x[i] *= by
	}
}

func transpose8(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k > 0 {
		_, _ = dst[(k-1)*dstStride+7], src[7*srcStride+k-1]
		transposeAVX2(&dst[0], dstStride, &src[0], srcStride, k)
	}
}

func copyEights(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k > 0 {
		_, _ = dst[(k-1)*dstStride+7], src[(k-1)*srcStride+7]
		copyEightsAVX2(&dst[0], dstStride, &src[0], srcStride, k)
	}
}

func (l level) copyPanels(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k == 0 {
		return
	}
	_, _ = dst[(k-1)*dstStride+2*l.width-1], src[(k-1)*srcStride+2*l.width-1]
	l.copyPanelsAny(&dst[0], dstStride, &src[0], srcStride, k)
}
