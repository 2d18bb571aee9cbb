package kernels_test

import (
	"math"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/dropout"
)

const headSize = 64

// An attention problem with its solution in double precision, and for each element of the
// solution how far the kernels' sums may be from it before they are rounded.
type attention struct {
	batch                             kernels.Batch
	drop                              kernels.Dropout
	reach                             int // of a query to either side; -1: no window
	sequences, longest, tokens, heads int
	qkvAt, doutAt                     uint64
	qkv, dout                         []float64
	delta, deltaSlack                 []float64 // (A, T)
	want, slack                       attended
}

// attended is what attention computes: out, dq, dk and dv are (T, A, 64), lse is (A, T).
type attended struct{ out, lse, dq, dk, dv []float64 }

func newAttended(tokens, heads int) attended {
	n := tokens * heads * headSize
	return attended{make([]float64, n), make([]float64, tokens*heads), make([]float64, n), make([]float64, n), make([]float64, n)}
}

const attentionScale = 0.125

// attention makes a problem of sequences of lengths; visible may be nil. Scores are about 1.
func (f *fixture) attention(heads int, p float64, lengths []int, visible []int32) *attention {
	tokens := 0
	for _, n := range lengths {
		tokens += n
	}
	return f.attentionOf(f.normal(tokens*3*heads*headSize), heads, p, lengths, visible)
}

// attentionOf makes a problem of queries, keys and values (T, 3, A, 64).
func (f *fixture) attentionOf(qkv []float64, heads int, p float64, lengths []int, visible []int32) *attention {
	a := f.unsolved(qkv, heads, p, lengths, visible)
	a.solveAll(f, p, lengths, visible)
	return a
}

// unsolved makes a problem without its solution.
func (f *fixture) unsolved(qkv []float64, heads int, p float64, lengths []int, visible []int32) *attention {
	s, site := f.sequences(lengths...), dropout.At(dropout.Probabilities, 2)
	_, d := masks(p, site)
	t := len(s.row)
	a := &attention{drop: d, reach: -1, sequences: len(lengths), tokens: t, heads: heads, batch: kernels.Batch{Cu: s.cuAt, Position: s.posAt, Tokens: int32(t), Heads: int32(heads)}}
	if visible != nil {
		a.batch.Visible = numbers(f, "visible", visible)
	}
	a.qkvAt, a.qkv = f.elems("qkv", qkv)
	a.doutAt, a.dout = f.elems("dout", f.normal(t*heads*headSize))
	for _, n := range lengths {
		a.longest = max(a.longest, n)
	}
	return a
}

// solveAll computes the solution.
func (a *attention) solveAll(f *fixture, p float64, lengths []int, visible []int32) {
	t, heads, site := a.tokens, a.heads, dropout.At(dropout.Probabilities, 2)
	m, _ := masks(p, site)
	a.want, a.slack = newAttended(t, heads), newAttended(t, heads)
	a.delta, a.deltaSlack = make([]float64, heads*t), make([]float64, heads*t)
	first := 0
	for q, n := range lengths {
		keys := n
		if visible != nil {
			keys = int(visible[q])
		}
		for h := range heads {
			factor := make([]float64, n*keys)
			for i := range factor {
				factor[i] = 1
			}
			dropout.Attention(m, dropout.Scores[float64]{Values: factor, Rows: n, Keys: keys, Stride: keys, Head: h}, positionOf(q), site)
			for r := range n {
				from, end := 0, keys
				if a.reach >= 0 {
					from, end = max(0, r-a.reach), min(keys, r+a.reach+1)
				}
				a.solve(f, query{token: first + r, first: first + from, keys: end - from, head: h}, factor[r*keys+from:r*keys+end])
			}
		}
		first += n
	}
}

// A query is one row of a head, with the keys that it attends to.
type query struct{ token, first, keys, head int }

// solve adds what a query contributes. factor is the dropout of its keys. The bounds on
// errors count those of single precision, u32, and of a rounding of P and dS to elements.
func (a *attention) solve(f *fixture, q query, factor []float64) {
	u, least := f.unit()
	token := q.token
	at := func(row, what int) []float64 { return a.qkv[((row*3+what)*a.heads+q.head)*headSize:][:headSize] }
	of := func(x []float64, row int) []float64 { return x[(row*a.heads+q.head)*headSize:][:headSize] }
	scores, off := make([]float64, q.keys), make([]float64, q.keys) // off: relative errors of exp(score − lse)
	top, sum, worst := math.Inf(-1), 0.0, 0.0
	for k := range scores {
		x, y := at(token, 0), at(q.first+k, 1)
		scores[k] = inner(x, y) * attentionScale
		off[k] = 24 * u32 * absolute(x, y) * attentionScale
		top = max(top, scores[k])
	}
	for _, s := range scores {
		sum += math.Exp(s - top)
	}
	lse := top + math.Log(sum)
	for k, s := range scores {
		worst = max(worst, off[k]*math.Exp(s-lse))
		off[k] += 8*u32*(math.Abs(s)+math.Abs(lse)) + 64*u32
	}
	a.want.lse[q.head*a.tokens+token] = lse
	a.slack.lse[q.head*a.tokens+token] = float64(q.keys)*worst + 4*u32*(math.Abs(top)+math.Abs(lse)+1)

	out, slack, dout := of(a.want.out, token), of(a.slack.out, token), of(a.dout, token)
	for k, s := range scores {
		p := math.Exp(s-lse) * factor[k]
		axpy(out, p, at(q.first+k, 2))
		axpyAbsolute(slack, p*(u+off[k]+worst)+least*factor[k], at(q.first+k, 2))
		axpy(of(a.want.dv, q.first+k), p, dout)
		axpyAbsolute(of(a.slack.dv, q.first+k), p*(u+off[k])+least*factor[k], dout)
	}
	delta := inner(out, dout)
	a.delta[q.head*a.tokens+token] = delta
	offDelta := (u+32*u32)*absolute(out, dout) + absolute(slack, dout)
	a.deltaSlack[q.head*a.tokens+token] = offDelta
	for k, s := range scores {
		p, value := math.Exp(s-lse)*attentionScale, at(q.first+k, 2)
		ds := p * (inner(dout, value)*factor[k] - delta)
		bound := (u+off[k])*math.Abs(ds) + least + p*(32*u32*absolute(dout, value)*factor[k]+offDelta)
		axpy(of(a.want.dq, token), ds, at(q.first+k, 1))
		axpyAbsolute(of(a.slack.dq, token), bound, at(q.first+k, 1))
		axpy(of(a.want.dk, q.first+k), ds, at(token, 0))
		axpyAbsolute(of(a.slack.dk, q.first+k), bound, at(token, 0))
	}
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

// absolute returns Σ|a·b|.
func absolute(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += math.Abs(v * b[i])
	}
	return s
}

// axpyAbsolute adds a·|x| to y.
func axpyAbsolute(y []float64, a float64, x []float64) {
	for i := range y[:len(x)] {
		y[i] += a * math.Abs(x[i])
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

// kernel returns the name of a kernel and what it is launched with behind the arguments args.
func (a *attention) kernel(prefix, pass string, args ...any) (string, []any) {
	args = append(args, a.batch, a.drop, float32(attentionScale))
	if a.reach >= 0 {
		return prefix + "_local_" + pass, append(args, int32(a.reach))
	}
	return prefix + "_" + pass, args
}

// plainAttention runs the plain kernels.
func (f *fixture) plainAttention(a *attention) attended {
	n, heads := a.tokens*a.heads*headSize, a.heads
	grid := sim.Dim{X: blocks(a.longest, 4), Y: heads, Z: a.sequences}
	out, lse, delta, dqkv := f.output("out", n), f.outputFloats("lse", heads*a.tokens), f.outputFloats("delta", heads*a.tokens), f.output("dqkv", 3*n)
	run := func(pass string, args ...any) {
		name, args := a.kernel("attention", pass, args...)
		f.launch("attention", name, grid, 128, args...)
	}
	run("forward", out, lse, a.qkvAt)
	f.launch("attention", "attention_delta", sim.Dim{X: blocks(a.tokens*heads, 4)}, 128, delta, out, a.doutAt, int32(a.tokens), int32(heads))
	f.withinFloats("delta", f.readFloats(delta, heads*a.tokens), a.delta, a.deltaSlack)
	run("backward_queries", dqkv, a.qkvAt, a.doutAt, lse, delta)
	run("backward_keys", dqkv, a.qkvAt, a.doutAt, lse, delta)
	got := f.read(dqkv, 3*n)
	return attended{f.read(out, n), f.readFloats(lse, heads*a.tokens), a.part(got, 0), a.part(got, 1), a.part(got, 2)}
}

// flashAttention runs the kernels for tensor cores; with atomics it runs the faster backward
// pass.
func (f *fixture) flashAttention(a *attention, atomics bool) attended {
	n, heads := a.tokens*a.heads*headSize, a.heads
	grid := sim.Dim{X: blocks(a.longest, 64), Y: heads, Z: a.sequences}
	out, lse, delta, dqkv := f.output("out", n), f.outputFloats("lse", heads*a.tokens), f.outputFloats("delta", heads*a.tokens), f.output("dqkv", 3*n)
	run := func(pass string, shared int, args ...any) {
		name, args := a.kernel("flash", pass, args...)
		f.launchShared("flash", name, grid, 128, shared, args...)
	}
	run("forward", 0, out, lse, a.qkvAt)
	f.write(delta, float32Bytes(a.delta))
	if atomics {
		dq := f.floats("dq", make([]float64, n))
		run("backward", kernels.FlashShared, dqkv, dq, a.qkvAt, a.doutAt, lse, delta)
		f.launch("flash", "flash_queries_done", sim.Dim{X: blocks(n, 512)}, 128, dqkv, dq, int32(a.tokens), int32(heads))
		f.near("dq afterwards", f.readFloats(dq, n), make([]float64, n), 0)
	} else {
		run("backward_queries", 0, dqkv, a.qkvAt, a.doutAt, lse, delta)
		run("backward_keys", kernels.FlashShared, dqkv, a.qkvAt, a.doutAt, lse, delta)
	}
	got := f.read(dqkv, 3*n)
	return attended{f.read(out, n), f.readFloats(lse, heads*a.tokens), a.part(got, 0), a.part(got, 1), a.part(got, 2)}
}

// holds compares every element, and norms by a tolerance of gradients in units of precision.
func (a *attention) holds(f *fixture, got attended, gradients float64) {
	f.near("out", got.out, a.want.out, 2*f.precision())
	f.near("dq", got.dq, a.want.dq, gradients*f.precision())
	f.near("dk", got.dk, a.want.dk, gradients*f.precision())
	f.near("dv", got.dv, a.want.dv, gradients*f.precision())
	a.holdsElements(f, got)
}

func (a *attention) holdsElements(f *fixture, got attended) {
	f.within("out", got.out, a.want.out, a.slack.out)
	f.withinFloats("lse", got.lse, a.want.lse, a.slack.lse)
	f.within("dq", got.dq, a.want.dq, a.slack.dq)
	f.within("dk", got.dk, a.want.dk, a.slack.dk)
	f.within("dv", got.dv, a.want.dv, a.slack.dv)
}

func checkAttention(f *fixture) {
	f.eachAttention(func(a *attention) { a.holds(f, f.plainAttention(a), 4) })
}

// checkFlash holds both backward passes. In them P and dS are rounded before the
// products, which makes them two roundings worse than the plain kernels.
func checkFlash(f *fixture) {
	f.eachAttention(func(a *attention) {
		a.holds(f, f.flashAttention(a, false), 2)
		a.holds(f, f.flashAttention(a, true), 2)
	})
}

// Tensor cores multiply 16-bit types.
func TestFlashAttention(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16, kernels.F16}, checkFlash)
}

func TestAttention(t *testing.T) { eachType(t, kernels.F32, checkAttention) }
