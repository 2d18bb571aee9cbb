package kernel

import "math"

// plainNorm is LayerNorm of a row: x̂ = (x − mean)/√(var + ε), y = x̂·gain + bias.
func plainNorm[T Float](y, xhat, x, gain, bias []T, eps float64) T {
	square := plainCenter(xhat, x, sum(x)/T(len(x)))
	scale := normScale(square, len(x), eps)
	plainAffine(y, xhat, gain, bias, scale)
	return scale
}

// normScale returns 1/σ from the sum of squares of n centred elements.
func normScale[T Float](square T, n int, eps float64) T {
	return T(1 / math.Sqrt(float64(square)/float64(n)+eps))
}

// plainCenter computes y = x − by and returns the sum of the squares of y.
func plainCenter[T Float](y, x []T, by T) T {
	var square T
	y = y[:len(x)]
	for i, v := range x {
		v -= by
		y[i] = v
		square += v * v
	}
	return square
}

func plainAffine[T Float](y, x, gain, bias []T, by T) {
	y, gain, bias = y[:len(x)], gain[:len(x)], bias[:len(x)]
	for i, v := range x {
		v *= by
		x[i] = v
		y[i] = v*gain[i] + bias[i]
	}
}

// plainNormGrad computes dx = scale·(q − mean(q) − x̂·mean(q·x̂)), where q = dy·gain.
func plainNormGrad[T Float](dx, dy, xhat, gain []T, scale T) {
	s, t := plainNormSums(dy, xhat, gain)
	plainNormMove(dx, dy, xhat, gain, [3]T{scale, s / T(len(dx)), t / T(len(dx))})
}

func plainNormSums[T Float](dy, xhat, gain []T) (s, t T) {
	xhat, gain = xhat[:len(dy)], gain[:len(dy)]
	for i, d := range dy {
		q := d * gain[i]
		s += q
		t += q * xhat[i]
	}
	return s, t
}

func plainNormMove[T Float](dx, dy, xhat, gain []T, c [3]T) {
	dy, xhat, gain = dy[:len(dx)], xhat[:len(dx)], gain[:len(dx)]
	for i := range dx {
		dx[i] = c[0] * (dy[i]*gain[i] - c[1] - xhat[i]*c[2])
	}
}

// plainSoftmaxGrad replaces dp by p·(dp − Σ dp·p)·scale.
func plainSoftmaxGrad[T Float](dp, p []T, scale T) {
	plainSoftmaxMove(dp, p, scale, dot(dp, p))
}

func plainSoftmaxMove[T Float](dp, p []T, scale, delta T) {
	p = p[:len(dp)]
	for i, d := range dp {
		dp[i] = p[i] * (d - delta) * scale
	}
}

func sum[T Float](x []T) T {
	var s T
	for _, v := range x {
		s += v
	}
	return s
}

func dot[T Float](x, y []T) T {
	var s T
	y = y[:len(x)]
	for i, v := range x {
		s += v * y[i]
	}
	return s
}
