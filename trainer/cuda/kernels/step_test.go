package kernels_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
	"pretext/trainer/dropout"
)

// A step is one micro-batch forward and backward, by kernels and products alone,
// in one stream: what a backend will do, with the same names as trainer/cpu.
type step struct {
	*fixture
	c       trainer.Config
	b       *trainer.Batch
	stream  *sim.Stream
	rows    kernels.Rows // all of the batch
	batch   kernels.Batch
	weights map[string]uint64 // elements, by name of the tensor
	grads   map[string]uint64 // fp32, of the same shape
	part    uint64            // (8, widest) sums of columns
	flash   bool
	scale   float64        // of the loss: that of fp16, else 1
	sizes   map[string]int // elements of each tensor on the device
}

// vocabulary is rounded up to a multiple of 64 on the device only.
func (s *step) vocabulary() int { return (s.c.VocabSize + 63) &^ 63 }

// fused names the matrix and the bias that hold query, key and value.
func fused(layer int) string { return fmt.Sprintf("bert.encoder.layer.%d.attention.self", layer) }

func (s *step) launch(module, name string, grid sim.Dim, threads int, args ...any) {
	s.stream.Launch(s.kernel(module, name), sim.Config{Grid: grid, Block: sim.Dim{X: threads}}, kernels.Pack(args...))
}

// each runs an elementwise kernel over n elements.
func (s *step) each(name string, n int, args ...any) {
	s.launch("elementwise", name, sim.Dim{X: blocks(n, 1024)}, 256, args...)
}

// elements is the type of elements in products.
func (s *step) elements() sim.DataType {
	return map[kernels.Type]sim.DataType{kernels.F32: sim.Float32, kernels.BF16: sim.BFloat16, kernels.F16: sim.Float16}[s.typ]
}

// A product is d (m, n) = op(a)·op(b) + beta·d of matrices by columns: what is
// (rows, width) by rows in our names is (width, rows) by columns there.
type product struct {
	a, b, d        uint64
	m, n, k        int
	transA, transB bool
	typ            sim.DataType // of d
	beta           float32
}

func (s *step) multiply(p product) {
	matrix := func(at uint64, rows, cols int, typ sim.DataType) sim.Matrix {
		return sim.Matrix{At: sim.Pointer(at), Type: typ, Rows: rows, Cols: cols, LD: rows}
	}
	m := sim.Matmul{A: matrix(p.a, p.m, p.k, s.elements()), B: matrix(p.b, p.k, p.n, s.elements()), D: matrix(p.d, p.m, p.n, p.typ), TransA: p.transA, TransB: p.transB, Alpha: 1, Beta: p.beta}
	if p.transA {
		m.A = matrix(p.a, p.k, p.m, s.elements())
	}
	if p.transB {
		m.B = matrix(p.b, p.n, p.k, s.elements())
	}
	s.stream.Matmul(m)
}

// A dense is y (rows, out) = x (rows, in)·Wᵀ.
type dense struct {
	rows, out, in int
	name          string // of the weight
}

func (s *step) linear(y, x uint64, d dense) {
	s.multiply(product{a: s.weights[d.name], b: x, d: y, m: d.out, n: d.rows, k: d.in, transA: true, typ: s.elements()})
}

// linearGrad adds the gradient of W, and sets dx, or adds to it where beta is 1.
func (s *step) linearGrad(dx, dy, x uint64, d dense, beta float32) {
	s.multiply(product{a: x, b: dy, d: s.grads[d.name], m: d.in, n: d.out, k: d.rows, transB: true, typ: sim.Float32, beta: 1})
	s.multiply(product{a: s.weights[d.name], b: dy, d: dx, m: d.in, n: d.rows, k: d.out, typ: s.elements(), beta: beta})
}

// columns adds the sums of columns of x, or of x·y, to a gradient.
func (s *step) columns(name string, x, y uint64, rows, width int) {
	s.launch("elementwise", "column_sums", sim.Dim{X: blocks(width, 256), Y: 3}, 256, s.part, x, y, int32(rows), int32(width))
	s.launch("elementwise", "add_parts", sim.Dim{X: blocks(width, 32)}, 256, s.grads[name], s.part, int32(3), int32(width))
}

// A normed is a LayerNorm's output and what its gradient needs.
type normed struct{ y, xhat, inverse uint64 }

func (s *step) normed(rows int) normed {
	n := rows * s.c.HiddenSize
	return normed{s.output("y", n), s.output("xhat", n), s.outputFloats("inverse", rows)}
}

func (s *step) norm(to normed, x, before, residual uint64, name string, rows kernels.Rows, d kernels.Dropout) {
	s.launch("norm", "norm_forward", sim.Dim{X: blocks(int(rows.N), 4)}, 128, to.y, to.xhat, to.inverse, x, before, residual,
		s.weights[name+".LayerNorm.weight"], s.weights[name+".LayerNorm.bias"], rows, d, int32(s.c.HiddenSize), float32(s.c.LayerNormEps))
}

// normGrad adds the gradients of a LayerNorm and, unless dx is 0, of the bias before it.
func (s *step) normGrad(dz, dx, dy uint64, of normed, name string, rows kernels.Rows, d kernels.Dropout) {
	const parts = 3
	h := s.c.HiddenSize
	names := []string{name + ".LayerNorm.weight", name + ".LayerNorm.bias"}
	if dx != 0 {
		names = append([]string{name + ".dense.bias"}, names...)
	}
	width := len(names) * h
	s.launch("norm", "norm_backward", sim.Dim{X: parts}, 128, dz, dx, s.part, dy, of.y, of.xhat, of.inverse,
		s.weights[name+".LayerNorm.weight"], s.weights[name+".LayerNorm.bias"], rows, d, int32(h))
	sums := s.outputFloats("sums", width)
	s.stream.Clear(sim.Pointer(sums), 4*width)
	s.launch("elementwise", "add_parts", sim.Dim{X: blocks(width, 32)}, 256, sums, s.part, int32(parts), int32(width))
	for i, name := range names {
		s.launch("elementwise", "add_parts", sim.Dim{X: blocks(h, 32)}, 256, s.grads[name], sums+uint64(4*i*h), int32(1), int32(h))
	}
}

// dropping returns the argument of a site.
func dropping(p float64, seed uint64, kind dropout.Kind, layer int) kernels.Dropout {
	m := dropout.New(seed, p)
	return kernels.Dropout{Seed: seed, Site: uint32(dropout.At(kind, layer)), Keep: uint32(256 - math.Round(256*p)), Scale: float32(m.Scale())}
}

var keepAll = kernels.Dropout{Keep: 256, Scale: 1}

// layerState is what a layer keeps for the backward pass.
type layerState struct {
	x, qkv, lse, ctx, u, g uint64
	mid, final             normed
}

const stepSeed = 77

func (s *step) layer(i int, x uint64) layerState {
	t, h, ffn, a := s.b.Tokens(), s.c.HiddenSize, s.c.IntermediateSize, s.c.AttentionHeads
	name := fmt.Sprintf("bert.encoder.layer.%d.", i)
	k := layerState{
		x: x, qkv: s.output("qkv", 3*t*h), lse: s.outputFloats("lse", a*t), ctx: s.output("ctx", t*h), u: s.output("u", t*ffn), g: s.output("g", t*ffn),
		mid: s.normed(t), final: s.normed(t),
	}
	o := s.output("o", t*h)
	s.linear(k.qkv, x, dense{t, 3 * h, h, fused(i) + ".weight"})
	s.each("add_bias", 3*t*h, k.qkv, s.weights[fused(i)+".bias"], int64(3*t*h), int32(3*h))
	s.attend("forward", i, k.ctx, k.lse, k.qkv)
	s.linear(o, k.ctx, dense{t, h, h, name + "attention.output.dense.weight"})
	s.norm(k.mid, o, s.weights[name+"attention.output.dense.bias"], x, name+"attention.output", s.rows, dropping(s.c.HiddenDropout, stepSeed, dropout.AttentionOutput, i))
	s.linear(k.u, k.mid.y, dense{t, ffn, h, name + "intermediate.dense.weight"})
	s.each("gelu_forward", t*ffn, k.g, k.u, s.weights[name+"intermediate.dense.bias"], int64(t*ffn), int32(ffn), s.form())
	s.linear(o, k.g, dense{t, h, ffn, name + "output.dense.weight"})
	s.norm(k.final, o, s.weights[name+"output.dense.bias"], k.mid.y, name+"output", s.rows, dropping(s.c.HiddenDropout, stepSeed, dropout.FeedForward, i))
	return k
}

func (s *step) form() int32 {
	if s.c.Activation.Tanh() {
		return 1
	}
	return 0
}

// attend launches an attention kernel of the last arguments that all share.
func (s *step) attend(what string, layer int, args ...any) {
	args = append(args, s.batch, dropping(s.c.AttentionDropout, stepSeed, dropout.Probabilities, layer), float32(1/math.Sqrt(headSize)))
	longest := 0
	for i := range s.b.Sequences() {
		longest = max(longest, int(s.b.CuSeqlens[i+1]-s.b.CuSeqlens[i]))
	}
	module, rows, shared := "attention", 4, 0
	if s.flash {
		module, rows = "flash", 64
		if what == "backward_keys" {
			shared = kernels.FlashShared
		}
	}
	k := s.kernel(module, module+"_"+what)
	s.must(k.AllowShared(shared))
	s.stream.Launch(k, sim.Config{Grid: sim.Dim{X: blocks(longest, rows), Y: s.c.AttentionHeads, Z: s.b.Sequences()}, Block: sim.Dim{X: 128}, Shared: shared}, kernels.Pack(args...))
}

// layerGrad returns the gradient of a layer's input from that of its output.
func (s *step) layerGrad(i int, k layerState, dy uint64) uint64 {
	t, h, ffn, a := s.b.Tokens(), s.c.HiddenSize, s.c.IntermediateSize, s.c.AttentionHeads
	name := fmt.Sprintf("bert.encoder.layer.%d.", i)
	dz, dx, do, du, dctx, dqkv, delta := s.output("dz", t*h), s.output("dx", t*h), s.output("do", t*h), s.output("du", t*ffn), s.output("dctx", t*h), s.output("dqkv", 3*t*h), s.outputFloats("delta", a*t)
	s.normGrad(dz, do, dy, k.final, name+"output", s.rows, dropping(s.c.HiddenDropout, stepSeed, dropout.FeedForward, i))
	s.each("gelu_again", t*ffn, k.g, k.u, int64(t*ffn), s.form())
	s.linearGrad(du, do, k.g, dense{t, h, ffn, name + "output.dense.weight"}, 0)
	s.each("gelu_backward", t*ffn, du, k.u, int64(t*ffn), s.form())
	s.columns(name+"intermediate.dense.bias", du, 0, t, ffn)
	s.linearGrad(dz, du, k.mid.y, dense{t, ffn, h, name + "intermediate.dense.weight"}, 1)

	s.normGrad(dx, do, dz, k.mid, name+"attention.output", s.rows, dropping(s.c.HiddenDropout, stepSeed, dropout.AttentionOutput, i))
	s.linearGrad(dctx, do, k.ctx, dense{t, h, h, name + "attention.output.dense.weight"}, 0)
	s.launch("attention", "attention_delta", sim.Dim{X: blocks(t*a, 4)}, 128, delta, k.ctx, dctx, int32(t), int32(a))
	s.attend("backward_queries", i, dqkv, k.qkv, dctx, k.lse, delta)
	s.attend("backward_keys", i, dqkv, k.qkv, dctx, k.lse, delta)
	s.columns(fused(i)+".bias", dqkv, 0, t, 3*h)
	s.linearGrad(dx, dqkv, k.x, dense{t, 3 * h, h, fused(i) + ".weight"}, 1)
	return dx
}

// addRows adds rows of x to the rows of a table that list says.
func (s *step) addRows(kernel string, table, x uint64, list []int32) {
	target, bounds, order := []int32{}, []int32{0}, []int32{}
	for _, row := range slices.Sorted(maps.Keys(groups(list))) {
		target, order = append(target, row), append(order, groups(list)[row]...)
		bounds = append(bounds, int32(len(order)))
	}
	s.launch("elementwise", kernel, sim.Dim{X: blocks(s.c.HiddenSize, 256), Y: len(target)}, 256, table, x, numbers(s.fixture, "target", target), numbers(s.fixture, "bounds", bounds), numbers(s.fixture, "order", order), int32(s.c.HiddenSize))
}

func groups(list []int32) map[int32][]int32 {
	g := map[int32][]int32{}
	for i, row := range list {
		g[row] = append(g[row], int32(i))
	}
	return g
}

// A loss is a sum of losses, weights and hits.
type loss [3]float64

// xent computes cross entropy on logits, and their gradient.
func (s *step) xent(logits, bias uint64, labels []int32, weights uint64, coef float64, classes, stride int) (sums uint64) {
	n := len(labels)
	l, hit, at := s.outputFloats("loss", n), s.outputFloats("hit", n), numbers(s.fixture, "labels", labels)
	scale := s.floats("loss scale", []float64{s.scale})
	s.launch("loss", "cross_entropy", sim.Dim{X: n}, 256, logits, bias, at, weights, scale, l, hit, uint64(0), int32(classes), int32(stride), float32(coef), int32(1))
	sums = numbers(s.fixture, "sums", []float64{0, 0, 0})
	s.launch("loss", "sum_losses", sim.Dim{X: 1}, 256, sums, l, hit, weights, at, int32(n))
	return sums
}

// mlm is the masked-LM head; it adds the gradient of its input to dy.
func (s *step) mlm(x, dy uint64, coef float64) (sums uint64) {
	n, h, v := s.b.Masked(), s.c.HiddenSize, s.vocabulary()
	const name, word = "cls.predictions.transform", "bert.embeddings.word_embeddings.weight"
	in, u, g, of, logits := s.output("in", n*h), s.output("u", n*h), s.output("g", n*h), s.normed(n), s.output("logits", n*v)
	rows := kernels.Rows{N: int32(n)}
	s.each("gather_rows", n*h, in, x, numbers(s.fixture, "masked", s.b.MaskedIndex), int32(n), int32(h))
	s.linear(u, in, dense{n, h, h, name + ".dense.weight"})
	s.each("gelu_forward", n*h, g, u, s.weights[name+".dense.bias"], int64(n*h), int32(h), s.form())
	s.norm(of, g, 0, 0, name, rows, keepAll)
	s.linear(logits, of.y, dense{n, v, h, word})
	weights := make([]float64, n)
	for i, w := range s.b.MaskedWeights {
		weights[i] = float64(w)
	}
	sums = s.xent(logits, s.weights["cls.predictions.bias"], s.b.MaskedIDs, s.floats("weights", weights), coef, s.c.VocabSize, v)
	do, dg, dx := s.output("do", n*h), s.output("dg", n*h), s.output("dx", n*h)
	s.columns("cls.predictions.bias", logits, 0, n, v)
	s.linearGrad(do, logits, of.y, dense{n, v, h, word}, 0)
	s.normGrad(dg, 0, do, of, name, rows, keepAll)
	s.each("gelu_backward", n*h, dg, u, int64(n*h), s.form())
	s.columns(name+".dense.bias", dg, 0, n, h)
	s.linearGrad(dx, dg, in, dense{n, h, h, name + ".dense.weight"}, 0)
	s.addRows("add_rows_elem", dy, dx, s.b.MaskedIndex)
	return sums
}

// nsp is the pooler and next sentence; it adds the gradient of its input to dy.
func (s *step) nsp(x, dy uint64, coef float64) (sums uint64) {
	n, h := s.b.Sequences(), s.c.HiddenSize
	const pooler, head = "bert.pooler.dense", "cls.seq_relationship"
	first, pooled, logits := s.output("first", n*h), s.output("pooled", n*h), s.output("logits", 2*n)
	s.each("gather_rows", n*h, first, x, numbers(s.fixture, "firsts", s.b.CuSeqlens[:n]), int32(n), int32(h))
	s.linear(pooled, first, dense{n, h, h, pooler + ".weight"})
	s.each("tanh_forward", n*h, pooled, s.weights[pooler+".bias"], int64(n*h), int32(h))
	s.linear(logits, pooled, dense{n, 2, h, head + ".weight"})
	sums = s.xent(logits, s.weights[head+".bias"], s.b.NSPLabels, 0, coef, 2, 2)
	dp, dx := s.output("dpooled", n*h), s.output("dx", n*h)
	s.columns(head+".bias", logits, 0, n, 2)
	s.linearGrad(dp, logits, pooled, dense{n, 2, h, head + ".weight"}, 0)
	s.each("tanh_backward", n*h, dp, pooled, int64(n*h))
	s.columns(pooler+".bias", dp, 0, n, h)
	s.linearGrad(dx, dp, first, dense{n, h, h, pooler + ".weight"}, 0)
	s.addRows("add_rows_elem", dy, dx, s.b.CuSeqlens[:n])
	return sums
}

// run computes the step and returns both losses' sums.
func (s *step) run(coef trainer.Coef) (mlm, nsp loss) {
	t, h := s.b.Tokens(), s.c.HiddenSize
	const name = "bert.embeddings"
	emb := s.normed(t)
	drop := dropping(s.c.HiddenDropout, stepSeed, dropout.Embeddings, 0)
	word, place, kind := name+".word_embeddings.weight", name+".position_embeddings.weight", name+".token_type_embeddings.weight"
	s.launch("norm", "embed_forward", sim.Dim{X: blocks(t, 4)}, 128, emb.y, emb.xhat, emb.inverse, s.weights[word], s.weights[place], s.weights[kind],
		numbers(s.fixture, "ids", s.b.IDs), numbers(s.fixture, "places", s.b.Positions), numbers(s.fixture, "kinds", s.b.Segments),
		s.weights[name+".LayerNorm.weight"], s.weights[name+".LayerNorm.bias"], s.rows, drop, int32(h), float32(s.c.LayerNormEps))
	x, kept := emb.y, []layerState{}
	for i := range s.c.Layers {
		kept = append(kept, s.layer(i, x))
		x = kept[i].final.y
	}
	dy := s.output("dy", t*h)
	s.stream.Clear(sim.Pointer(dy), t*h*s.typ.Size())
	a, b := s.mlm(x, dy, coef.MLM), s.nsp(x, dy, coef.NSP)
	for i := s.c.Layers - 1; i >= 0; i-- {
		dy = s.layerGrad(i, kept[i], dy)
	}
	do, dz := s.output("do", t*h), s.output("dz", t*h)
	s.launch("norm", "dropout_rows", sim.Dim{X: blocks(t, 4)}, 128, do, dy, s.rows, drop, int32(h))
	s.normGrad(dz, 0, do, normed{xhat: emb.xhat, inverse: emb.inverse}, name, s.rows, keepAll)
	s.addRows("add_rows_f32", s.grads[word], dz, s.b.IDs)
	s.addRows("add_rows_f32", s.grads[place], dz, s.b.Positions)
	s.addRows("add_rows_f32", s.grads[kind], dz, s.b.Segments)
	s.must(s.stream.Synchronize())
	return loss(readAs[float64](s.fixture, a, 3)), loss(readAs[float64](s.fixture, b, 3))
}

// tensors brings weights to the device: query, key and value of a layer as one
// matrix, the vocabulary rounded up.
func (s *step) tensors(values map[string][]float64) {
	add := func(name string, v []float64) {
		s.weights[name], _ = s.elems(name, v)
		s.sizes[name] = len(v)
		s.grads[name] = s.floats("gradient of "+name, make([]float64, len(v)))
	}
	for _, spec := range trainer.Tensors(s.c, trainer.PretrainHeads()) {
		v := values[spec.Name]
		switch {
		case strings.Contains(spec.Name, "attention.self."):
			if query, kind, ok := strings.Cut(spec.Name, ".query"); ok {
				add(query+kind, slices.Concat(v, values[query+".key"+kind], values[query+".value"+kind]))
			}
		case spec.Shape[0] == s.c.VocabSize:
			add(spec.Name, append(slices.Clone(v), make([]float64, (s.vocabulary()-s.c.VocabSize)*len(v)/s.c.VocabSize)...))
		default:
			add(spec.Name, v)
		}
	}
}

// gradient returns the gradient of a tensor, of the unscaled loss.
func (s *step) gradient(spec trainer.TensorSpec) []float64 {
	at, n, name := 0, spec.Size(), spec.Name
	for i, part := range []string{"query", "key", "value"} {
		if strings.Contains(name, "self."+part) {
			at, name = i*n, strings.Replace(name, "self."+part, "self", 1)
		}
	}
	x := s.readFloats(s.grads[name]+uint64(4*at), n)
	for i := range x {
		x[i] /= s.scale
	}
	return x
}
