package sim

import (
	"errors"
	"slices"
	"time"

	"pretext/trainer/cuda/device"
)

// An Algorithm is a way to compute matrix products that a simulated library offers.
type Algorithm struct {
	Name  string
	Time  time.Duration // what a product takes, for Elapsed
	Wrong bool          // results are off by a tenth
}

// theOnly is what a simulator without Options.Algorithms offers.
var theOnly = []Algorithm{{Name: "simulator"}}

// A plan is a planned matrix product. Its algorithm uses all of the workspace.
type plan struct {
	device.Matmul
	workspace int // bytes
	algorithm Algorithm
}

// algorithms returns the algorithms that the simulated library offers.
func (g *GPU) algorithms() []Algorithm {
	if len(g.options.Algorithms) == 0 {
		return theOnly
	}
	return g.options.Algorithms
}

// Algorithms implements [device.Device].
func (g *GPU) Algorithms(m device.Matmul, _ int) ([]string, error) {
	x := matmulOf(m, device.Operands{A: 16, B: 16, C: 16, D: 16, Bias: 16, Aux: 16})
	if err := errors.Join(g.usable(), x.check(m.K)); err != nil {
		return nil, err
	}
	var names []string
	for _, a := range g.algorithms() {
		names = append(names, a.Name)
	}
	return names, nil
}

// Plan implements [device.Device].
func (g *GPU) Plan(m device.Matmul, workspace int, algorithm string) (device.Product, error) {
	if err := g.usable(); err != nil {
		return 0, err
	}
	x := matmulOf(m, device.Operands{A: 16, B: 16, C: 16, D: 16, Bias: 16, Aux: 16})
	if err := x.check(m.K); err != nil {
		return 0, err
	}
	i := max(0, slices.IndexFunc(g.algorithms(), func(a Algorithm) bool { return a.Name == algorithm }))
	g.plans = append(g.plans, &plan{m, workspace, g.algorithms()[i]})
	return device.Product(len(g.plans)), nil
}

// Algorithm implements [device.Device].
func (g *GPU) Algorithm(p device.Product) string { return g.plans[p-1].algorithm.Name }

// FreeProduct implements [device.Device]. No work may be queued: it could be the product.
func (g *GPU) FreeProduct(p device.Product) error {
	if g.failed == nil && g.queued() {
		return errors.New("sim: a product is freed while work is queued; synchronize first")
	}
	return errors.Join(release(g.plans, p), g.usable())
}

// Matmul implements [device.Device].
func (g *GPU) Matmul(s device.Stream, p device.Product, x device.Operands) error {
	return g.queue(s, func(s *Stream) error {
		plan, err := handle(g.plans, p)
		if err != nil {
			return err
		}
		if (x.A|x.B|x.C|x.D|x.Bias|x.Aux)%16 != 0 {
			return errors.New("sim: an operand of a product is not aligned to 16 bytes")
		}
		if x.C == 0 {
			x.C = x.D
		}
		m := matmulOf(plan.Matmul, x)
		m.Workspace, m.WorkspaceSize, m.time = x.Workspace, plan.workspace, plan.algorithm.Time
		if plan.algorithm.Wrong {
			m.Alpha *= 1.1
		}
		s.Matmul(m)
		return nil
	})
}

// matmulOf converts the description m and the operands x of a matrix product from
// the package device to a [Matmul].
func matmulOf(m device.Matmul, x device.Operands) Matmul {
	a := Matrix{At: x.A, Type: m.Type, Rows: m.M, Cols: m.K, LD: m.LDA}
	if m.TransA {
		a.Rows, a.Cols = m.K, m.M
	}
	b := Matrix{At: x.B, Type: m.B(), Rows: m.K, Cols: m.N, LD: m.LDB}
	if m.TransB {
		b.Rows, b.Cols = m.N, m.K
	}
	c := Matrix{At: x.C, Type: m.Result, Rows: m.M, Cols: m.N, LD: m.LDD}
	d := c
	d.At = x.D
	return Matmul{
		A: a, B: b, C: c, D: d, TransA: m.TransA, TransB: m.TransB, Alpha: x.Alpha, Beta: x.Beta, ScaleA: x.ScaleA, ScaleB: x.ScaleB,
		Epilogue: m.Epilogue, Bias: x.Bias, Aux: x.Aux, AuxLD: m.AuxLD,
	}
}
