//go:build amd64 || arm64

package kernel

// LayerNorm, its gradient, and the gradient of softmax. The remaining elements at the end
// of a row, less than a register, are computed in Go.

func (l level) norm(y, xhat, x, gain, bias []float32, eps float64) float32 {
	y, xhat, gain, bias = y[:len(x)], xhat[:len(x)], gain[:len(x)], bias[:len(x)]
	n := len(x) / l.width * l.width
	if n == 0 {
		return plainNorm(y, xhat, x, gain, bias, eps)
	}
	mean := (l.sum(x[:n]) + sum(x[n:])) / float32(len(x))
	square := l.center(xhat[:n], x[:n], mean) + plainCenter(xhat[n:], x[n:], mean)
	scale := normScale(square, len(x), eps)
	affineAny(l, &y[0], &xhat[0], &gain[0], &bias[0], n, &scale)
	plainAffine(y[n:], xhat[n:], gain[n:], bias[n:], scale)
	return scale
}

func (l level) sum(x []float32) float32 {
	var parts [16]float32
	sumAny(l, &x[0], len(x), &parts[0])
	return sum(parts[:l.width])
}

func (l level) center(y, x []float32, by float32) float32 {
	var parts [16]float32
	centerAny(l, &y[0], &x[0], len(x), &by, &parts[0])
	return sum(parts[:l.width])
}

func (l level) normGrad(dx, dy, xhat, gain []float32, scale float32) {
	dy, xhat, gain = dy[:len(dx)], xhat[:len(dx)], gain[:len(dx)]
	n := len(dx) / l.width * l.width
	s, t := plainNormSums(dy[n:], xhat[n:], gain[n:])
	if n > 0 {
		var parts [32]float32
		normSumsAny(l, &dy[0], &xhat[0], &gain[0], n, &parts[0])
		s += sum(parts[:l.width])
		t += sum(parts[l.width : 2*l.width])
	}
	c := [3]float32{scale, s / float32(len(dx)), t / float32(len(dx))}
	if n > 0 {
		normGradAny(l, &dx[0], &dy[0], &xhat[0], &gain[0], n, &c[0])
	}
	plainNormMove(dx[n:], dy[n:], xhat[n:], gain[n:], c)
}

func (l level) softmaxGrad(dp, p []float32, scale float32) {
	p = p[:len(dp)]
	n := len(dp) / l.width * l.width
	delta := dot(dp[n:], p[n:])
	if n > 0 {
		var parts [16]float32
		dotAny(l, &dp[0], &p[0], n, &parts[0])
		delta += sum(parts[:l.width])
		c := [2]float32{scale, delta}
		softmaxGradAny(l, &dp[0], &p[0], n, &c[0])
	}
	plainSoftmaxMove(dp[n:], p[n:], scale, delta)
}
