package cuda

import (
	"fmt"
	"maps"
	"math"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/dropout"
)

// compute has the matrix operations shared by encoder and heads. It holds the stream for
// computations, the plans of matrix products, and memory for sums over rows.
type compute struct {
	products
	config   trainer.Config
	seed     uint64 // seed of dropout
	training bool   // the current pass uses dropout and computes gradients

	multiprocessors int // of the device

	column  device.Pointer // float32 (columnBlocks, widest) or (parts, 3, H): partial sums of columns
	pieces  device.Pointer // float32 (pieces, H): see addRows
	control device.Pointer // kernels.Control: loss scale and norm of the gradients
}

// request requests the memory for sums. wide is the largest number of columns for which sums
// are computed outside of the encoder.
func (c *compute) request(r *requests, wide int) {
	r.want("workspace", &c.workspace, r.s.workspace)
	r.want("control", &c.control, 64)
	if r.train {
		sums := columnBlocks * max(3*r.c.HiddenSize, r.c.IntermediateSize, wide)
		r.floats("column sums", &c.column, max(sums, min(maxNormParts, blocks(r.s.tokens, normRows))*3*r.c.HiddenSize))
		r.floats("pieces", &c.pieces, r.s.pieces*r.c.HiddenSize)
	}
}

// columnBlocks is the maximum number of parts that columnParts returns.
const columnBlocks = 64

// products queues matrix products. It plans each shape once and keeps the plan.
type products struct {
	*queue
	element   device.DataType
	workspace device.Pointer
	bytes     int // size of the workspace in bytes
	plans     map[device.Matmul]device.Product
	prefix    string            // prefix of plan names: GPU model, compute capability and library version
	saved     map[string]string // algorithms from the checkpoint by plan name, including other devices
	measures  bool              // choose algorithms by their time; without, the first of the library
	eight     *eightBits        // precision fp8; nil: another
	worth     int64             // multiplications of a product from which they are measured
}

// planName returns the key in State.Plans for the shape m.
func (p *products) planName(m device.Matmul) string {
	name := fmt.Sprintf("%s%dx%dx%d, transposed %t %t, leading %d %d %d, types %d %d, epilogue %d",
		p.prefix, m.M, m.N, m.K, m.TransA, m.TransB, m.LDA, m.LDB, m.LDD, m.Type, m.Result, m.Epilogue)
	if m.Type.Eight() {
		name += fmt.Sprintf(", with %d", m.TypeB)
	}
	return name
}

// plan returns the plan for the shape m. It creates the plan at the first use, whose operands
// are x, with the saved algorithm if there is one that the library accepts, and otherwise
// with the fastest.
func (p *products) plan(m device.Matmul, x device.Operands) (device.Product, error) {
	if plan, ok := p.plans[m]; ok {
		return plan, nil
	}
	saved := p.saved[p.planName(m)]
	if saved == "" {
		saved = p.tune(m, x)
	}
	plan, err := p.device.Plan(m, p.bytes, saved)
	if err != nil {
		return 0, err
	}
	if saved != "" && p.device.Algorithm(plan) != saved {
		// The library refuses what it once proposed.
		if other := p.tune(m, x); other != "" {
			if err := p.device.FreeProduct(plan); err != nil {
				return 0, err
			}
			if plan, err = p.device.Plan(m, p.bytes, other); err != nil {
				return 0, err
			}
		}
	}
	if p.plans == nil {
		p.plans = map[device.Matmul]device.Product{}
	}
	p.plans[m] = plan
	return plan, nil
}

// multiply queues the product of shape m with the operands x.
func (p *products) multiply(m device.Matmul, x device.Operands) {
	if p.err != nil {
		return
	}
	x.Alpha, x.Workspace = 1, p.workspace
	plan, err := p.plan(m, x)
	if err == nil {
		p.describe(m, x)
		err = p.device.Matmul(p.stream, plan, x)
	}
	if err != nil {
		p.try("product "+p.planName(m), err)
	}
}

// algorithms returns the saved algorithms and the algorithms of all plans, by plan name.
func (p *products) algorithms() map[string]string {
	all := map[string]string{}
	maps.Copy(all, p.saved)
	for m, plan := range p.plans {
		all[p.planName(m)] = p.device.Algorithm(plan)
	}
	return all
}

// replan frees all plans and replaces the saved algorithms, which later plans use.
func (p *products) replan(saved map[string]string) {
	if p.sync() == nil {
		p.try("free plans", p.forget())
	}
	p.saved = maps.Clone(saved)
}

// forget frees all plans. The stream must have no work.
func (p *products) forget() error {
	for _, plan := range p.plans {
		if err := p.device.FreeProduct(plan); err != nil {
			return err
		}
	}
	p.plans = nil
	return nil
}

// linear computes y = x·Wᵀ, without the bias; y is (rows, out), x (rows, in).
func (p *products) linear(y, x device.Pointer, rows int, d dense) {
	if d.eight != nil {
		p.eight.linear(y, x, rows, d, device.None)
		return
	}
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y})
}

// affine computes y = x·Wᵀ + b; y is (rows, out), x (rows, in).
func (p *products) affine(y, x device.Pointer, rows int, d dense) {
	if d.eight != nil {
		p.eight.linear(y, x, rows, d, device.Bias)
		return
	}
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element, Epilogue: device.Bias}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y, Bias: d.b})
}

// geluLinear computes u = x·Wᵀ + b and g = GELU(u) in the tanh form; g and u are
// (rows, out), x is (rows, in).
func (p *products) geluLinear(g, u, x device.Pointer, rows int, d dense) {
	m := device.Matmul{
		M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element,
		Epilogue: device.GELUAuxBias, AuxLD: d.out,
	}
	p.multiply(m, device.Operands{A: d.w, B: x, D: g, Bias: d.b, Aux: u})
}

// geluInputGrad computes du = (dy·W) ⊙ GELU'(u), where GELU' is the derivative of the tanh
// form; du is (rows, in), dy (rows, out).
func (p *products) geluInputGrad(du, dy, u device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.in, N: rows, K: d.out, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: p.element, Epilogue: device.DGELU, AuxLD: d.in}
	p.multiply(m, device.Operands{A: d.w, B: dy, D: du, Aux: u})
}

// logits computes y = x·Wᵀ in float32, without the bias; y is (rows, out), x (rows, in).
// All heads except masked LM use it.
func (p *products) logits(y, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: device.Float32}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y})
}

// linearGrad adds dyᵀ·x to d.dw, the gradient of W; dy is (rows, out), x (rows, in).
func (p *products) linearGrad(dy, x device.Pointer, rows int, d dense) {
	if d.eight != nil {
		p.eight.linearGrad(dy, rows, d)
		return
	}
	p.multiply(weightGrad(rows, d, p.element), device.Operands{A: x, B: dy, D: d.dw, Beta: 1})
}

func weightGrad(rows int, d dense, element device.DataType) device.Matmul {
	return device.Matmul{M: d.in, N: d.out, K: rows, TransB: true, LDA: d.in, LDB: d.out, LDD: d.in, Type: element, Result: device.Float32}
}

// linearBiasGrad is linearGrad, and sets db, float32 (out), to the sums of dy's columns:
// epilogues store, they do not add. It returns false, having done nothing, if the library has
// no algorithm.
func (p *products) linearBiasGrad(db, dy, x device.Pointer, rows int, d dense) bool {
	m, operands := weightGrad(rows, d, p.element), device.Operands{A: x, B: dy, D: d.dw, Bias: db, Beta: 1}
	m.Epilogue = device.BGradB
	if p.err == nil {
		if _, err := p.plan(m, operands); err != nil {
			return false
		}
	}
	p.multiply(m, operands)
	return true
}

// inputGrad computes dx = dy·W + beta·dx, where beta is 0 or 1; dx is (rows, in), dy
// (rows, out).
func (p *products) inputGrad(dx, dy device.Pointer, rows int, d dense, beta float32) {
	if d.eight != nil {
		p.eight.inputGrad(dx, dy, rows, d, beta)
		return
	}
	m := device.Matmul{M: d.in, N: rows, K: d.out, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: p.element}
	p.multiply(m, device.Operands{A: d.w, B: dy, D: dx, Beta: beta})
}

// rowsGrid returns the grid of a kernel over n rows that computes one row per warp
// and four rows per block.
func rowsGrid(n int) device.Dim { return device.Dim{X: blocks(n, 4)} }

// gather copies row index[i] of x to row i of y (n, H), for all i.
func (c *compute) gather(y, x, index device.Pointer, n int) {
	h := c.config.HiddenSize
	c.each("gather_rows", n*h, y, x, index, int32(n), int32(h))
}

// norm computes y.y = LN(drop(x + bias) + residual). It also stores what the gradient needs:
// y.inverse, and in y.xhat what cannot be computed from y.y.
func (c *compute) norm(y normed, x, bias, residual device.Pointer, p norm, rows kernels.Rows, drop kernels.Dropout) {
	c.launch("norm_forward", rowsGrid(int(rows.N)), y.y, y.xhat, y.inverse, x, bias, residual, p.gain, p.bias, rows, drop,
		int32(c.config.HiddenSize), float32(c.config.LayerNormEps))
}

// gelu adds the bias to u (rows, width) in place and computes g = GELU(u).
func (c *compute) gelu(g, u, bias device.Pointer, rows, width int) {
	c.each("gelu_forward", rows*width, g, u, bias, int64(rows*width), int32(width), c.tanh())
}

// tanh returns the kernels' argument for the form of GELU: 1 for the tanh form, 0
// for the exact form.
func (c *compute) tanh() int32 {
	if c.config.Activation.Tanh() {
		return 1
	}
	return 0
}

// dropping returns the kernels' argument for dropout with probability p. kind and layer
// identify the place in the model. In evaluation it returns keepAll.
func (c *compute) dropping(p float64, kind dropout.Kind, layer int) kernels.Dropout {
	if !c.training {
		return keepAll
	}
	scale := dropout.New(c.seed, p).Scale()
	return kernels.Dropout{Seed: c.seed, Site: uint32(dropout.At(kind, layer)), Keep: uint32(math.Round(256 / scale)), Scale: float32(scale)}
}

// keepAll is the kernels' dropout argument for no dropout.
var keepAll = kernels.Dropout{Keep: 256, Scale: 1}

// gradient returns the kernels' argument that requests gradients: 1 in training, 0
// in evaluation.
func (c *compute) gradient() int32 {
	if c.training {
		return 1
	}
	return 0
}

// lossScale returns the device address of the loss scale, by which the kernels
// multiply all gradients.
func (c *compute) lossScale() device.Pointer { return c.control.Add(lossScaleOffset) }

// denseGrad adds the gradients of the weight and bias, if there is one, of y = x·Wᵀ + b, given dy
// (rows, out) and x (rows, in), to d.dw and d.db. way is fused or plain. Fused is used only
// where the library has an algorithm for it.
func (c *compute) denseGrad(dy, x device.Pointer, rows int, d dense, way string) {
	if d.db == 0 {
		c.linearGrad(dy, x, rows, d)
		return
	}
	if way == fused && c.linearBiasGrad(c.column, dy, x, rows, d) {
		c.addParts(d.db, c.column, 1, d.out)
		return
	}
	c.columns(d.db, dy, rows, d.out)
	c.linearGrad(dy, x, rows, d)
}

// normGrad computes the gradients of y = LN(drop(x + bias) + residual) from dy,
// the gradient of y:
//
//   - dz becomes the gradient of the LayerNorm's input, and so of the residual;
//   - dx, unless it is the zero pointer, becomes the gradient of x;
//   - the gradients of gain and bias are added to p.dsums, and, if dx is not zero,
//     also the gradient of the bias before the LayerNorm.
func (c *compute) normGrad(dz, dx, dy device.Pointer, y normed, p norm, rows kernels.Rows, drop kernels.Dropout) {
	h, parts, sums := c.config.HiddenSize, c.normParts(int(rows.N)), 2
	if dx != 0 {
		sums = 3
	}
	out := y.y
	if y.dropped {
		out = 0
	}
	c.launch("norm_backward", device.Dim{X: parts}, dz, dx, c.column, dy, out, y.xhat, y.inverse, p.gain, p.bias, rows, drop, int32(h))
	c.addParts(p.dsums, c.column, parts, sums*h)
}

// normRows is the minimum number of rows, and maxNormParts the maximum number of parts, into
// which norm_backward divides a matrix to sum its columns.
const (
	normRows     = 16
	maxNormParts = 1024
)

// normParts returns the number of parts for n rows: as many as blocks run on the device at
// the same time (NORM_BLOCKS in norm.cu), so that none waits for another one.
func (c *compute) normParts(n int) int {
	atOnce := 3
	if c.element == device.Float32 {
		atOnce = 2
	}
	return min(atOnce*c.multiprocessors, maxNormParts, blocks(n, normRows))
}

// columnParts returns the number of parts into which the rows of a matrix are
// divided to sum its columns.
func columnParts(rows int) int { return min(columnBlocks, blocks(rows, 64)) }

// addParts adds all rows of part (parts, width) to the vector sum (width).
func (c *compute) addParts(sum, part device.Pointer, parts, width int) {
	c.launch("add_parts", device.Dim{X: blocks(width, 32)}, sum, part, int32(parts), int32(width))
}

// columns adds the sum of each column of x (rows, width) to db (width).
func (c *compute) columns(db, x device.Pointer, rows, width int) {
	parts := columnParts(rows)
	c.launch("column_sums", device.Dim{X: blocks(width, 256), Y: parts}, c.column, x, device.Pointer(0), int32(rows), int32(width))
	c.addParts(db, c.column, parts, width)
}

// addRows adds the rows of x to the rows of table that g assigns to them, in a
// fixed order. Both have H columns. kernel is the variant of add_rows for the type
// of x.
func (c *compute) addRows(kernel string, table, x device.Pointer, g grouped) {
	c.addRuns(kernel, table, x, g.whole)
	if len(g.frequent) == 0 {
		return
	}
	row := 4 * c.config.HiddenSize
	c.clear(c.pieces, g.pieces.n*row)
	c.addRuns(kernel, c.pieces, x, g.pieces)
	for _, f := range g.frequent {
		c.addParts(table.Add(f.target*row), c.pieces.Add(f.first*row), f.pieces, c.config.HiddenSize)
	}
}

func (c *compute) addRuns(kernel string, table, x device.Pointer, r runs) {
	h := c.config.HiddenSize
	for first := 0; first < r.n; first += maxGridYZ {
		grid := device.Dim{X: blocks(h, 256), Y: min(maxGridYZ, r.n-first)}
		c.launch(kernel, grid, table, x, r.target.Add(4*first), r.bounds.Add(4*first), r.order, int32(h))
	}
}

// normed is a LayerNorm's output and what its gradient needs.
type normed struct {
	y, xhat device.Pointer // (T, H); only in training, xhat has what cannot be computed from y
	inverse device.Pointer // float32 (T): 1/σ
	dropped bool           // y is dropped out afterwards: all of xhat is stored
}
