package kernels_test

import (
	"math"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/dropout"
)

const headSize = 64

// An attention problem with its solution in double precision.
type attention struct {
	batch                             kernels.Batch
	drop                              kernels.Dropout
	sequences, longest, tokens, heads int
	qkvAt, doutAt                     uint64
	out, lse, delta, dq, dk, dv       []float64 // (T, A, 64); lse and delta (A, T)
}

const attentionScale = 0.125

// attention makes a problem of sequences of lengths; visible may be nil.
func (f *fixture) attention(heads int, p float64, lengths []int, visible []int32) *attention {
	s, site := f.sequences(lengths...), dropout.At(dropout.Probabilities, 2)
	m, d := masks(p, site)
	a := &attention{drop: d, sequences: len(lengths), tokens: len(s.row), heads: heads, batch: kernels.Batch{Cu: s.cuAt, Position: s.posAt, Tokens: int32(len(s.row)), Heads: int32(heads)}}
	if visible != nil {
		a.batch.Visible = numbers(f, "visible", visible)
	}
	t, width := a.tokens, heads*headSize
	var qkv, dout []float64
	a.qkvAt, qkv = f.elems("qkv", f.normal(t*3*width))
	a.doutAt, dout = f.elems("dout", f.normal(t*width))
	for _, x := range []*[]float64{&a.out, &a.dq, &a.dk, &a.dv} {
		*x = make([]float64, t*width)
	}
	a.lse, a.delta = make([]float64, heads*t), make([]float64, heads*t)
	at := func(row, what, head int) []float64 { return qkv[((row*3+what)*heads+head)*headSize:][:headSize] }
	for q, n := range lengths {
		a.longest = max(a.longest, n)
		keys, first := n, int(s.cu[q])
		if visible != nil {
			keys = int(visible[q])
		}
		for h := range heads {
			probability, dropped := make([]float64, n*keys), make([]float64, n*keys)
			for r := range n {
				row := probability[r*keys : (r+1)*keys]
				top, sum := math.Inf(-1), 0.0
				for k := range row {
					row[k] = inner(at(first+r, 0, h), at(first+k, 1, h)) * attentionScale
					top = max(top, row[k])
				}
				for k := range row {
					sum += math.Exp(row[k] - top)
				}
				a.lse[h*t+first+r] = top + math.Log(sum)
				for k := range row {
					row[k] = math.Exp(row[k]-top) / sum
				}
			}
			factor := make([]float64, n*keys)
			for i := range factor {
				factor[i] = 1
			}
			dropout.Attention(m, dropout.Scores[float64]{Values: factor, Rows: n, Keys: keys, Stride: keys, Head: h}, s.position[q], site)
			for r := range n {
				o, g := a.out[((first+r)*heads+h)*headSize:][:headSize], dout[((first+r)*heads+h)*headSize:][:headSize]
				for k := range keys {
					dropped[r*keys+k] = probability[r*keys+k] * factor[r*keys+k]
					axpy(o, dropped[r*keys+k], at(first+k, 2, h))
					axpy(a.dv[((first+k)*heads+h)*headSize:][:headSize], dropped[r*keys+k], g)
				}
				delta := inner(o, g)
				a.delta[h*t+first+r] = delta
				for k := range keys {
					ds := probability[r*keys+k] * (inner(g, at(first+k, 2, h))*factor[r*keys+k] - delta) * attentionScale
					axpy(a.dq[((first+r)*heads+h)*headSize:][:headSize], ds, at(first+k, 1, h))
					axpy(a.dk[((first+k)*heads+h)*headSize:][:headSize], ds, at(first+r, 0, h))
				}
			}
		}
	}
	return a
}

func inner(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

func axpy(y []float64, a float64, x []float64) {
	for i := range y[:len(x)] {
		y[i] += a * x[i]
	}
}

// problems are lengths at the edges of tiles and warps.
func (f *fixture) eachAttention(solve func(a *attention)) {
	solve(f.attention(2, 0.1, []int{33, 1, 16, 70}, nil))
	solve(f.attention(3, 0.5, []int{40, 2, 65}, []int32{31, 2, 64}))
	solve(f.attention(1, 0, []int{31, 32, 140}, []int32{31, 1, 129}))
}

// part returns query (0), key or value gradients of dqkv (T, 3, A, 64).
func (a *attention) part(dqkv []float64, what int) []float64 {
	var out []float64
	width := a.heads * headSize
	for t := range a.tokens {
		out = append(out, dqkv[(3*t+what)*width:(3*t+what+1)*width]...)
	}
	return out
}

func checkAttention(f *fixture) {
	f.eachAttention(func(a *attention) {
		n, heads := a.tokens*a.heads*headSize, a.heads
		grid := sim.Dim{X: blocks(a.longest, 4), Y: heads, Z: a.sequences}
		out, lse, delta, dqkv := f.output("out", n), f.outputFloats("lse", heads*a.tokens), f.outputFloats("delta", heads*a.tokens), f.output("dqkv", 3*n)
		scale := float32(attentionScale)
		f.launch("attention", "attention_forward", grid, 128, out, lse, a.qkvAt, a.batch, a.drop, scale)
		f.near("out", f.read(out, n), a.out, 2*f.precision())
		f.near("lse", f.readFloats(lse, heads*a.tokens), a.lse, 1e-6)
		f.launch("attention", "attention_delta", sim.Dim{X: blocks(a.tokens*heads, 4)}, 128, delta, out, a.doutAt, int32(a.tokens), int32(heads))
		f.near("delta", f.readFloats(delta, heads*a.tokens), a.delta, 4*f.precision())
		f.launch("attention", "attention_backward_queries", grid, 128, dqkv, a.qkvAt, a.doutAt, lse, delta, a.batch, a.drop, scale)
		f.launch("attention", "attention_backward_keys", grid, 128, dqkv, a.qkvAt, a.doutAt, lse, delta, a.batch, a.drop, scale)
		got := f.read(dqkv, 3*n)
		f.near("dq", a.part(got, 0), a.dq, 4*f.precision())
		f.near("dk", a.part(got, 1), a.dk, 4*f.precision())
		f.near("dv", a.part(got, 2), a.dv, 4*f.precision())
	})
}

// checkFlash holds both backward passes. In them P and dS are rounded before the
// products, which makes them two roundings worse than the plain kernels.
func checkFlash(f *fixture) {
	f.eachAttention(func(a *attention) {
		n, heads := a.tokens*a.heads*headSize, a.heads
		grid := sim.Dim{X: blocks(a.longest, 64), Y: heads, Z: a.sequences}
		out, lse, delta, dqkv := f.output("out", n), f.outputFloats("lse", heads*a.tokens), f.outputFloats("delta", heads*a.tokens), f.output("dqkv", 3*n)
		scale := float32(attentionScale)
		f.launch("flash", "flash_forward", grid, 128, out, lse, a.qkvAt, a.batch, a.drop, scale)
		f.near("out", f.read(out, n), a.out, 2*f.precision())
		f.near("lse", f.readFloats(lse, heads*a.tokens), a.lse, 1e-6)
		f.write(delta, float32Bytes(a.delta))
		f.launch("flash", "flash_backward_queries", grid, 128, dqkv, a.qkvAt, a.doutAt, lse, delta, a.batch, a.drop, scale)
		f.launchShared("flash", "flash_backward_keys", grid, 128, kernels.FlashShared, dqkv, a.qkvAt, a.doutAt, lse, delta, a.batch, a.drop, scale)
		got := f.read(dqkv, 3*n)
		f.near("dq", a.part(got, 0), a.dq, 2*f.precision())
		f.near("dk", a.part(got, 1), a.dk, 2*f.precision())
		f.near("dv", a.part(got, 2), a.dv, 2*f.precision())

		faster, dq := f.output("dqkv", 3*n), f.floats("dq", make([]float64, n))
		f.launchShared("flash", "flash_backward", grid, 128, kernels.FlashShared, faster, dq, a.qkvAt, a.doutAt, lse, delta, a.batch, a.drop, scale)
		f.launch("flash", "flash_queries_done", sim.Dim{X: blocks(n, 512)}, 128, faster, dq, int32(a.tokens), int32(heads))
		other := f.read(faster, 3*n)
		f.near("dq by atomics", a.part(other, 0), a.dq, 2*f.precision())
		f.near("dk beside it", a.part(other, 1), a.part(got, 1), 0)
		f.near("dv beside it", a.part(other, 2), a.part(got, 2), 0)
		f.near("dq afterwards", f.readFloats(dq, n), make([]float64, n), 0)
	})
}

// Tensor cores multiply 16-bit types.
func TestFlashAttention(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16, kernels.F16}, checkFlash)
}

func TestAttention(t *testing.T) { eachType(t, kernels.F32, checkAttention) }
