//go:build ignore

// The functions of gen.go for LayerNorm, its gradient, and the gradient of softmax.

package main

// sum generates the assembly function that adds up x in a vector register and stores one
// partial sum for each lane.
func (s isa) sum() {
	s.text("sum", "x *float32, n int, sums *float32", "SI CX R10")
	s.zero(0)
	s.loop("next", func() { s.p("VADDPS (SI), %[1]s, %[1]s", s.r(0)) }, "SI")
	s.p("VMOVUPS %s, (R10)", s.r(0))
	s.end()
}

// dot generates the assembly function that adds up x·y and stores one partial sum for each
// lane.
func (s isa) dot() {
	s.text("dot", "x, y *float32, n int, sums *float32", "SI DX CX R10")
	s.zero(0)
	s.loop("next", func() {
		s.p("VMOVUPS (SI), %s", s.r(1))
		s.p("VFMADD231PS (DX), %s, %s", s.r(1), s.r(0))
	}, "SI", "DX")
	s.p("VMOVUPS %s, (R10)", s.r(0))
	s.end()
}

// center generates the assembly function that subtracts a number from x. It stores the
// result in y and one partial sum of y² for each lane.
func (s isa) center() {
	s.text("center", "y, x *float32, n int, by, sums *float32", "DI SI CX R9 R10")
	s.constant(0, 1)
	s.zero(2)
	s.loop("next", func() {
		s.p("VMOVUPS (SI), %s", s.r(0))
		s.p("VSUBPS %s, %[2]s, %[2]s", s.r(1), s.r(0))
		s.p("VMOVUPS %s, (DI)", s.r(0))
		s.p("VFMADD231PS %[1]s, %[1]s, %[2]s", s.r(0), s.r(2))
	}, "SI", "DI")
	s.p("VMOVUPS %s, (R10)", s.r(2))
	s.end()
}

// affine generates the assembly function that multiplies x by a number, and then computes
// y = x·gain + bias.
func (s isa) affine() {
	s.text("affine", "y, x, gain, bias *float32, n int, by *float32", "DI SI DX R10 CX R9")
	s.constant(0, 1)
	s.loop("next", func() {
		s.p("VMULPS (SI), %s, %s", s.r(1), s.r(0))
		s.p("VMOVUPS %s, (SI)", s.r(0))
		s.p("VMOVUPS (R10), %s", s.r(2))
		s.p("VFMADD231PS (DX), %s, %s", s.r(0), s.r(2))
		s.p("VMOVUPS %s, (DI)", s.r(2))
	}, "SI", "DI", "DX", "R10")
	s.end()
}

// normSums generates the assembly function that adds up dy·gain and dy·gain·x and stores
// one partial sum of each for each lane.
func (s isa) normSums() {
	s.text("normSums", "dy, x, gain *float32, n int, sums *float32", "DI SI DX CX R10")
	s.zero(0)
	s.zero(1)
	s.loop("next", func() {
		s.p("VMOVUPS (DI), %s", s.r(2))
		s.p("VMULPS (DX), %[1]s, %[1]s", s.r(2))
		s.p("VADDPS %s, %[2]s, %[2]s", s.r(2), s.r(0))
		s.p("VFMADD231PS (SI), %s, %s", s.r(2), s.r(1))
	}, "DI", "SI", "DX")
	s.p("VMOVUPS %s, (R10)", s.r(0))
	s.p("VMOVUPS %s, %d(R10)", s.r(1), 4*s.width)
	s.end()
}

// normGrad generates the assembly function that computes dx = c0·(dy·gain − c1 − x·c2).
func (s isa) normGrad() {
	s.text("normGrad", "dx, dy, x, gain *float32, n int, c *float32", "R10 DI SI DX CX R9")
	for i := range 3 {
		s.constant(i, 1+i)
	}
	s.loop("next", func() {
		s.p("VMOVUPS (DI), %s", s.r(0))
		s.p("VMULPS (DX), %[1]s, %[1]s", s.r(0))
		s.p("VSUBPS %s, %[2]s, %[2]s", s.r(2), s.r(0))
		s.p("VFNMADD231PS (SI), %s, %s", s.r(3), s.r(0))
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(1), s.r(0))
		s.p("VMOVUPS %s, (R10)", s.r(0))
	}, "DI", "SI", "DX", "R10")
	s.end()
}

// softmaxGrad generates the assembly function that replaces dp by p·(dp − c1)·c0.
func (s isa) softmaxGrad() {
	s.text("softmaxGrad", "dp, p *float32, n int, c *float32", "DI SI CX R9")
	s.constant(0, 1)
	s.constant(1, 2)
	s.loop("next", func() {
		s.p("VMOVUPS (DI), %s", s.r(0))
		s.p("VSUBPS %s, %[2]s, %[2]s", s.r(2), s.r(0))
		s.p("VMULPS (SI), %[1]s, %[1]s", s.r(0))
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(1), s.r(0))
		s.p("VMOVUPS %s, (DI)", s.r(0))
	}, "SI", "DI")
	s.end()
}
