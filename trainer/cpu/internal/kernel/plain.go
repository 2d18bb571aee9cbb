package kernel

import (
	"math"

	"pretext/trainer/optim"
)

// plain returns the set in Go.
func plain[T Float]() *Set[T] {
	return &Set[T]{
		ISA: Plain, MR: 4, NR: 4,
		Micro: plainMicro[T], ExpSum: plainExpSum[T], Max: plainMax[T],
		GELU: plainGELU[T], GELUGrad: plainGELUGrad[T], Adam: optim.Update[T], SumSquares: optim.SumSquares[T],
		Add: plainAdd[T], MulAdd: plainMulAdd[T], Scale: plainScale[T],
	}
}

// plainMicro keeps a 4×4 tile in sixteen variables.
func plainMicro[T Float](k int, a, b, c []T, ldc int, add bool) {
	var t [4][4]T
	a, b = a[:4*k], b[:4*k]
	for p := 0; p < 4*k; p += 4 {
		x, y := (*[4]T)(a[p:]), (*[4]T)(b[p:])
		for i := range 4 {
			t[i][0] += x[i] * y[0]
			t[i][1] += x[i] * y[1]
			t[i][2] += x[i] * y[2]
			t[i][3] += x[i] * y[3]
		}
	}
	for i := range 4 {
		row := (*[4]T)(c[i*ldc:])
		for j := range 4 {
			if add {
				row[j] += t[i][j]
			} else {
				row[j] = t[i][j]
			}
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
