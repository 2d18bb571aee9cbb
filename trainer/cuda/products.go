package cuda

import (
	"fmt"
	"maps"

	"pretext/trainer/cuda/device"
)

// products plans every shape once and queues products.
type products struct {
	*queue
	element   device.DataType
	workspace device.Pointer
	bytes     int // of the workspace
	plans     map[device.Matmul]device.Product
	prefix    string            // of names in a checkpoint: the device
	saved     map[string]string // algorithms of earlier runs by name, also of other devices
}

// planPrefix names the devices and libraries that share algorithms.
func planPrefix(p device.Properties) string {
	return fmt.Sprintf("%s, sm_%d%d, %s: ", p.Name, p.Major, p.Minor, p.BLAS)
}

// planName names a shape in a checkpoint.
func (p *products) planName(m device.Matmul) string {
	return fmt.Sprintf("%s%dx%dx%d, transposed %t %t, leading %d %d %d, types %d %d, epilogue %d",
		p.prefix, m.M, m.N, m.K, m.TransA, m.TransB, m.LDA, m.LDB, m.LDD, m.Type, m.Result, m.Epilogue)
}

// plan returns the product of a shape.
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

// multiply queues a product.
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

// algorithms returns the saved algorithms and those of all plans.
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

// affine sets y to x · Wᵀ + b.
func (p *products) affine(y, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element, Epilogue: device.Bias}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y, Bias: d.b})
}

// geluLinear sets u to x · Wᵀ + b and g to its activation by the tanh form.
func (p *products) geluLinear(g, u, x device.Pointer, rows int, d dense) {
	m := device.Matmul{
		M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: p.element,
		Epilogue: device.GELUAuxBias, AuxLD: d.out,
	}
	p.multiply(m, device.Operands{A: d.w, B: x, D: g, Bias: d.b, Aux: u})
}

// geluInputGrad sets du to dy · W times the slope of the activation at u.
func (p *products) geluInputGrad(du, dy, u device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.in, N: rows, K: d.out, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: p.element, Epilogue: device.DGELU, AuxLD: d.in}
	p.multiply(m, device.Operands{A: d.w, B: dy, D: du, Aux: u})
}

// logits is linear with y in float32: what the small heads predict.
func (p *products) logits(y, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.out, N: rows, K: d.in, TransA: true, LDA: d.in, LDB: d.in, LDD: d.out, Type: p.element, Result: device.Float32}
	p.multiply(m, device.Operands{A: d.w, B: x, D: y})
}

// linearGrad adds dyᵀ·x to the gradient of W.
func (p *products) linearGrad(dy, x device.Pointer, rows int, d dense) {
	m := device.Matmul{M: d.in, N: d.out, K: rows, TransB: true, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: device.Float32}
	p.multiply(m, device.Operands{A: x, B: dy, D: d.dw, Beta: 1})
}

// inputGrad sets dx (rows, in) to dy (rows, out) · W, or adds it if beta is 1.
func (p *products) inputGrad(dx, dy device.Pointer, rows int, d dense, beta float32) {
	m := device.Matmul{M: d.in, N: rows, K: d.out, LDA: d.in, LDB: d.out, LDD: d.in, Type: p.element, Result: p.element}
	p.multiply(m, device.Operands{A: d.w, B: dy, D: dx, Beta: beta})
}
