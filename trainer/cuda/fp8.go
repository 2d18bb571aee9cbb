package cuda

import (
	"encoding/binary"
	"fmt"
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/internal/bert"
)

// Precision fp8. The products of the encoder's layers have 8-bit operands: E4M3 for
// activations and weights, E5M2 for gradients, each tensor with a factor of its own
// (Micikevicius et al. 2022). Everything else is as in bf16.
//
// The factor of an activation or a gradient is that of the largest size that the tensor had
// in the last steps (delayed scaling, as in NVIDIA's Transformer Engine), so that a pass need
// not look at a tensor before it converts it. The first step of a model without history, and
// evaluation, use the tensor's own size, so that an evaluation depends on nothing but the
// weights. Weights always do: they are converted once a step.
//
// cuBLASLt wants both operands with rows along the sums, so each tensor is converted
// together with its transpose where a product needs that.

// amaxHistory is the number of steps whose sizes choose the factors: HISTORY in fp8.cu.
const amaxHistory = 16

// eightBits holds the state of precision fp8. A tensor has an index: 2·d for the input of
// dense layer d and 2·d+1 for the gradient of its output.
type eightBits struct {
	*compute
	ranks *ranks
	dense []eightDense
	names []string // of the tensors
	steps int      // in the history, at most amaxHistory
	next  int      // place in the history of the step that runs
	stale bool     // the weights have changed since they were converted

	history         device.Pointer // float32 (tensors, amaxHistory): largest size in each step
	from, fresh     device.Pointer // float32 (tensors): largest size in the history; of the present pass
	seen, gathered  device.Pointer // float32 (tensors), (ranks, tensors): largest size in this step
	inverse         device.Pointer // float32 (tensors): inverse factors
	weights         device.Pointer // float32 (2, dense layers): largest sizes of the weights; inverse factors
	q, qt           device.Pointer // 8 bits (T, widest): the tensor that was converted last, and its transpose
	saturated       device.Pointer // uint32: elements of this step that became the largest number
	gradient        device.Pointer // bf16: the gradient whose conversion q holds; zero: none
	real            int            // rows of the present tensors; see only
	saturatedOnHost []byte         // page-locked
}

// An eightDense is a dense layer of the encoder.
type eightDense struct {
	number int
	w, wt  device.Pointer // E4M3 (out, in), (in, out)
	xt     device.Pointer // E4M3 (in, rows): the transposed input of the last forward pass
}

// newEightBits returns nil in other precisions.
func newEightBits(c *compute, r *ranks, config trainer.Config, o trainer.Options) *eightBits {
	if o.Precision != trainer.Float8 {
		return nil
	}
	e := &eightBits{compute: c, ranks: r, stale: true, dense: make([]eightDense, 4*config.Layers)}
	for i := range config.Layers {
		for _, name := range []string{"attention.self", "attention.output", "intermediate", "output"} {
			layer := fmt.Sprintf("bert.encoder.layer.%d.%s", i, name)
			e.names = append(e.names, layer+" input", layer+" gradient")
		}
	}
	for i := range e.dense {
		e.dense[i].number = i
	}
	return e
}

// tensors returns the number of tensors with a history.
func (e *eightBits) tensors() int { return len(e.names) }

// request requests the buffers.
func (e *eightBits) request(r *requests) {
	if e == nil {
		return
	}
	t, h, f, n := r.s.tokens, r.c.HiddenSize, r.c.IntermediateSize, e.tensors()
	for i := range e.dense {
		d, out, in := &e.dense[i], [4]int{3 * h, h, f, h}[i%4], [4]int{h, h, h, f}[i%4]
		r.want(fmt.Sprintf("8-bit weight %d", i), &d.w, out*in)
		if r.train {
			r.want(fmt.Sprintf("8-bit transposed weight %d", i), &d.wt, out*in)
			r.want(fmt.Sprintf("8-bit transposed input %d", i), &d.xt, t*in)
		}
	}
	r.want("8-bit tensor", &e.q, t*max(3*h, f))
	r.floats("fresh sizes", &e.fresh, n)
	r.floats("inverse factors", &e.inverse, n)
	r.floats("sizes of weights", &e.weights, 2*len(e.dense))
	if r.train {
		r.want("8-bit transposed tensor", &e.qt, t*max(3*h, f))
		r.floats("history of sizes", &e.history, n*amaxHistory)
		r.floats("sizes in the history", &e.from, n)
		r.floats("sizes of this step", &e.seen, n)
		r.want("saturated", &e.saturated, 4)
		if r.s.ranks > 1 {
			r.floats("sizes of all ranks", &e.gathered, n*r.s.ranks)
		}
	}
}

// attach makes the products of the encoder's layers use 8 bits.
func (e *eightBits) attach(p *bert.Parameters[dense, norm, table]) {
	for i := range p.Layers {
		l := &p.Layers[i]
		for k, d := range []*dense{&l.QKV, &l.Attended, &l.Up, &l.Down} {
			d.eight = &e.dense[4*i+k]
		}
	}
}

// begin converts the weights if they have changed.
func (e *eightBits) begin(p *bert.Parameters[dense, norm, table]) {
	e.gradient = 0
	if !e.stale {
		return
	}
	e.stale = false
	e.clear(e.weights, 4*len(e.dense))
	for i := range p.Layers {
		l := &p.Layers[i]
		for _, d := range []dense{l.QKV, l.Attended, l.Up, l.Down} {
			e.amax(e.weights.Add(4*d.eight.number), d.w, d.out*d.in)
			e.only(d.out)
			e.convert("fp8_e4m3", conversion{q: d.eight.w, qt: d.eight.wt, x: d.w, from: e.weights.Add(4 * d.eight.number), inverse: e.weightInverse(d)}, d.out, d.in)
		}
	}
}

func (e *eightBits) weightInverse(d dense) device.Pointer {
	return e.weights.Add(4 * (len(e.dense) + d.eight.number))
}

// only tells how many rows the tensors that follow have: the rest, which pads the batch, has no
// part in the largest sizes, and is not counted if it is too large.
func (e *eightBits) only(rows int) {
	if e != nil {
		e.real = rows
	}
}

// amax raises *to to the largest size of n elements.
func (e *eightBits) amax(to, x device.Pointer, n int) {
	e.launch("fp8_amax", device.Dim{X: blocks(n, 16*256)}, to, x, int64(n))
}

// A conversion has the arguments of the kernels that convert a tensor.
type conversion struct{ q, qt, x, from, inverse, amax, saturated device.Pointer }

func (e *eightBits) convert(kernel string, c conversion, rows, width int) {
	e.launch(kernel, device.Dim{X: blocks(width, 64), Y: blocks(rows, 64)}, c.q, c.qt, c.x, c.from, c.inverse, c.amax, c.saturated, int32(rows), int32(width), int32(e.real))
}

// tensor converts x (rows, width), the tensor with an index, to e.q and its transpose to qt.
func (e *eightBits) tensor(kernel string, index int, x, qt device.Pointer, rows, width int) {
	c := conversion{q: e.q, x: x, from: e.from.Add(4 * index), inverse: e.inverse.Add(4 * index)}
	if e.training {
		c.qt, c.amax, c.saturated = qt, e.seen.Add(4*index), e.saturated
	}
	if !e.training || e.steps == 0 {
		c.from = e.fresh.Add(4 * index)
		e.clear(c.from, 4)
		if e.real > 0 {
			e.amax(c.from, x, e.real*width)
		}
	}
	e.convert(kernel, c, rows, width)
}

// multiply queues a product of d's tensors in 8 bits.
func (e *eightBits) multiply(m device.Matmul, x device.Operands) {
	m.TransA, m.LDA, m.LDB, m.LDD = true, m.K, m.K, m.M
	e.products.multiply(m, x)
}

// linear computes y = x·Wᵀ, and adds the bias with the epilogue Bias.
func (e *eightBits) linear(y, x device.Pointer, rows int, d dense, epilogue device.Epilogue) {
	e.gradient = 0
	e.tensor("fp8_e4m3", 2*d.eight.number, x, d.eight.xt, rows, d.in)
	m := device.Matmul{M: d.out, N: rows, K: d.in, Type: device.Float8E4M3, TypeB: device.Float8E4M3, Result: e.element, Epilogue: epilogue}
	o := device.Operands{A: d.eight.w, B: e.q, D: y, ScaleA: e.weightInverse(d), ScaleB: e.inverse.Add(8 * d.eight.number)}
	if epilogue == device.Bias {
		o.Bias = d.b
	}
	e.multiply(m, o)
}

// linearGrad adds dyᵀ·x to d.dw, where x is the input of the last forward pass. It leaves dy
// in 8 bits for inputGrad.
func (e *eightBits) linearGrad(dy device.Pointer, rows int, d dense) {
	e.tensor("fp8_e5m2", 2*d.eight.number+1, dy, e.qt, rows, d.out)
	e.gradient = dy
	m := device.Matmul{M: d.in, N: d.out, K: rows, Type: device.Float8E4M3, TypeB: device.Float8E5M2, Result: device.Float32}
	e.multiply(m, device.Operands{A: d.eight.xt, B: e.qt, D: d.dw, Beta: 1, ScaleA: e.inverse.Add(8 * d.eight.number), ScaleB: e.inverse.Add(8*d.eight.number + 4)})
}

// inputGrad computes dx = dy·W + beta·dx; linearGrad must have had the same dy.
func (e *eightBits) inputGrad(dx, dy device.Pointer, rows int, d dense, beta float32) {
	if dy != e.gradient {
		panic("BUG: another gradient was converted last")
	}
	m := device.Matmul{M: d.in, N: rows, K: d.out, Type: device.Float8E4M3, TypeB: device.Float8E5M2, Result: e.element}
	e.multiply(m, device.Operands{A: d.eight.wt, B: e.q, D: dx, Beta: beta, ScaleA: e.weightInverse(d), ScaleB: e.inverse.Add(8*d.eight.number + 4)})
}

// roll ends a step: it takes the sizes of all ranks into the history, from which it chooses
// the factors of the next step.
func (e *eightBits) roll() {
	seen, n := e.seen, e.tensors()
	if e.ranks.exchange != nil && e.ranks.comm.Size() > 1 {
		e.ranks.exchange.collect(device.Collective{Kind: device.AllGather, Send: e.seen, Receive: e.gathered, N: n})
		e.ranks.exchange.join()
		seen = e.gathered
	}
	ranks := e.ranks.comm.Size()
	if seen == e.seen {
		ranks = 1
	}
	e.launch("fp8_roll", device.Dim{X: blocks(n, 256)}, e.from, e.history, seen, int32(n), int32(ranks), int32(e.next))
	e.clear(e.seen, 4*n)
	e.toHost(e.saturatedOnHost, e.saturated)
	e.clear(e.saturated, 4)
	e.next = (e.next + 1) % amaxHistory
	e.steps = min(e.steps+1, amaxHistory)
	e.stale = true
}

// lost returns the elements of the last step that were too large, over all ranks.
func (e *eightBits) lost() (float64, error) {
	sum := []float64{float64(binary.LittleEndian.Uint32(e.saturatedOnHost))}
	err := e.ranks.comm.AllReduce(sum)
	return sum[0], err
}

// sizes returns State.Amax.
func (e *eightBits) sizes() map[string][]float32 {
	if e == nil || e.history == 0 || e.steps == 0 {
		return nil
	}
	flat := e.ranks.staging.appendFloat32(nil, e.history, e.tensors()*amaxHistory)
	if e.err != nil {
		return nil
	}
	all := map[string][]float32{}
	for i, name := range e.names {
		for k := range e.steps {
			place := (e.next - e.steps + k + amaxHistory) % amaxHistory
			all[name] = append(all[name], flat[i*amaxHistory+place])
		}
	}
	return all
}

// setSizes replaces the history by State.Amax. A history that lacks a tensor, or has values
// that no step has left, is as none: the next step uses fresh sizes.
func (e *eightBits) setSizes(all map[string][]float32) {
	if e.history == 0 {
		return
	}
	e.steps, e.next, e.stale = 0, 0, true
	steps := 0
	flat, from := make([]float32, e.tensors()*amaxHistory), make([]float32, e.tensors())
	for i, name := range e.names {
		h := all[name]
		h = h[max(0, len(h)-amaxHistory):]
		if i == 0 {
			steps = len(h)
		}
		if len(h) != steps {
			steps = 0
			break
		}
		for k, v := range h {
			if !(v >= 0 && v <= math.MaxFloat32) {
				v = 0
			}
			flat[i*amaxHistory+k] = v
			from[i] = max(from[i], v)
		}
	}
	if steps == 0 {
		clear(flat)
		clear(from)
	}
	e.steps, e.next = steps, steps%amaxHistory
	e.ranks.staging.upload(e.history, bytesOf(flat))
	e.ranks.staging.upload(e.from, bytesOf(from))
	e.clear(e.seen, 4*e.tensors())
	e.clear(e.saturated, 4)
}

// eightBitsSupported returns why the device or the model cannot compute in fp8; nil if they
// can.
func eightBitsSupported(p device.Properties, c trainer.Config) error {
	if p.Major*10+p.Minor < 89 {
		return fmt.Errorf("precision %q: %s has compute capability %d.%d, and 8-bit products need 8.9: use %q", trainer.Float8, p.Name, p.Major, p.Minor, trainer.BFloat16)
	}
	if c.Modern != nil {
		return fmt.Errorf("precision %q: a ModernBERT has no 8-bit products yet: use %q", trainer.Float8, trainer.BFloat16)
	}
	if c.IntermediateSize%16 != 0 {
		return fmt.Errorf("precision %q: intermediate_size %d: must be a multiple of 16", trainer.Float8, c.IntermediateSize)
	}
	return nil
}
