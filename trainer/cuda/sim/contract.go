package sim

import "math/bits"

// The compiler of the driver may turn a mul.f32 and an add.f32 or sub.f32 of its product into
// one fma, which rounds once. Instructions with an explicit rounding, such as mul.rn.f32, stay
// what they are ("PTX ISA", 9.7.3.3 to 9.7.3.5).

// contract makes the program compute some of these sums with a single rounding. The seed
// chooses which; every one has an even chance.
func (p *program) contract(seed uint64) {
	exact := p.products()
	for i := range p.code {
		in := &p.code[i]
		if in.op != "add.f32" && in.op != "sub.f32" {
			continue
		}
		first, last := exact[in.s[0]], exact[in.s[1]]
		if first == nil && last == nil || mix(seed, uint64(i))&1 == 0 {
			continue
		}
		right := first == nil || last != nil && mix(seed, uint64(i))&2 == 0 // the product is the right operand
		product := first
		if right {
			product = last
		}
		p.keep(product)
		in.run = fusedSum(product.extra, right, in.op == "sub.f32")
	}
}

// products returns the instructions mul.f32 by the register of the product. It leaves out
// registers that other instructions set too.
func (p *program) products() map[int32]*instr {
	exact, writers := map[int32]*instr{}, map[int32]int{}
	for i := range p.code {
		in := &p.code[i]
		for _, d := range in.defs {
			if d.bank == words {
				writers[d.index]++
			}
		}
		if in.op == "mul.f32" {
			exact[in.d[0]] = in
		}
	}
	for r, n := range writers {
		if n > 1 {
			delete(exact, r)
		}
	}
	return exact
}

// keep makes a mul.f32 store the exact product too.
func (p *program) keep(in *instr) {
	if in.extra > 0 {
		return
	}
	p.exact++
	in.extra = p.exact
	in.run = func(w *warp, in *instr, lanes uint32) {
		d, a, b, exact := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]], &w.exact[in.extra-1]
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			exact[l] = float64(f32(a[l])) * float64(f32(b[l]))
			d[l] = b32(float32(exact[l]))
		}
	}
}

// fusedSum returns what executes a sum of an exact product: right says which operand that is,
// minus that the right one is subtracted.
func fusedSum(product int, right, minus bool) execute {
	other := 1
	if right {
		other = 0
	}
	sign, otherSign := 1.0, 1.0
	switch {
	case minus && right:
		sign = -1
	case minus:
		otherSign = -1
	}
	return func(w *warp, in *instr, lanes uint32) {
		d, c, exact := &w.w[in.d[0]], &w.w[in.s[other]], &w.exact[product-1]
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest)
			d[l] = b32(fused(sign*exact[l], otherSign*float64(f32(c[l]))))
		}
	}
}

// disturb gives the program the errors of a GPU, by the seeds of options.
func (p *program) disturb(o Options) {
	if o.Contract != 0 {
		p.contract(o.Contract)
	}
	if o.Errors == 0 {
		return
	}
	for i := range p.code {
		in := &p.code[i]
		if a, ok := approximations[in.op]; ok {
			in.run = a.form(o.Errors, in.op).run
		}
	}
}
