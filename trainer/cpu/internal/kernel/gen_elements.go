//go:build ignore

// The element-wise functions of gen.go.

package main

// loop writes a loop that runs body once for each full register; CX counts floats.
func (s isa) loop(name string, body func(), pointers ...string) {
	if s.neon != nil {
		s.neonLoop(name, body, pointers)
		return
	}
	s.p("SHRQ $%d, CX", map[int]int{8: 3, 16: 4}[s.width])
	s.p("JEQ %sEnd", name)
	s.label(name)
	body()
	for _, p := range pointers {
		s.p("ADDQ $%d, %s", 4*s.width, p)
	}
	s.p("DECQ CX")
	s.p("JNE %s", name)
	s.label(name + "End")
}

// prefetch writes instructions that load what lies a kilobyte behind pointers into the cache,
// in functions that read more than the second-level cache holds: the processor itself begins
// anew at each page of memory.
func (s isa) prefetch(pointers ...string) {
	for _, at := range pointers {
		if s.neon == nil {
			s.p("PREFETCHT0 1024(%s)", at)
		}
	}
}

// exp writes instructions that replace register x by its exponential, with the temporary
// registers n, q and t. x is first limited to the table's low and high; NaN stays NaN.
//
//	n = round(x·log₂e), f = x − n·ln 2, e^x = 2^n · Σ f^i/i!
func (s isa) exp(x, n, q, t int) {
	s.constant(cLow, t)
	s.p("VMAXPS %[1]s, %[2]s, %[1]s", s.r(x), s.r(t))
	s.constant(cHigh, t)
	s.p("VMINPS %[1]s, %[2]s, %[1]s", s.r(x), s.r(t))
	s.constant(cLog2e, t)
	s.p("VMULPS %s, %s, %s", s.r(t), s.r(x), s.r(n))
	s.p("%s %[2]s, %[2]s", s.round, s.r(n))
	s.constant(cLn2High, t)
	s.p("VFNMADD231PS %s, %s, %s", s.r(t), s.r(n), s.r(x))
	s.constant(cLn2Low, t)
	s.p("VFNMADD231PS %s, %s, %s", s.r(t), s.r(n), s.r(x))
	s.constant(cExp, q)
	for i := 1; i < 8; i++ {
		s.constant(cExp+i, t)
		s.p("VFMADD213PS %s, %s, %s", s.r(t), s.r(x), s.r(q))
	}
	if s.wideShapes {
		s.p("VSCALEFPS %s, %s, %s", s.r(n), s.r(q), s.r(x))
		return
	}
	s.p("VCVTPS2DQ %[1]s, %[1]s", s.r(n))
	s.p("VPSLLD $23, %[1]s, %[1]s", s.r(n))
	s.p("VPADDD %s, %s, %s", s.r(n), s.r(q), s.r(x))
}

func (s isa) expSum() {
	s.text("expSum", "x *float32, n int, shift *float32, table *float32, sums *float32", "SI CX AX R9 DX")
	s.p("VBROADCASTSS (AX), %s", s.r(5))
	s.zero(6)
	s.loop("next", func() {
		s.p("VMOVUPS (SI), %s", s.r(0))
		s.p("VSUBPS %s, %[2]s, %[2]s", s.r(5), s.r(0))
		s.exp(0, 1, 2, 3)
		s.p("VMOVUPS %s, (SI)", s.r(0))
		s.p("VADDPS %s, %[2]s, %[2]s", s.r(0), s.r(6))
	}, "SI")
	s.p("VMOVUPS %s, (DX)", s.r(6))
	s.end()
}

// expSums generates the assembly function that adds exp(x − shift), element by element, to
// sums.
func (s isa) expSums() {
	s.text("expSums", "sums, x, shift *float32, n int, table *float32", "DI SI DX CX R9")
	s.loop("next", func() {
		s.p("VMOVUPS (SI), %s", s.r(0))
		s.p("VSUBPS (DX), %[1]s, %[1]s", s.r(0))
		s.exp(0, 1, 2, 3)
		s.p("VADDPS (DI), %[1]s, %[1]s", s.r(0))
		s.p("VMOVUPS %s, (DI)", s.r(0))
	}, "SI", "DX", "DI")
	s.end()
}

// expScale generates the assembly function that replaces x by exp(x − shift)·by, element by
// element. The function adds up the results and stores one partial sum for each lane.
func (s isa) expScale() {
	s.text("expScale", "x, shift, by *float32, n int, table *float32, sums *float32", "SI DX DI CX R9 R10")
	s.zero(6)
	s.loop("next", func() {
		s.prefetch("SI")
		s.p("VMOVUPS (SI), %s", s.r(0))
		s.p("VSUBPS (DX), %[1]s, %[1]s", s.r(0))
		s.exp(0, 1, 2, 3)
		s.p("VMULPS (DI), %[1]s, %[1]s", s.r(0))
		s.p("VMOVUPS %s, (SI)", s.r(0))
		s.p("VADDPS %s, %[2]s, %[2]s", s.r(0), s.r(6))
	}, "SI", "DX", "DI")
	s.p("VMOVUPS %s, (R10)", s.r(6))
	s.end()
}

// addMax generates the assembly function that adds a number to all elements of x, and
// replaces each element of top by the larger of itself and the element of x.
func (s isa) addMax() {
	s.text("addMax", "x, top *float32, n int, by *float32", "SI DI CX AX")
	s.p("VBROADCASTSS (AX), %s", s.r(1))
	s.loop("next", func() {
		s.p("VADDPS (SI), %s, %s", s.r(1), s.r(0))
		s.p("VMOVUPS %s, (SI)", s.r(0))
		s.p("VMAXPS (DI), %[1]s, %[1]s", s.r(0))
		s.p("VMOVUPS %s, (DI)", s.r(0))
	}, "SI", "DI")
	s.end()
}

func (s isa) max() {
	s.text("max", "x *float32, n int, top *float32", "SI CX DX")
	s.p("VMOVUPS (SI), %s", s.r(0))
	s.loop("next", func() { s.p("VMAXPS (SI), %[1]s, %[1]s", s.r(0)) }, "SI")
	s.p("VMOVUPS %s, (DX)", s.r(0))
	s.end()
}

// gelu generates the assembly function for the tanh form of GELU. It is computed as x·σ with
// σ = 1/(1 + exp(−2√(2/π)(x + 0.044715x³))). With grad it multiplies y by the
// derivative, σ + x·σ(1 − σ)·2√(2/π)(1 + 3·0.044715x²).
func (s isa) gelu(name string, grad bool) {
	s.text(name, "y, x *float32, n int, table *float32", "DI SI CX R9")
	s.loop("next", func() {
		s.p("VMOVUPS (SI), %s", s.r(0))
		s.p("VMULPS %[1]s, %[1]s, %[2]s", s.r(0), s.r(4)) // x²
		s.constant(cGeluCubic, 1)
		s.constant(cGeluLinear, 3)
		s.p("VFMADD213PS %s, %s, %s", s.r(3), s.r(4), s.r(1))
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(0), s.r(1))
		s.exp(1, 2, 5, 3)
		s.constant(cOne, 3)
		s.p("VADDPS %s, %s, %s", s.r(3), s.r(1), s.r(2))
		if grad {
			s.p("VMOVAPS %s, %s", s.r(1), s.r(6)) // e = exp(−2u)
		}
		s.p("VDIVPS %s, %s, %s", s.r(2), s.r(3), s.r(1)) // σ = 1/(1 + e)
		if !grad {
			s.p("VMULPS %[1]s, %[2]s, %[2]s", s.r(1), s.r(0))
			s.p("VMOVUPS %s, (DI)", s.r(0))
			return
		}
		s.constant(cGradSquare, 2)
		s.constant(cGradLinear, 5)
		s.p("VFMADD213PS %s, %s, %s", s.r(5), s.r(4), s.r(2)) // 2u'
		s.p("VMULPS %s, %s, %s", s.r(6), s.r(1), s.r(5))      // 1 − σ = e·σ, exact where σ is near 1
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(0), s.r(2))
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(5), s.r(2))
		s.p("VFMADD213PS %s, %s, %s", s.r(1), s.r(1), s.r(2)) // σ·(…) + σ
		s.p("VMULPS (DI), %[1]s, %[1]s", s.r(2))
		s.p("VMOVUPS %s, (DI)", s.r(2))
	}, "SI", "DI")
	s.end()
}

// erf generates the assembly function for the exact form of GELU: x·Φ(x), with
// Φ(x) = ½(1 + erf(x/√2)). erf is Abramowitz and Stegun's approximation 7.1.26 (error below
// 1.5e-7): with z = |x|/√2 and t = 1/(1 + p·z), erf(z) = 1 − (a₁t + … + a₅t⁵)·exp(−z²). With
// grad it multiplies y by the derivative, Φ(x) + x·φ(x).
func (s isa) erf(name string, grad bool) {
	s.text(name, "y, x *float32, n int, table *float32", "DI SI CX R9")
	s.loop("next", func() {
		s.p("VMOVUPS (SI), %s", s.r(0))
		s.constant(cSign, 6)
		s.andNot(6, 0, 4) // |x|
		s.constant(cRootHalf, 3)
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(3), s.r(4)) // z
		s.zero(1)
		s.p("VFNMADD231PS %[1]s, %[1]s, %[2]s", s.r(4), s.r(1)) // −z²
		s.exp(1, 2, 5, 3)
		s.constant(cErfP, 2)
		s.constant(cOne, 7)
		s.p("VFMADD213PS %s, %s, %s", s.r(7), s.r(4), s.r(2))
		s.p("VDIVPS %s, %s, %s", s.r(2), s.r(7), s.r(2)) // t
		s.constant(cErf5, 5)
		for _, c := range []int{cErf4, cErf3, cErf2, cErf1} {
			s.constant(c, 3)
			s.p("VFMADD213PS %s, %s, %s", s.r(3), s.r(2), s.r(5))
		}
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(2), s.r(5))
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(1), s.r(5)) // 1 − erf(z)
		s.p("VSUBPS %s, %s, %s", s.r(5), s.r(7), s.r(5))
		s.signOf(6, 0, 5) // erf(x/√2)
		s.p("VADDPS %s, %[2]s, %[2]s", s.r(7), s.r(5))
		s.constant(cHalf, 3)
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(3), s.r(5)) // Φ
		if !grad {
			s.p("VMULPS %s, %[2]s, %[2]s", s.r(5), s.r(0))
			s.p("VMOVUPS %s, (DI)", s.r(0))
			return
		}
		s.constant(cDensity, 3)
		s.p("VMULPS %s, %[2]s, %[2]s", s.r(3), s.r(1))
		s.p("VFMADD231PS %s, %s, %s", s.r(1), s.r(0), s.r(5))
		s.p("VMULPS (DI), %[1]s, %[1]s", s.r(5))
		s.p("VMOVUPS %s, (DI)", s.r(5))
	}, "SI", "DI")
	s.end()
}

// andNot sets dst to x without the bits of mask.
func (s isa) andNot(mask, x, dst int) {
	s.p("VANDNPS %s, %s, %s", s.r(x), s.r(mask), s.r(dst))
}

// signOf copies the sign of x to dst, which must not be negative.
func (s isa) signOf(mask, x, dst int) {
	s.p("VANDPS %s, %s, %s", s.r(x), s.r(mask), s.r(3))
	s.p("VXORPS %s, %[2]s, %[2]s", s.r(3), s.r(dst))
}

// adam generates the assembly function that optim.Update describes; c holds Scale, Beta1,
// Rest1, Beta2, Rest2, C1, C2, Epsilon, Decay and Rate. The function makes the processor
// flush subnormal numbers to zero (bits 6 and 15 of the control register, bit 24 of NEON's). Without a
// gradient, moments decay to subnormal numbers, with which arithmetic is a hundred times
// slower, and because of rounding they would never reach zero.
func (s isa) adam() {
	frame := 8
	if s.neon != nil {
		frame = 0
	}
	args := s.head("adam", "c, w, m, v, q *float32, n int, direction bool", frame)
	s.flushSubnormals()
	s.load(args, "R9 DX R10 R11 SI CX AX")
	s.loop("next", func() {
		s.prefetch("SI", "R10", "R11", "DX")
		s.p("VMOVUPS (SI), %s", s.r(0))
		s.times(0, 0) // q
		s.p("VMOVUPS (R10), %s", s.r(1))
		s.times(1, 1)
		s.constant(2, 5)
		s.p("VFMADD231PS %s, %s, %s", s.r(5), s.r(0), s.r(1))
		s.p("VMOVUPS %s, (R10)", s.r(1))
		s.p("VMULPS %[1]s, %[1]s, %[1]s", s.r(0))
		s.p("VMOVUPS (R11), %s", s.r(2))
		s.times(3, 2)
		s.constant(4, 5)
		s.p("VFMADD231PS %s, %s, %s", s.r(5), s.r(0), s.r(2))
		s.p("VMOVUPS %s, (R11)", s.r(2))
		s.times(5, 1)
		s.times(6, 2)
		s.p("VSQRTPS %[1]s, %[1]s", s.r(2))
		s.constant(7, 5)
		s.p("VADDPS %s, %[2]s, %[2]s", s.r(5), s.r(2))
		s.p("VDIVPS %s, %s, %s", s.r(2), s.r(1), s.r(1))
		s.p("VMOVUPS (DX), %s", s.r(3))
		s.constant(8, 5)
		s.p("VFMADD231PS %s, %s, %s", s.r(5), s.r(3), s.r(1)) // u
		s.jumpUnless("move")
		s.p("VMOVUPS %s, (SI)", s.r(1))
		s.jump("moved")
		s.label("move")
		s.constant(9, 5)
		s.p("VFNMADD231PS %s, %s, %s", s.r(5), s.r(1), s.r(3))
		s.p("VMOVUPS %s, (DX)", s.r(3))
		s.label("moved")
	}, "SI", "DX", "R10", "R11")
	if s.neon != nil {
		s.neon.line("WORD $%#x // MSR FPCR, R14", 0xd51b4400|14)
	} else {
		s.p("LDMXCSR saved-4(SP)")
	}
	s.end()
}

// flushSubnormals writes instructions that save the control register of floats and make the
// processor flush subnormal numbers.
func (s isa) flushSubnormals() {
	if s.neon != nil {
		s.neon.line("WORD $%#x // MRS FPCR, R14", 0xd53b4400|14)
		s.neon.line("ORR $0x1000000, R14, R15")
		s.neon.line("WORD $%#x // MSR FPCR, R15", 0xd51b4400|15)
		return
	}
	s.p("STMXCSR saved-4(SP)")
	s.p("MOVL saved-4(SP), AX")
	s.p("ORL $0x8040, AX")
	s.p("MOVL AX, flushing-8(SP)")
	s.p("LDMXCSR flushing-8(SP)")
}

// jumpUnless writes a jump that is taken if AX is zero.
func (s isa) jumpUnless(label string) {
	if s.neon != nil {
		s.neon.line("CBZ R5, %s", label)
		return
	}
	s.p("TESTL AX, AX")
	s.p("JEQ %s", label)
}

func (s isa) jump(label string) {
	if s.neon != nil {
		s.neon.line("B %s", label)
		return
	}
	s.p("JMP %s", label)
}

// times multiplies a register by a constant.
func (s isa) times(c, x int) {
	s.constant(c, 5)
	s.p("VMULPS %s, %[2]s, %[2]s", s.r(5), s.r(x))
}

// squares generates the assembly function that adds up x² in double precision.
func (s isa) squares() {
	if s.neon != nil {
		s.neonSquares()
		return
	}
	s.text("squares", "x *float32, n int, sums *float64", "SI CX DX")
	s.zero(0)
	s.zero(1)
	half := map[string]string{"Y": "X", "Z": "Y"}[s.reg]
	s.loop("next", func() {
		s.prefetch("SI")
		for i := range 2 {
			s.p("VMOVUPS %d(SI), %s%d", 2*s.width*i, half, 2+i)
			s.p("VCVTPS2PD %s%d, %s", half, 2+i, s.r(2+i))
			s.p("VFMADD231PD %[1]s, %[1]s, %[2]s", s.r(2+i), s.r(i))
		}
	}, "SI")
	s.p("VADDPD %s, %s, %s", s.r(0), s.r(1), s.r(0))
	s.p("VMOVUPD %s, (DX)", s.r(0))
	s.end()
}

// add generates the assembly function that adds y to x.
func (s isa) add() {
	s.text("add", "x, y *float32, n int", "DI SI CX")
	s.loop("next", func() {
		s.p("VMOVUPS (DI), %s", s.r(0))
		s.p("VADDPS (SI), %[1]s, %[1]s", s.r(0))
		s.p("VMOVUPS %s, (DI)", s.r(0))
	}, "SI", "DI")
	s.end()
}

// mulAdd generates the assembly function that adds y·z to x.
func (s isa) mulAdd() {
	s.text("mulAdd", "x, y, z *float32, n int", "DI SI DX CX")
	s.loop("next", func() {
		s.p("VMOVUPS (DI), %s", s.r(0))
		s.p("VMOVUPS (SI), %s", s.r(1))
		s.p("VFMADD231PS (DX), %s, %s", s.r(1), s.r(0))
		s.p("VMOVUPS %s, (DI)", s.r(0))
	}, "SI", "DX", "DI")
	s.end()
}

// scale generates the assembly function that multiplies x by a number.
func (s isa) scale() {
	s.text("scale", "x *float32, n int, by *float32", "DI CX AX")
	s.p("VBROADCASTSS (AX), %s", s.r(1))
	s.loop("next", func() {
		s.p("VMULPS (DI), %s, %s", s.r(1), s.r(0))
		s.p("VMOVUPS %s, (DI)", s.r(0))
	}, "DI")
	s.end()
}

// strides writes instructions that convert the strides of transpose and copyRows from
// elements to bytes.
func (s isa) strides() {
	s.p("SHLQ $2, R9")
	s.p("SHLQ $2, R8")
}

// transpose generates the assembly function that transposes 8 rows of k columns to k rows
// of 8 columns; k is a multiple of 8. It stores the rows of the result one after another,
// each at once.
func (s isa) transpose() {
	s.text("transpose", "dst *float32, dstStride int, src *float32, srcStride int, k int", "DI R9 SI R8 CX")
	s.strides()
	s.p("LEAQ (R8)(R8*2), R10")
	s.p("LEAQ (SI)(R8*4), R12")
	s.loop("next", func() {
		for i, at := range []string{"(SI)", "(SI)(R8*1)", "(SI)(R8*2)", "(SI)(R10*1)", "(R12)", "(R12)(R8*1)", "(R12)(R8*2)", "(R12)(R10*1)"} {
			s.p("VMOVUPS %s, %s", at, s.r(i))
		}
		for i := 0; i < 8; i += 2 { // interleave pairs of rows, then pairs of pairs, then groups of four
			s.p("VUNPCKLPS %s, %s, %s", s.r(i+1), s.r(i), s.r(8+i))
			s.p("VUNPCKHPS %s, %s, %s", s.r(i+1), s.r(i), s.r(9+i))
		}
		for i := 0; i < 8; i += 4 {
			for j := range 2 {
				s.p("VUNPCKLPD %s, %s, %s", s.r(8+i+2+j), s.r(8+i+j), s.r(i+2*j))
				s.p("VUNPCKHPD %s, %s, %s", s.r(8+i+2+j), s.r(8+i+j), s.r(i+2*j+1))
			}
		}
		for i := range 4 {
			s.p("VPERM2F128 $0x20, %s, %s, %s", s.r(4+i), s.r(i), s.r(8+i))
			s.p("VPERM2F128 $0x31, %s, %s, %s", s.r(4+i), s.r(i), s.r(12+i))
		}
		for i := range 8 {
			s.p("VMOVUPS %s, (DI)", s.r(8+i))
			s.p("ADDQ R9, DI")
		}
	}, "SI", "R12")
	s.end()
}

// copyRows generates the assembly function that copies k rows of a fixed number of registers.
func (s isa) copyRows(name string, registers int) {
	s.text(name, "dst *float32, dstStride int, src *float32, srcStride int, k int", "DI R9 SI R8 CX")
	s.strides()
	s.p("TESTQ CX, CX")
	s.p("JEQ nextEnd")
	s.label("next")
	for i := range registers {
		s.p("VMOVUPS %d(SI), %s", 4*s.width*i, s.r(i))
	}
	for i := range registers {
		s.p("VMOVUPS %s, %d(DI)", s.r(i), 4*s.width*i)
	}
	s.p("ADDQ R8, SI")
	s.p("ADDQ R9, DI")
	s.p("DECQ CX")
	s.p("JNE next")
	s.label("nextEnd")
	s.end()
}
