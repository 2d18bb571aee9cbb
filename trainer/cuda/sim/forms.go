package sim

import (
	"math"
	"math/bits"
)

// A form implements an instruction whose operands are all registers or constants.
type form struct {
	registers string // one letter for each operand, destination first: w: 32 bits, l: 64 bits, p: predicate
	run       execute
}

// forms holds every arithmetic instruction that pretext's kernels use, by the
// full opcode. Approximate instructions (ex2, lg2, rsqrt, …) are rounded correctly
// here; see [Options.Errors].
var forms = func() map[string]form {
	all := map[string]form{}
	for _, group := range []map[string]form{moves, integers, floats, doubles, bitwise, comparisons, selections, conversions, withoutErrors} {
		for name, f := range group {
			all[name] = f
		}
	}
	return all
}()

// full is the lane mask with all 32 lanes.
const full = ^uint32(0)

// A lane is the value of a register in one thread.
type lane interface{ uint32 | uint64 }

// registers returns the registers of warp w whose lanes have type T.
func registers[T lane](w *warp) [][warpSize]T {
	if all, ok := any(&w.w).(*[][warpSize]T); ok {
		return *all
	}
	return *any(&w.l).(*[][warpSize]T)
}

// letter returns the letter of form.registers for lanes of type T.
func letter[T lane]() string {
	if _, long := any(T(0)).(uint64); long {
		return "l"
	}
	return "w"
}

// oneSource, twoSources and threeSources return the form of an instruction that applies f to
// each lane: the arguments are the lane's values in the sources, and the result is stored in
// the same lane of the destination.

func oneSource[D, A lane](f func(a A) D) form {
	return form{letter[D]() + letter[A](), func(w *warp, in *instr, lanes uint32) {
		d, a := &registers[D](w)[in.d[0]], &registers[A](w)[in.s[0]]
		if lanes == full {
			for l := range d {
				d[l] = f(a[l])
			}
			return
		}
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest) % warpSize
			d[l] = f(a[l])
		}
	}}
}

func twoSources[D, A, B lane](f func(a A, b B) D) form {
	return form{letter[D]() + letter[A]() + letter[B](), func(w *warp, in *instr, lanes uint32) {
		d, a, b := &registers[D](w)[in.d[0]], &registers[A](w)[in.s[0]], &registers[B](w)[in.s[1]]
		if lanes == full {
			for l := range d {
				d[l] = f(a[l], b[l])
			}
			return
		}
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest) % warpSize
			d[l] = f(a[l], b[l])
		}
	}}
}

func threeSources[D, A, B, C lane](f func(a A, b B, c C) D) form {
	return form{letter[D]() + letter[A]() + letter[B]() + letter[C](), func(w *warp, in *instr, lanes uint32) {
		d, a, b, c := &registers[D](w)[in.d[0]], &registers[A](w)[in.s[0]], &registers[B](w)[in.s[1]], &registers[C](w)[in.s[2]]
		for rest := lanes; rest != 0; rest &= rest - 1 {
			l := bits.TrailingZeros32(rest) % warpSize
			d[l] = f(a[l], b[l], c[l])
		}
	}}
}

func float1(f func(a float32) float32) form {
	return oneSource(func(a uint32) uint32 { return b32(f(f32(a))) })
}

func float2(f func(a, b float32) float32) form {
	return twoSources(func(a, b uint32) uint32 { return b32(f(f32(a), f32(b))) })
}

func double1(f func(a float64) float64) form {
	return oneSource(func(a uint64) uint64 { return b64(f(f64(a))) })
}

func double2(f func(a, b float64) float64) form {
	return twoSources(func(a, b uint64) uint64 { return b64(f(f64(a), f64(b))) })
}

var moveLong = oneSource(func(a uint64) uint64 { return a })

var moves = map[string]form{
	"mov.f32": {"ww", moveWord}, "mov.b32": {"ww", moveWord}, "mov.u32": {"ww", moveWord}, "mov.s32": {"ww", moveWord},
	"mov.u16": {"ww", moveWord}, "mov.b16": {"ww", moveWord},
	"mov.u64": moveLong, "mov.b64": moveLong, "mov.f64": moveLong, "mov.s64": moveLong,
	// A generic address equals the address in its state space: pretext's kernels never mix the two spaces.
	"cvta.to.global.u64": moveLong, "cvta.to.shared.u64": moveLong, "cvta.global.u64": moveLong, "cvta.shared.u64": moveLong,
	"mov.pred": {"pp", func(w *warp, in *instr, lanes uint32) { w.set(in.d[0], w.p[in.s[0]], lanes) }},
}

var integers = map[string]form{
	"add.s32": addWord, "add.u32": addWord, "add.s64": addLong, "add.u64": addLong,
	"sub.s32": twoSources(func(a, b uint32) uint32 { return a - b }), "sub.u32": twoSources(func(a, b uint32) uint32 { return a - b }),
	"sub.s64": twoSources(func(a, b uint64) uint64 { return a - b }), "sub.u64": twoSources(func(a, b uint64) uint64 { return a - b }),
	"add.s16": twoSources(func(a, b uint32) uint32 { return (a + b) & 0xffff }), "sub.s16": twoSources(func(a, b uint32) uint32 { return (a - b) & 0xffff }),
	"mul.lo.s16": twoSources(func(a, b uint32) uint32 { return a * b & 0xffff }),
	"mul.lo.s32": twoSources(func(a, b uint32) uint32 { return a * b }), "mul.lo.u32": twoSources(func(a, b uint32) uint32 { return a * b }),
	"mul.hi.u32": twoSources(func(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) }),
	"mul.hi.s32": twoSources(func(a, b uint32) uint32 { return uint32(uint64(int64(int32(a))*int64(int32(b))) >> 32) }),
	"mul.lo.s64": twoSources(func(a, b uint64) uint64 { return a * b }), "mul.lo.u64": twoSources(func(a, b uint64) uint64 { return a * b }),
	"mul.hi.u64":   twoSources(func(a, b uint64) uint64 { h, _ := bits.Mul64(a, b); return h }),
	"mad.lo.s32":   threeSources(func(a, b, c uint32) uint32 { return a*b + c }),
	"mad.lo.u32":   threeSources(func(a, b, c uint32) uint32 { return a*b + c }),
	"mad.lo.s64":   threeSources(func(a, b, c uint64) uint64 { return a*b + c }),
	"mul.wide.s32": twoSources(func(a, b uint32) uint64 { return uint64(int64(int32(a)) * int64(int32(b))) }),
	"mul.wide.u32": wideWord,
	"mul.wide.u16": twoSources(func(a, b uint32) uint32 { return a & 0xffff * (b & 0xffff) }),
	"mul.wide.s16": twoSources(func(a, b uint32) uint32 { return uint32(int32(int16(a)) * int32(int16(b))) }),
	"mad.wide.s32": threeSources(func(a, b uint32, c uint64) uint64 { return uint64(int64(int32(a))*int64(int32(b))) + c }),
	"mad.wide.u32": threeSources(func(a, b uint32, c uint64) uint64 { return uint64(a)*uint64(b) + c }),
	"div.s32":      twoSources(func(a, b uint32) uint32 { return uint32(quotient(int32(a), int32(b))) }), "div.u32": twoSources(quotient[uint32]),
	"div.s64": twoSources(func(a, b uint64) uint64 { return uint64(quotient(int64(a), int64(b))) }), "div.u64": twoSources(quotient[uint64]),
	"rem.s32": twoSources(func(a, b uint32) uint32 { return uint32(remainder(int32(a), int32(b))) }), "rem.u32": twoSources(remainder[uint32]),
	"rem.s64": twoSources(func(a, b uint64) uint64 { return uint64(remainder(int64(a), int64(b))) }), "rem.u64": twoSources(remainder[uint64]),
	"min.s32": twoSources(func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }),
	"max.s32": twoSources(func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }),
	"min.u32": twoSources(func(a, b uint32) uint32 { return min(a, b) }),
	"max.u32": twoSources(func(a, b uint32) uint32 { return max(a, b) }),
	"min.s64": twoSources(func(a, b uint64) uint64 { return uint64(min(int64(a), int64(b))) }),
	"max.s64": twoSources(func(a, b uint64) uint64 { return uint64(max(int64(a), int64(b))) }),
	"min.u64": twoSources(func(a, b uint64) uint64 { return min(a, b) }),
	"max.u64": twoSources(func(a, b uint64) uint64 { return max(a, b) }),
	"neg.s32": oneSource(func(a uint32) uint32 { return -a }), "neg.s64": oneSource(func(a uint64) uint64 { return -a }),
	"abs.s32": oneSource(func(a uint32) uint32 { return uint32(max(int32(a), -int32(a))) }),
}

// quotient returns a / b. PTX does not define division by zero. Here, as on the hardware,
// all bits of the quotient are then 1; the remainder is a.
func quotient[T int32 | uint32 | int64 | uint64](a, b T) T {
	if b == 0 {
		return ^T(0)
	}
	return a / b
}

func remainder[T int32 | uint32 | int64 | uint64](a, b T) T {
	if b == 0 {
		return a
	}
	return a % b
}

// minmax returns f(a, b), where f is min or max. If one of a and b is NaN it
// returns the other, as PTX defines; if both are, the canonical NaN.
func minmax(a, b float32, f func(a, b float32) float32) float32 {
	if a != a && b != b {
		return f32(nan32)
	}
	if a != a {
		return b
	}
	if b != b {
		return a
	}
	return f(a, b)
}

func viaDouble(f func(float64) float64) form {
	return float1(func(a float32) float32 { return float32(f(float64(a))) })
}

func rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }
func rcp(x float64) float64   { return 1 / x }

var floats = map[string]form{
	"add.f32": addFloat, "add.rn.f32": addFloat, "mul.f32": mulFloat, "mul.rn.f32": mulFloat,
	"fma.rn.f32": {"wwww", fmaFloat},
	"sub.f32":    subFloat,
	"sub.rn.f32": float2(func(a, b float32) float32 { return a - b }),
	"div.rn.f32": float2(func(a, b float32) float32 { return a / b }),
	"min.f32":    float2(func(a, b float32) float32 { return minmax(a, b, func(a, b float32) float32 { return min(a, b) }) }),
	"max.f32":    float2(func(a, b float32) float32 { return minmax(a, b, func(a, b float32) float32 { return max(a, b) }) }),
	"neg.f32":    oneSource(func(a uint32) uint32 { return a ^ 1<<31 }), "abs.f32": oneSource(func(a uint32) uint32 { return a &^ (1 << 31) }),
	"rcp.rn.f32": viaDouble(rcp), "sqrt.rn.f32": viaDouble(math.Sqrt),
	"fma.rn.ftz.f32": threeSources(func(a, b, c uint32) uint32 {
		return b32(flush(fma32(flush(f32(a)), flush(f32(b)), flush(f32(c)))))
	}),
	"fma.rm.f32":   threeSources(func(a, b, c uint32) uint32 { return b32(fmaDown(f32(a), f32(b), f32(c))) }),
	"copysign.f32": twoSources(func(a, b uint32) uint32 { return a&(1<<31) | b&^(1<<31) }),
}

var doubles = map[string]form{
	"add.f64": double2(func(a, b float64) float64 { return a + b }), "sub.f64": double2(func(a, b float64) float64 { return a - b }),
	"mul.f64": double2(func(a, b float64) float64 { return a * b }), "div.rn.f64": double2(func(a, b float64) float64 { return a / b }),
	"fma.rn.f64":  threeSources(func(a, b, c uint64) uint64 { return b64(math.FMA(f64(a), f64(b), f64(c))) }),
	"sqrt.rn.f64": double1(math.Sqrt), "rcp.rn.f64": double1(rcp),
}

var bitwise = map[string]form{
	"and.b32": andWord, "or.b32": twoSources(func(a, b uint32) uint32 { return a | b }),
	"xor.b32": xorWord, "not.b32": oneSource(func(a uint32) uint32 { return ^a }),
	"and.b16": twoSources(func(a, b uint32) uint32 { return a & b & 0xffff }), "or.b16": twoSources(func(a, b uint32) uint32 { return (a | b) & 0xffff }),
	"xor.b16": twoSources(func(a, b uint32) uint32 { return (a ^ b) & 0xffff }),
	"and.b64": twoSources(func(a, b uint64) uint64 { return a & b }), "or.b64": twoSources(func(a, b uint64) uint64 { return a | b }),
	"xor.b64": twoSources(func(a, b uint64) uint64 { return a ^ b }), "not.b64": oneSource(func(a uint64) uint64 { return ^a }),
	// Shifts by more than the width give all zeros or all sign bits, in PTX as in Go.
	"shl.b32": twoSources(func(a, n uint32) uint32 { return a << n }), "shr.u32": twoSources(func(a, n uint32) uint32 { return a >> n }),
	"shr.b32": twoSources(func(a, n uint32) uint32 { return a >> n }), "shr.s32": twoSources(func(a, n uint32) uint32 { return uint32(int32(a) >> n) }),
	"shl.b16": twoSources(func(a, n uint32) uint32 { return a << n & 0xffff }), "shr.u16": twoSources(func(a, n uint32) uint32 { return a & 0xffff >> n }),
	"shl.b64": twoSources(func(a uint64, n uint32) uint64 { return a << n }), "shr.u64": twoSources(func(a uint64, n uint32) uint64 { return a >> n }),
	"shr.b64": twoSources(func(a uint64, n uint32) uint64 { return a >> n }), "shr.s64": twoSources(func(a uint64, n uint32) uint64 { return uint64(int64(a) >> n) }),
	"shf.l.wrap.b32": threeSources(func(lo, hi, n uint32) uint32 { return uint32((uint64(hi)<<32 | uint64(lo)) << (n & 31) >> 32) }),
	"shf.r.wrap.b32": threeSources(func(lo, hi, n uint32) uint32 { return uint32((uint64(hi)<<32 | uint64(lo)) >> (n & 31)) }),
	"popc.b32":       oneSource(func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) }),
	"clz.b32":        oneSource(func(a uint32) uint32 { return uint32(bits.LeadingZeros32(a)) }),
	"brev.b32":       oneSource(bits.Reverse32),
	"bfi.b32": {"wwwww", func(w *warp, in *instr, lanes uint32) {
		d, a, b, at, n := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]], &w.w[in.s[2]], &w.w[in.s[3]]
		for l := range d {
			if lanes>>l&1 == 1 {
				mask := uint32(uint64(1)<<min(n[l]&255, 32)-1) << (at[l] & 255)
				d[l] = b[l]&^mask | a[l]<<(at[l]&255)&mask
			}
		}
	}},
	"bfe.u32": threeSources(func(a, at, n uint32) uint32 { return a >> (at & 255) & uint32(uint64(1)<<min(n&255, 32)-1) }),
	"prmt.b32": threeSources(func(a, b, sel uint32) uint32 {
		x, v := uint64(b)<<32|uint64(a), uint32(0)
		for i := range 4 {
			s := sel >> (4 * i)
			byt := uint32(x >> (8 * (s & 7)) & 255)
			if s&8 != 0 { // replicate the sign of the byte in all 8 bits
				byt = uint32(int32(int8(byt)) >> 7 & 255)
			}
			v |= byt << (8 * i)
		}
		return v
	}),
	"and.pred": {"ppp", func(w *warp, in *instr, lanes uint32) { w.set(in.d[0], w.p[in.s[0]]&w.p[in.s[1]], lanes) }},
	"or.pred":  {"ppp", func(w *warp, in *instr, lanes uint32) { w.set(in.d[0], w.p[in.s[0]]|w.p[in.s[1]], lanes) }},
	"xor.pred": {"ppp", func(w *warp, in *instr, lanes uint32) { w.set(in.d[0], w.p[in.s[0]]^w.p[in.s[1]], lanes) }},
	"not.pred": {"pp", func(w *warp, in *instr, lanes uint32) { w.set(in.d[0], ^w.p[in.s[0]], lanes) }},
}

// set copies the bits of v into predicate register p for the given lanes.
func (w *warp) set(p int32, v, lanes uint32) { w.p[p] = w.p[p]&^lanes | v&lanes }

// compare returns the form of an instruction that sets a predicate to the result of f.
func compare[T lane](f func(a, b T) bool) form {
	return form{"p" + letter[T]() + letter[T](), func(w *warp, in *instr, lanes uint32) {
		a, b, v := &registers[T](w)[in.s[0]], &registers[T](w)[in.s[1]], uint32(0)
		for l := range a {
			if lanes>>l&1 == 1 && f(a[l], b[l]) {
				v |= 1 << l
			}
		}
		w.set(in.d[0], v, lanes)
	}}
}

// number is the type set of the operands of the comparison instruction setp.
type number interface {
	~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// relations returns the comparison operators of setp by name. A comparison with
// NaN is false, also for "ne".
func relations[T number]() map[string]func(a, b T) bool {
	return map[string]func(a, b T) bool{
		"eq": func(a, b T) bool { return a == b }, "ne": func(a, b T) bool { return a != b && a == a && b == b },
		"lt": func(a, b T) bool { return a < b }, "le": func(a, b T) bool { return a <= b },
		"gt": func(a, b T) bool { return a > b }, "ge": func(a, b T) bool { return a >= b },
	}
}

// unordered returns all comparison operators of setp for floats: those of relations; the
// same operators with suffix "u", which are also true if an operand is NaN; "num" (no operand
// is NaN) and "nan" (at least one is).
func unordered[T float32 | float64]() map[string]func(a, b T) bool {
	all := relations[T]()
	for name, f := range relations[T]() {
		all[name+"u"] = func(a, b T) bool { return a != a || b != b || f(a, b) }
	}
	all["num"] = func(a, b T) bool { return a == a && b == b }
	all["nan"] = func(a, b T) bool { return a != a || b != b }
	return all
}

var comparisons = func() map[string]form {
	all := map[string]form{}
	for name, f := range relations[int32]() {
		all["setp."+name+".s32"] = compare(func(a, b uint32) bool { return f(int32(a), int32(b)) })
	}
	for name, f := range relations[uint32]() {
		all["setp."+name+".u32"] = compare(f)
		all["setp."+name+".b32"] = compare(f)
	}
	for name, f := range relations[int16]() {
		all["setp."+name+".s16"] = compare(func(a, b uint32) bool { return f(int16(a), int16(b)) })
	}
	for name, f := range relations[uint16]() {
		all["setp."+name+".u16"] = compare(func(a, b uint32) bool { return f(uint16(a), uint16(b)) })
		all["setp."+name+".b16"] = all["setp."+name+".u16"]
	}
	for name, f := range relations[int64]() {
		all["setp."+name+".s64"] = compare(func(a, b uint64) bool { return f(int64(a), int64(b)) })
	}
	for name, f := range relations[uint64]() {
		all["setp."+name+".u64"] = compare(f)
		all["setp."+name+".b64"] = compare(f)
	}
	for name, f := range unordered[float32]() {
		all["setp."+name+".f32"] = compare(func(a, b uint32) bool { return f(f32(a), f32(b)) })
	}
	for name, f := range unordered[float64]() {
		all["setp."+name+".f64"] = compare(func(a, b uint64) bool { return f(f64(a), f64(b)) })
	}
	return all
}()

// choose returns the form of an instruction that selects one of two registers by a
// predicate.
func choose[T lane]() form {
	return form{letter[T]() + letter[T]() + letter[T]() + "p", func(w *warp, in *instr, lanes uint32) {
		all, p := registers[T](w), w.p[in.s[2]]
		d, a, b := &all[in.d[0]], &all[in.s[0]], &all[in.s[1]]
		for l := range d {
			if lanes>>l&1 == 0 {
				continue
			}
			if p>>l&1 == 1 {
				d[l] = a[l]
			} else {
				d[l] = b[l]
			}
		}
	}}
}

var selectWord, selectLong = choose[uint32](), choose[uint64]()

var selections = map[string]form{
	"selp.f32": selectWord, "selp.b32": selectWord, "selp.u32": selectWord, "selp.s32": selectWord, "selp.b16": selectWord, "selp.u16": selectWord,
	"selp.b64": selectLong, "selp.u64": selectLong, "selp.s64": selectLong, "selp.f64": selectLong,
}

// clampInt limits v to [lo, hi] and returns 0 for NaN: the rule of PTX for
// conversions from float to integer.
func clampInt(v float64, lo, hi float64) float64 {
	if v != v {
		return 0
	}
	return min(max(v, lo), hi)
}

var conversions = map[string]form{
	"cvt.u32.u64": oneSource(func(a uint64) uint32 { return uint32(a) }), "cvt.s32.s64": oneSource(func(a uint64) uint32 { return uint32(a) }),
	"cvt.u32.s64": oneSource(func(a uint64) uint32 { return uint32(a) }),
	"cvt.u16.u64": oneSource(func(a uint64) uint32 { return uint32(a) & 0xffff }),
	"cvt.u64.u32": oneSource(func(a uint32) uint64 { return uint64(a) }), "cvt.s64.s32": oneSource(func(a uint32) uint64 { return uint64(int64(int32(a))) }),
	"cvt.u64.s32": oneSource(func(a uint32) uint64 { return uint64(int64(int32(a))) }), "cvt.u64.u16": oneSource(func(a uint32) uint64 { return uint64(a & 0xffff) }),
	"cvt.s64.u32": oneSource(func(a uint32) uint64 { return uint64(a) }),
	"cvt.u64.u64": moveLong, "cvt.u16.u32": oneSource(func(a uint32) uint32 { return a & 0xffff }), "cvt.u32.u16": oneSource(func(a uint32) uint32 { return a & 0xffff }),
	"cvt.u32.u8": oneSource(func(a uint32) uint32 { return a & 0xff }), "cvt.u16.u8": oneSource(func(a uint32) uint32 { return a & 0xff }),
	"cvt.s32.s16": oneSource(func(a uint32) uint32 { return uint32(int32(int16(a))) }), "cvt.s32.s8": oneSource(func(a uint32) uint32 { return uint32(int32(int8(a))) }),
	"cvt.rn.f32.s32": oneSource(func(a uint32) uint32 { return b32(float32(int32(a))) }),
	"cvt.rn.f32.u32": oneSource(func(a uint32) uint32 { return b32(float32(a)) }),
	"cvt.rn.f32.u16": oneSource(func(a uint32) uint32 { return b32(float32(a & 0xffff)) }),
	"cvt.rn.f32.s64": oneSource(func(a uint64) uint32 { return b32(float32(int64(a))) }),
	"cvt.rn.f32.u64": oneSource(func(a uint64) uint32 { return b32(float32(a)) }),
	"cvt.rn.f64.s32": oneSource(func(a uint32) uint64 { return b64(float64(int32(a))) }),
	"cvt.rn.f64.u64": oneSource(func(a uint64) uint64 { return b64(float64(a)) }),
	"cvt.rzi.s32.f32": oneSource(func(a uint32) uint32 {
		return uint32(int32(clampInt(math.Trunc(float64(f32(a))), math.MinInt32, math.MaxInt32)))
	}),
	"cvt.rzi.u32.f32": oneSource(func(a uint32) uint32 { return uint32(clampInt(math.Trunc(float64(f32(a))), 0, math.MaxUint32)) }),
	"cvt.rni.s32.f32": oneSource(func(a uint32) uint32 {
		return uint32(int32(clampInt(math.RoundToEven(float64(f32(a))), math.MinInt32, math.MaxInt32)))
	}),
	"cvt.rni.f32.f32":             viaDouble(math.RoundToEven),
	"cvt.rmi.f32.f32":             viaDouble(math.Floor),
	"cvt.rzi.f32.f32":             viaDouble(math.Trunc),
	"cvt.f64.f32":                 oneSource(func(a uint32) uint64 { return b64(float64(f32(a))) }),
	"cvt.rn.f32.f64":              oneSource(func(a uint64) uint32 { return b32(float32(f64(a))) }),
	"cvt.f32.f16":                 oneSource(func(a uint32) uint32 { return b32(fromF16(a & 0xffff)) }),
	"cvt.rn.f16.f32":              oneSource(func(a uint32) uint32 { return toF16(f32(a)) }),
	"cvt.rn.bf16.f32":             oneSource(func(a uint32) uint32 { return toBF16(f32(a)) }),
	"cvt.rn.bf16x2.f32":           twoSources(func(hi, lo uint32) uint32 { return toBF16(f32(lo)) | toBF16(f32(hi))<<16 }),
	"cvt.rn.satfinite.e4m3x2.f32": twoSources(func(hi, lo uint32) uint32 { return uint32(e4m3.code(f32(lo))) | uint32(e4m3.code(f32(hi)))<<8 }),
	"cvt.rn.satfinite.e5m2x2.f32": twoSources(func(hi, lo uint32) uint32 { return uint32(e5m2.code(f32(lo))) | uint32(e5m2.code(f32(hi)))<<8 }),
	"cvt.rn.f16x2.f32":            twoSources(func(hi, lo uint32) uint32 { return toF16(f32(lo)) | toF16(f32(hi))<<16 }),

	"cvt.sat.f32.f32": float1(func(a float32) float32 {
		return minmax(minmax(a, 0, func(a, b float32) float32 { return max(a, b) }), 1, func(a, b float32) float32 { return min(a, b) })
	}),
}
