package main

import (
	"fmt"
	"io"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
)

// A productResult is the result that "gpubench products" prints for one shape and
// epilogue.
type productResult struct {
	Kind      string  `json:"kind"` // "product"
	Name      string  `json:"name"`
	Epilogue  string  `json:"epilogue"`
	Shape     [3]int  `json:"shape"` // M, N and K in the sense of cuBLASLt
	Time      float64 `json:"ms"`
	TFLOPS    float64 `json:"tflop_per_second"`
	Algorithm string  `json:"algorithm"`
	Error     string  `json:"error,omitempty"` // why cuBLASLt refused the product
}

// A layer is a linear layer of a model with weights (out, in).
type layer struct {
	name    string
	in, out int
	gelu    bool // GELU is applied to the output
}

// products measures the matrix products of each linear layer: y = x·Wᵀ, dx = dy·W
// and dW += dyᵀ·x. Each is measured without an epilogue and with the epilogues that
// could replace separate kernels.
func (o *options) products(w io.Writer, d device.Device) error {
	c, err := trainer.Preset(o.model, o.vocab)
	if err != nil {
		return err
	}
	h, f := c.HiddenSize, c.IntermediateSize
	types := map[string]device.DataType{"fp32": device.Float32, "bf16": device.BFloat16, "fp16": device.Float16}
	typ, ok := types[o.precision]
	if !ok {
		return fmt.Errorf("--precision %q: must be fp32, bf16 or fp16", o.precision)
	}
	p, err := newProducts(d, max(o.tokens, h)*max(3*h, f)*4)
	if err != nil {
		return err
	}
	for _, l := range []layer{{"qkv", h, 3 * h, false}, {"attention out", h, h, false}, {"ffn 1", h, f, true}, {"ffn 2", f, h, false}} {
		n := o.tokens
		forward := device.Matmul{M: l.out, N: n, K: l.in, TransA: true, LDA: l.in, LDB: l.in, LDD: l.out, Type: typ, Result: typ}
		backward := device.Matmul{M: l.in, N: n, K: l.out, LDA: l.in, LDB: l.out, LDD: l.in, Type: typ, Result: typ}
		weights := device.Matmul{M: l.in, N: l.out, K: n, TransB: true, LDA: l.in, LDB: l.out, LDD: l.in, Type: typ, Result: device.Float32}
		for _, m := range []struct {
			name      string
			shape     device.Matmul
			epilogues []device.Epilogue
		}{
			{l.name + " forward", forward, append([]device.Epilogue{device.None, device.Bias}, with(l.gelu, device.GELUAuxBias)...)},
			// The input of ffn 2 is the output of GELU, so its gradient can include that of GELU.
			{l.name + " input gradient", backward, append([]device.Epilogue{device.None}, with(l.name == "ffn 2", device.DGELU, device.DGELUBGrad)...)},
			{l.name + " weight gradient", weights, []device.Epilogue{device.None, device.BGradB}},
		} {
			for _, e := range m.epilogues {
				m.shape.Epilogue, m.shape.AuxLD = e, m.shape.LDD
				r, err := p.measure(m.shape)
				if err != nil {
					return err
				}
				r.Name = m.name
				if err := write(w, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// with returns e if is is true, and otherwise nothing.
func with(is bool, e ...device.Epilogue) []device.Epilogue {
	if is {
		return e
	}
	return nil
}

var epilogueNames = [...]string{"none", "bias", "gelu aux bias", "dgelu", "dgelu bgrad", "bgrad a", "bgrad b"}

// products holds the device, timer and buffers that all measurements share.
type products struct {
	*device.Timer
	operands device.Operands
}

// workspace is the extra memory for cuBLASLt, in bytes: what most frameworks
// provide on Hopper GPUs.
const workspace = 32 << 20

// newProducts allocates operands of size bytes each, filled with numbers that are
// neither zero nor large.
func newProducts(d device.Device, size int) (*products, error) {
	t, err := device.NewTimer(d)
	if err != nil {
		return nil, err
	}
	p := &products{Timer: t}
	block, err := d.AllocHost(min(size, 1<<20))
	if err != nil {
		return nil, err
	}
	for i := range block {
		// Two bytes are 0x3c00 to 0x3eff, or that with the sign bit: a size of 0.008 to 0.5
		// in bf16, and of 1 to 1.75 in fp16. Four bytes are such numbers in fp32.
		block[i] = byte(i * 37 >> 3)
		if i%2 == 1 {
			block[i] = 0x3c + byte(i*i>>4)%3 | byte(i>>3&1)<<7
		}
	}
	for _, x := range []*device.Pointer{&p.operands.A, &p.operands.B, &p.operands.D, &p.operands.Aux, &p.operands.Bias} {
		if *x, err = d.Alloc(size); err != nil {
			return nil, err
		}
		for at := 0; at < size; at += len(block) {
			if err := d.ToDevice(p.Stream, x.Add(at), block[:min(len(block), size-at)]); err != nil {
				return nil, err
			}
		}
	}
	p.operands.Alpha = 1
	p.operands.Workspace, err = d.Alloc(workspace)
	return p, err
}

// measure measures the mean time of ten products m, after two that are not timed.
// Gradients of weights are added to D.
func (p *products) measure(m device.Matmul) (productResult, error) {
	r := productResult{Kind: "product", Epilogue: epilogueNames[m.Epilogue], Shape: [3]int{m.M, m.N, m.K}}
	plan, err := p.Plan(m, workspace, "")
	if err != nil {
		r.Error = err.Error()
		return r, nil
	}
	r.Algorithm = p.Algorithm(plan)
	x := p.operands
	if m.Result != m.Type {
		x.Beta = 1
	}
	took, err := p.Mean(func() error { return p.Matmul(p.Stream, plan, x) })
	if err != nil {
		return r, err
	}
	r.Time = milliseconds(took)
	if took > 0 { // the simulator has no clock
		r.TFLOPS = 2 * float64(m.M) * float64(m.N) * float64(m.K) / r.Time / 1e9
	}
	return r, p.FreeProduct(plan)
}
