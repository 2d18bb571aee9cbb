package cuda

import (
	"fmt"
	"maps"

	"pretext/trainer/cuda/device"
)

// products queues matrix products. It plans each shape once and keeps the plan.
type products struct {
	*queue
	element   device.DataType
	workspace device.Pointer
	bytes     int // size of the workspace
	plans     map[device.Matmul]device.Product
	prefix    string            // prefix of plan names for this device: see planPrefix
	saved     map[string]string // algorithms from the checkpoint by plan name, including other devices
}

// planPrefix returns the prefix of plan names: GPU model, compute capability and
// library version. Devices with the same prefix can use each other's algorithms.
func planPrefix(p device.Properties) string {
	return fmt.Sprintf("%s, sm_%d%d, %s: ", p.Name, p.Major, p.Minor, p.BLAS)
}

// planName returns the key in State.Plans for the shape m.
func (p *products) planName(m device.Matmul) string {
	return fmt.Sprintf("%s%dx%dx%d, transposed %t %t, leading %d %d %d, types %d %d, epilogue %d",
		p.prefix, m.M, m.N, m.K, m.TransA, m.TransB, m.LDA, m.LDB, m.LDD, m.Type, m.Result, m.Epilogue)
}

// plan returns the plan for the shape m and creates it at first use, with the saved
// algorithm if there is one.
func (p *products) plan(m device.Matmul) (device.Product, error) {
	if plan, ok := p.plans[m]; ok {
		return plan, nil
	}
	plan, err := p.device.Plan(m, p.bytes, p.saved[p.planName(m)])
	if err != nil {
		return 0, err
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
	plan, err := p.plan(m)
	if err == nil {
		x.Alpha, x.Workspace = 1, p.workspace
		err = p.device.Matmul(p.stream, plan, x)
	}
	if err != nil {
		p.try("product "+p.planName(m), err)
	}
}

// algorithms returns the saved algorithms and those of all plans, by plan name.
func (p *products) algorithms() map[string]string {
	all := map[string]string{}
	maps.Copy(all, p.saved)
	for m, plan := range p.plans {
		all[p.planName(m)] = p.device.Algorithm(plan)
	}
	return all
}

// forget frees all plans. The stream must be idle.
func (p *products) forget() error {
	for _, plan := range p.plans {
		if err := p.device.FreeProduct(plan); err != nil {
			return err
		}
	}
	p.plans = nil
	return nil
}

// linear sets y (rows, out) to x (rows, in) · Wᵀ, without the bias.
func (p *products) linear(y, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y})
}

// affine sets y (rows, out) to x (rows, in) · Wᵀ + b.
func (p *products) affine(y, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element, Epilogue: device.Bias}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y, Bias: d.b})
}

// geluLinear sets u (rows, out) to x (rows, in) · Wᵀ + b, and g to GELU(u) in the
// tanh form.
func (p *products) geluLinear(g, u, x device.Pointer, rows int, d dense) {
	m := device.Matmul{
		M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element,
		Epilogue: device.GELUAuxBias, AuxLD: d.out,
	}
	p.multiply(m, device.Operands{A: d.w, B: x, D: g, Bias: d.b, Aux: u})
}

// geluInputGrad sets du (rows, in) to (dy · W) ⊙ GELU'(u), where dy is (rows, out)
// and GELU' is the derivative of the tanh form.
func (p *products) geluInputGrad(du, dy, u device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.in, N: rows, K: d.out, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: p.element, Epilogue: device.DGELU, AuxLD: d.in}
	p.multiply(m, device.Operands{A: d.w, B: dy, D: du, Aux: u})
}

// logits sets y (rows, out), which is float32, to x (rows, in) · Wᵀ without the bias.
// All heads but masked LM use it.
func (p *products) logits(y, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: device.Float32}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y})
}

// linearGrad adds dyᵀ·x to d.dw, the gradient of W; dy is (rows, out), x (rows, in).
func (p *products) linearGrad(dy, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.in, N: d.out, K: rows, TransB: true, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: device.Float32}
	p.multiply(m, device.Operands{A: x, B: dy, D: d.dw, Beta: 1})
}

// inputGrad sets dx (rows, in) to dy · W if beta is 0, and adds dy · W to dx if beta
// is 1; dy is (rows, out).
func (p *products) inputGrad(dx, dy device.Pointer, rows int, d dense, beta float32) {
	m := device.Matmul{M: d.in, N: rows, K: d.out, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: p.element}
	p.multiply(m, device.Operands{A: d.w, B: dy, D: dx, Beta: beta})
}
