package kernel

import (
	"math"

	"pretext/trainer/optim"
)

// plain returns the inner loops written in Go, without assembly.
func plain[T Float]() *Set[T] {
	return &Set[T]{
		ISA: Plain, Tiles: Tiles[T]{MR: 4, NR: 4, Micro: plainMicro[T]},
		ExpSum: plainExpSum[T], ExpSums: plainExpSums[T], ExpScale: plainExpScale[T],
		AddMax: plainAddMax[T], Max: plainMax[T],
		GELU: plainGELU[T], GELUGrad: plainGELUGrad[T], Adam: optim.Update[T], SumSquares: optim.SumSquares[T],
		Norm: plainNorm[T], NormGrad: plainNormGrad[T], SoftmaxGrad: plainSoftmaxGrad[T],
		Add: plainAdd[T], MulAdd: plainMulAdd[T], Scale: plainScale[T],
	}
}

// plainMicro implements Tiles.Micro for tiles of 4×4. It has the tile in sixteen variables,
// which the compiler can assign to registers.
func plainMicro[T Float](k int, a []T, aStep int, b []T, bStep int, c []T, ldc int, add bool) {
	var c00, c01, c02, c03, c10, c11, c12, c13, c20, c21, c22, c23, c30, c31, c32, c33 T
	for p := range k {
		x, y := (*[4]T)(a[p*aStep:]), (*[4]T)(b[p*bStep:])
		x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		c00 += x0 * y0
		c01 += x0 * y1
		c02 += x0 * y2
		c03 += x0 * y3
		c10 += x1 * y0
		c11 += x1 * y1
		c12 += x1 * y2
		c13 += x1 * y3
		c20 += x2 * y0
		c21 += x2 * y1
		c22 += x2 * y2
		c23 += x2 * y3
		c30 += x3 * y0
		c31 += x3 * y1
		c32 += x3 * y2
		c33 += x3 * y3
	}
	tile := [4][4]T{{c00, c01, c02, c03}, {c10, c11, c12, c13}, {c20, c21, c22, c23}, {c30, c31, c32, c33}}
	for i := range tile {
		row := (*[4]T)(c[i*ldc:])
		for j, v := range tile[i] {
			if add {
				v += row[j]
			}
			row[j] = v
		}
	}
}

func plainExpSum[T Float](x []T, shift T) T {
	var sum float64
	for i, v := range x {
		e := math.Exp(float64(v - shift))
		x[i] = T(e)
		sum += e
	}
	return T(sum)
}

func plainExpSums[T Float](sums, x, shift []T) {
	x, shift = x[:len(sums)], shift[:len(sums)]
	for i := range sums {
		sums[i] += T(math.Exp(float64(x[i] - shift[i])))
	}
}

func plainExpScale[T Float](x, shift, by []T) T {
	shift, by = shift[:len(x)], by[:len(x)]
	var sum T
	for i, v := range x {
		x[i] = T(math.Exp(float64(v-shift[i]))) * by[i]
		sum += x[i]
	}
	return sum
}

func plainAddMax[T Float](x, top []T, by T) {
	top = top[:len(x)]
	for i := range x {
		x[i] += by
		top[i] = max(top[i], x[i])
	}
}

func plainMax[T Float](x []T) T {
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	return m
}

// The constants of GELU's tanh form: √(2/π) and the cubic factor of Hendrycks
// and Gimpel (arXiv 1606.08415).
const (
	geluRoot  = 0.79788456080286535588
	geluCubic = 0.044715
)

func plainGELU[T Float](y, x []T, tanh bool) {
	for i, v := range x {
		u := float64(v)
		if tanh {
			y[i] = T(0.5 * u * (1 + math.Tanh(geluRoot*(u+geluCubic*u*u*u))))
		} else {
			y[i] = T(0.5 * u * math.Erfc(-u*(math.Sqrt2/2)))
		}
	}
}

func plainGELUGrad[T Float](dy, x []T, tanh bool) {
	for i, v := range x {
		u := float64(v)
		var d float64
		if tanh {
			t := math.Tanh(geluRoot * (u + geluCubic*u*u*u))
			d = 0.5*(1+t) + 0.5*u*(1-t*t)*geluRoot*(1+3*geluCubic*u*u)
		} else { // Φ(u) + u·φ(u), 1/√(2π) = 0.3989…
			d = 0.5*math.Erfc(-u*(math.Sqrt2/2)) + u*0.39894228040143267794*math.Exp(-0.5*u*u)
		}
		dy[i] = T(float64(dy[i]) * d)
	}
}

func plainAdd[T Float](x, y []T) {
	x = x[:len(y)]
	for i, v := range y {
		x[i] += v
	}
}

func plainMulAdd[T Float](x, y, z []T) {
	x, z = x[:len(y)], z[:len(y)]
	for i, v := range y {
		x[i] += v * z[i]
	}
}

func plainScale[T Float](x []T, by T) {
	for i := range x {
		x[i] *= by
	}
}
