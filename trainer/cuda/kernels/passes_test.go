package kernels_test

import (
	"strings"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

// A pass is one kernel of attention alone: what other passes would have left comes from the
// solution.
type pass struct {
	module, name string // of the kernel: module, without the prefix
	rows         int    // of a block
	outputs      string // what it computes
}

var passes = []pass{
	{"attention", "forward", 4, "out lse"}, {"attention", "backward_queries", 4, "dq"}, {"attention", "backward_keys", 4, "dk dv"},
	{"flash", "forward", 64, "out lse"}, {"flash", "backward_queries", 64, "dq"}, {"flash", "backward_keys", 64, "dk dv"}, {"flash", "backward", 64, "sum dk dv"},
}

// kernel returns the name of the kernel, with a window or without.
func (p pass) kernel(local bool) string {
	if local {
		return p.module + "_local_" + p.name
	}
	return p.module + "_" + p.name
}

// check runs the pass on a problem and compares every element.
func (p pass) check(f *fixture, a *attention) {
	n, heads := a.tokens*a.heads*headSize, a.heads
	out, dqkv, lse, delta, dq := f.output("out", n), f.output("dqkv", 3*n), f.outputFloats("lse", heads*a.tokens), uint64(0), uint64(0)
	args := []any{out, lse, a.qkvAt}
	if p.name != "forward" {
		f.write(lse, float32Bytes(a.want.lse))
		delta = f.floats("delta", a.delta)
		args = []any{dqkv, a.qkvAt, a.doutAt, lse, delta}
	}
	shared := 0
	if p.module == "flash" && p.name != "forward" && p.name != "backward_queries" {
		shared = kernels.FlashShared
	}
	if p.name == "backward" {
		dq = f.floats("dq", make([]float64, n))
		args = append([]any{dqkv, dq}, args[1:]...)
	}
	name, args := a.kernel(p.module, p.name, args...)
	f.launchShared(p.module, name, sim.Dim{X: blocks(a.longest, p.rows), Y: heads, Z: a.sequences}, 128, shared, args...)
	for _, what := range strings.Fields(p.outputs) {
		switch what {
		case "out":
			f.within(what, f.read(out, n), a.want.out, a.slack.out)
		case "lse":
			f.withinFloats(what, f.readFloats(lse, heads*a.tokens), a.want.lse, a.slack.lse)
		case "dq":
			f.within(what, f.part(a, dqkv, 0), a.want.dq, a.slack.dq)
		case "dk":
			f.within(what, f.part(a, dqkv, 1), a.want.dk, a.slack.dk)
		case "dv":
			f.within(what, f.part(a, dqkv, 2), a.want.dv, a.slack.dv)
		case "sum":
			f.withinFloats(what, f.readFloats(dq, n), a.want.dq, a.slack.dq)
		}
	}
}

// part reads query (0), key or value gradients of dqkv (T, 3, A, 64), the only ones that are
// written.
func (f *fixture) part(a *attention, dqkv uint64, what int) []float64 {
	var out []float64
	width := a.heads * headSize
	for t := range a.tokens {
		out = append(out, f.read(dqkv+uint64((3*t+what)*width*f.typ.Size()), width)...)
	}
	return out
}

// problems are those that a pass is checked with, the smallest first.
func (p pass) problems(local bool) []func(f *fixture) *attention {
	if local {
		return []func(f *fixture) *attention{
			func(f *fixture) *attention { return f.localTo(5, 2, 0.1, []int{3, 76}, []int32{2, 73}) },
			func(f *fixture) *attention { return f.local(64, 1, 0, 195) },
			func(f *fixture) *attention { return f.local(7, 1, 0.95, 33) }, // all that a lane has of a tile may be dropped
			func(f *fixture) *attention { return f.hardLocal(7) },
			func(f *fixture) *attention { return f.hardLocal(0) },
		}
	}
	return []func(f *fixture) *attention{
		func(f *fixture) *attention { return f.attention(2, 0.1, []int{3, 70}, []int32{2, 66}) },
		func(f *fixture) *attention { return f.attention(3, 0.5, []int{1, 64, 17}, nil) },
		func(f *fixture) *attention { return f.attention(1, 0, []int{140}, []int32{129}) },
		func(f *fixture) *attention { return f.attention(1, 0.95, []int{33}, nil) }, // all that a lane has of a tile may be dropped
		func(f *fixture) *attention { return f.hardAttention(0.1) },
	}
}

// checksOf returns a check for each problem.
func (p pass) checksOf(local bool) (list []func(f *fixture)) {
	for _, problem := range p.problems(local) {
		list = append(list, func(f *fixture) { p.check(f, problem(f)) })
	}
	if local && p.module == "flash" {
		list = append(list, checkBand)
	}
	return list
}

// checkDelta and checkQueriesDone hold the small kernels between the passes.
func checkDelta(f *fixture) {
	const tokens, heads = 7, 3
	n := tokens * heads * headSize
	outAt, out := f.elems("out", f.normal(n))
	doutAt, dout := f.elems("dout", f.normal(n))
	want, slack := make([]float64, heads*tokens), make([]float64, heads*tokens)
	for i := range tokens * heads {
		x, y := out[i*headSize:][:headSize], dout[i*headSize:][:headSize]
		want[i%heads*tokens+i/heads], slack[i%heads*tokens+i/heads] = inner(x, y), 16*u32*absolute(x, y)
	}
	delta := f.outputFloats("delta", heads*tokens)
	f.launch("attention", "attention_delta", sim.Dim{X: blocks(tokens*heads, 4)}, 128, delta, outAt, doutAt, int32(tokens), int32(heads))
	f.withinFloats("delta", f.readFloats(delta, heads*tokens), want, slack)
}

func checkQueriesDone(f *fixture) {
	const tokens, heads = 5, 3
	n := tokens * heads * headSize
	x := f.normal(n)
	for i, v := range x {
		x[i] = float64(float32(v))
	}
	a, dq, dqkv := &attention{tokens: tokens, heads: heads}, f.floats("dq", x), f.output("dqkv", 3*n)
	f.launch("flash", "flash_queries_done", sim.Dim{X: blocks(n, 512)}, 128, dqkv, dq, int32(tokens), int32(heads))
	f.within("dq", f.part(a, dqkv, 0), x, make([]float64, n))
	f.near("dq afterwards", f.readFloats(dq, n), make([]float64, n), 0)
}
