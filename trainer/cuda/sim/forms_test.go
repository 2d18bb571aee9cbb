package sim

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// calculate runs one instruction in a warp and returns its result in lane 7; a
// predicate gives 0 or 1.
func calculate(t *testing.T, op, letters string, args ...uint64) uint64 {
	t.Helper()
	var body strings.Builder
	name := func(i int) string {
		switch letters[i] {
		case 'w':
			return fmt.Sprintf("%%r%d", i)
		case 'l':
			return fmt.Sprintf("%%rd%d", i)
		}
		return fmt.Sprintf("%%p%d", i)
	}
	list := []string{name(0)}
	for i := 1; i < len(letters); i++ {
		fmt.Fprintf(&body, "ld.param.u64 %%rd1%d, [p%d];\n", i, i)
		switch letters[i] {
		case 'w':
			fmt.Fprintf(&body, "cvt.u32.u64 %s, %%rd1%d;\n", name(i), i)
		case 'l':
			fmt.Fprintf(&body, "mov.u64 %s, %%rd1%d;\n", name(i), i)
		default:
			fmt.Fprintf(&body, "setp.ne.u64 %s, %%rd1%d, 0;\n", name(i), i)
		}
		list = append(list, name(i))
	}
	fmt.Fprintf(&body, "%s %s;\n", op, strings.Join(list, ", "))
	switch letters[0] {
	case 'w':
		body.WriteString("cvt.u64.u32 %rd0, %r0;\n")
	case 'p':
		body.WriteString("selp.b64 %rd0, 1, 0, %p0;\n")
	}
	body.WriteString("mov.u32 %r20, %tid.x;\nsetp.ne.s32 %p7, %r20, 7;\nld.param.u64 %rd10, [p0];\n@%p7 ret;\nst.global.u64 [%rd10], %rd0;")
	d := New(Options{})
	out := alloc(t, d, "out", 8)
	if err := launch(d, module(len(letters), body.String()), Config{Block: Dim{X: 32}}, append([]uint64{out}, args...)...); err != nil {
		t.Fatal(err)
	}
	return get[uint64](t, d, out, 1)[0]
}

func f(v float32) uint64        { return uint64(b32(v)) }
func d(v float64) uint64        { return b64(v) }
func neg(v int64) uint64        { return uint64(-v) }
func neg32(v int32) uint64      { return uint64(uint32(-v)) }
func pair(lo, hi uint64) uint64 { return lo | hi<<16 }

const (
	nan  = 0x7fc00000
	inf  = 0x7f800000
	ninf = 0xff800000
)

// known are results worked out by hand or taken from the PTX manual: for every
// form at least one, with the cases where a wrong one would show.
var known = []struct {
	op   string
	want uint64
	args []uint64
}{
	{"mov.f32", f(1.5), []uint64{f(1.5)}}, {"mov.b32", 7, []uint64{7}}, {"mov.u32", 7, []uint64{7}}, {"mov.s32", neg32(7), []uint64{neg32(7)}},
	{"mov.u16", 9, []uint64{9}}, {"mov.b16", 9, []uint64{9}}, {"mov.u64", 1 << 40, []uint64{1 << 40}}, {"mov.b64", 1 << 40, []uint64{1 << 40}},
	{"mov.f64", d(2.5), []uint64{d(2.5)}}, {"mov.s64", neg(1), []uint64{neg(1)}}, {"mov.pred", 1, []uint64{1}}, {"mov.pred", 0, []uint64{0}},
	{"cvta.to.global.u64", 99, []uint64{99}}, {"cvta.to.shared.u64", 99, []uint64{99}}, {"cvta.global.u64", 99, []uint64{99}}, {"cvta.shared.u64", 99, []uint64{99}},

	{"add.s32", neg32(math.MaxInt32), []uint64{math.MaxInt32, 2}}, {"add.u32", 1, []uint64{math.MaxUint32, 2}}, {"add.s64", 0, []uint64{neg(1), 1}}, {"add.u64", 1, []uint64{math.MaxUint64, 2}},
	{"sub.s32", neg32(1), []uint64{2, 3}}, {"sub.u32", 1, []uint64{3, 2}}, {"sub.s64", neg(1), []uint64{2, 3}}, {"sub.u64", 1, []uint64{3, 2}},
	{"add.s16", 0xfffe, []uint64{0xffff, 0xffff}}, {"sub.s16", 0xffff, []uint64{0, 1}}, {"mul.lo.s16", 0xfe01 & 0xffff, []uint64{0xff, 0xff}},
	{"mul.lo.s32", neg32(6), []uint64{neg32(2), 3}}, {"mul.lo.u32", 0, []uint64{1 << 16, 1 << 16}}, {"mul.hi.u32", 0xD2511F52, []uint64{0xD2511F53, math.MaxUint32}}, {"mul.hi.s32", neg32(1), []uint64{neg32(1), 5}},
	{"mul.lo.s64", neg(6), []uint64{neg(2), 3}}, {"mul.lo.u64", 0, []uint64{1 << 32, 1 << 32}}, {"mul.hi.u64", math.MaxUint64 - 1, []uint64{math.MaxUint64, math.MaxUint64}},
	{"mad.lo.s32", neg32(5), []uint64{neg32(2), 3, 1}}, {"mad.lo.u32", 7, []uint64{2, 3, 1}}, {"mad.lo.s64", neg(5), []uint64{neg(2), 3, 1}},
	{"mul.wide.s32", neg(1 << 40), []uint64{neg32(1 << 20), 1 << 20}}, {"mul.wide.u32", 0xfffffffe00000001, []uint64{math.MaxUint32, math.MaxUint32}},
	{"mul.wide.u16", 0xfffe0001, []uint64{0xffff, 0xffff}}, {"mul.wide.s16", 1, []uint64{0xffff, 0xffff}},
	{"mad.wide.s32", neg(5), []uint64{neg32(2), 3, 1}}, {"mad.wide.u32", 1<<32 + 4, []uint64{1 << 31, 2, 4}},
	{"div.s32", neg32(3), []uint64{neg32(7), 2}}, {"div.s32", math.MaxUint32, []uint64{7, 0}}, {"div.u32", 3, []uint64{7, 2}}, {"div.u32", math.MaxUint32, []uint64{7, 0}},
	{"rem.s32", neg32(1), []uint64{neg32(7), 2}}, {"rem.s32", 7, []uint64{7, 0}}, {"rem.u32", 1, []uint64{7, 2}}, {"rem.u32", 7, []uint64{7, 0}},
	{"div.u64", 1 << 39, []uint64{1 << 40, 2}}, {"div.u64", math.MaxUint64, []uint64{1, 0}}, {"div.s64", neg(3), []uint64{neg(7), 2}}, {"div.s64", math.MaxUint64, []uint64{1, 0}},
	{"rem.u64", 1, []uint64{7, 2}}, {"rem.u64", 7, []uint64{7, 0}}, {"rem.s64", neg(1), []uint64{neg(7), 2}}, {"rem.s64", 7, []uint64{7, 0}},
	{"min.s32", neg32(1), []uint64{neg32(1), 1}}, {"max.s32", 1, []uint64{neg32(1), 1}}, {"min.u32", 1, []uint64{neg32(1), 1}}, {"max.u32", neg32(1), []uint64{neg32(1), 1}},
	{"min.s64", neg(1), []uint64{neg(1), 1}}, {"max.s64", 1, []uint64{neg(1), 1}}, {"min.u64", 1, []uint64{neg(1), 1}}, {"max.u64", neg(1), []uint64{neg(1), 1}},
	{"neg.s32", neg32(5), []uint64{5}}, {"neg.s64", neg(5), []uint64{5}}, {"abs.s32", 5, []uint64{neg32(5)}},

	{"add.f32", f(1), []uint64{f(1), f(0x1p-25)}}, {"add.rn.f32", f(3), []uint64{f(1), f(2)}}, {"mul.f32", f(6), []uint64{f(2), f(3)}}, {"mul.rn.f32", f(-6), []uint64{f(-2), f(3)}},
	{"sub.f32", f(-1), []uint64{f(2), f(3)}}, {"sub.rn.f32", f(-1), []uint64{f(2), f(3)}}, {"div.rn.f32", 0x3eaaaaab, []uint64{f(1), f(3)}},
	{"fma.rn.f32", f(0x1p-46), []uint64{f(1 + 0x1p-23), f(1 + 0x1p-23), f(-1 - 0x1p-22)}},
	{"fma.rm.f32", f(12582913), []uint64{f(1.5), f(1), f(12582912)}}, {"fma.rm.f32", f(12582910), []uint64{f(-1.5), f(1), f(12582912)}}, {"fma.rm.f32", f(7), []uint64{f(2), f(3), f(1)}},
	{"fma.rm.f32", 0x3f7fffff, []uint64{f(-0x1p-70), f(0x1p-70), f(1)}}, {"fma.rm.f32", f(1), []uint64{f(0x1p-70), f(0x1p-70), f(1)}},
	{"fma.rn.ftz.f32", 0, []uint64{f(0x1p-100), f(0x1p-40), 0}}, {"fma.rn.ftz.f32", f(7), []uint64{f(2), f(3), f(1)}},
	{"min.f32", f(-1), []uint64{f(-1), f(1)}}, {"min.f32", f(1), []uint64{nan, f(1)}}, {"max.f32", f(1), []uint64{f(1), nan}}, {"max.f32", nan32, []uint64{nan, nan}},
	{"neg.f32", f(-1), []uint64{f(1)}}, {"neg.f32", 0x80000000, []uint64{0}}, {"abs.f32", f(1), []uint64{f(-1)}},
	{"rcp.rn.f32", 0x3eaaaaab, []uint64{f(3)}}, {"rcp.approx.ftz.f32", f(0.25), []uint64{f(4)}}, {"rcp.approx.ftz.f32", inf, []uint64{1}}, {"sqrt.rn.f32", 0x3fb504f3, []uint64{f(2)}}, {"rsqrt.approx.f32", f(0.5), []uint64{f(4)}},
	{"sqrt.approx.f32", f(1.5), []uint64{f(2.25)}}, {"div.full.f32", 0x3eaaaaab, []uint64{f(1), f(3)}}, {"div.approx.f32", f(0.5), []uint64{f(2), f(4)}},
	{"ex2.approx.ftz.f32", f(8), []uint64{f(3)}}, {"ex2.approx.ftz.f32", 0, []uint64{f(-130)}}, {"ex2.approx.f32", 1 << 19, []uint64{f(-130)}},
	{"lg2.approx.f32", f(3), []uint64{f(8)}}, {"lg2.approx.f32", f(-130), []uint64{1 << 19}}, {"lg2.approx.ftz.f32", ninf, []uint64{1 << 19}}, {"tanh.approx.f32", 0x3f42f7d6, []uint64{f(1)}},
	{"copysign.f32", f(-2), []uint64{f(-1), f(2)}}, {"copysign.f32", f(2), []uint64{f(1), f(-2)}},
	{"add.f64", d(3), []uint64{d(1), d(2)}}, {"sub.f64", d(-1), []uint64{d(1), d(2)}}, {"mul.f64", d(6), []uint64{d(3), d(2)}}, {"div.rn.f64", d(1.5), []uint64{d(3), d(2)}},
	{"fma.rn.f64", d(0x1p-104), []uint64{d(1 + 0x1p-52), d(1 + 0x1p-52), d(-1 - 0x1p-51)}}, {"sqrt.rn.f64", d(1.5), []uint64{d(2.25)}}, {"rcp.rn.f64", d(0.25), []uint64{d(4)}},

	{"and.b32", 0b1000, []uint64{0b1100, 0b1010}}, {"or.b32", 0b1110, []uint64{0b1100, 0b1010}}, {"xor.b32", 0b0110, []uint64{0b1100, 0b1010}}, {"not.b32", math.MaxUint32 - 1, []uint64{1}},
	{"and.b16", 0b1000, []uint64{0b1100 | 1<<20, 0b1010 | 1<<20}}, {"or.b16", 0b1110, []uint64{0b1100, 0b1010 | 1<<20}}, {"xor.b16", 0b0110, []uint64{0b1100, 0b1010 | 1<<20}},
	{"and.b64", 1 << 40, []uint64{3 << 40, 1 << 40}}, {"or.b64", 3 << 40, []uint64{2 << 40, 1 << 40}}, {"xor.b64", 2 << 40, []uint64{3 << 40, 1 << 40}}, {"not.b64", math.MaxUint64 - 1, []uint64{1}},
	{"shl.b32", 1 << 31, []uint64{3, 31}}, {"shl.b32", 0, []uint64{3, 32}}, {"shr.u32", 1, []uint64{1 << 31, 31}}, {"shr.u32", 0, []uint64{1 << 31, 40}}, {"shr.b32", 1, []uint64{2, 1}}, {"shr.s32", neg32(1), []uint64{1 << 31, 99}},
	{"shl.b16", 0x8000, []uint64{1, 15}}, {"shl.b16", 0, []uint64{1, 16}}, {"shr.u16", 1, []uint64{0x8000 | 1<<20, 15}},
	{"shl.b64", 1 << 63, []uint64{3, 63}}, {"shl.b64", 0, []uint64{3, 64}}, {"shr.u64", 1, []uint64{1 << 63, 63}}, {"shr.b64", 1, []uint64{1 << 63, 63}}, {"shr.s64", neg(1), []uint64{1 << 63, 99}},
	{"shf.l.wrap.b32", 0x23456789, []uint64{0x9abcdef0, 0x12345678, 4}}, {"shf.l.wrap.b32", 0x12345678, []uint64{0x9abcdef0, 0x12345678, 32}}, {"shf.r.wrap.b32", 0x89abcdef, []uint64{0x9abcdef0, 0x12345678, 4}},
	{"popc.b32", 3, []uint64{0x80000101}}, {"clz.b32", 31, []uint64{1}}, {"brev.b32", 1 << 31, []uint64{1}},
	{"bfi.b32", 0xff3f, []uint64{0, 0xffff, 6, 2}}, {"bfi.b32", 0xfff5, []uint64{5, 0xffff, 0, 4}}, {"bfi.b32", 5, []uint64{5, 0xffff, 0, 32}}, {"bfe.u32", 0x34, []uint64{0x12345678, 16, 8}}, {"bfe.u32", 0x12345678, []uint64{0x12345678, 0, 32}},
	{"prmt.b32", 0x77665544 & 0xffffffff, []uint64{0x33221100, 0x77665544, 0x7654}}, {"prmt.b32", 0x00ff1177, []uint64{0x33221180, 0x77665544, 0x9817}},
	{"and.pred", 0, []uint64{1, 0}}, {"and.pred", 1, []uint64{1, 1}}, {"or.pred", 1, []uint64{1, 0}}, {"or.pred", 0, []uint64{0, 0}}, {"xor.pred", 0, []uint64{1, 1}}, {"xor.pred", 1, []uint64{0, 1}}, {"not.pred", 1, []uint64{0}}, {"not.pred", 0, []uint64{1}},

	{"cvt.u32.u64", 5, []uint64{1<<32 + 5}}, {"cvt.s32.s64", neg32(5), []uint64{neg(5)}}, {"cvt.u32.s64", neg32(5), []uint64{neg(5)}}, {"cvt.u16.u64", 5, []uint64{1<<16 + 5}},
	{"cvt.u64.u32", math.MaxUint32, []uint64{math.MaxUint32}}, {"cvt.s64.s32", neg(1), []uint64{math.MaxUint32}}, {"cvt.u64.s32", neg(1), []uint64{math.MaxUint32}}, {"cvt.s64.u32", math.MaxUint32, []uint64{math.MaxUint32}}, {"cvt.u64.u16", 0xffff, []uint64{0x1ffff}},
	{"cvt.u64.u64", 1 << 50, []uint64{1 << 50}}, {"cvt.u16.u32", 5, []uint64{1<<16 + 5}}, {"cvt.u32.u16", 5, []uint64{1<<16 + 5}}, {"cvt.u32.u8", 5, []uint64{256 + 5}}, {"cvt.u16.u8", 5, []uint64{256 + 5}},
	{"cvt.s32.s16", neg32(1), []uint64{0xffff}}, {"cvt.s32.s8", neg32(1), []uint64{0xff}},
	{"cvt.rn.f32.s32", f(-3), []uint64{neg32(3)}}, {"cvt.rn.f32.u32", f(0x1p32), []uint64{math.MaxUint32}}, {"cvt.rn.f32.u16", f(65535), []uint64{0x1ffff}}, {"cvt.rn.f32.s64", f(-0x1p40), []uint64{neg(1 << 40)}}, {"cvt.rn.f32.u64", f(0x1p64), []uint64{math.MaxUint64}},
	{"cvt.rn.f64.s32", d(-3), []uint64{neg32(3)}}, {"cvt.rn.f64.u64", d(3), []uint64{3}},
	{"cvt.rzi.s32.f32", neg32(1), []uint64{f(-1.9)}}, {"cvt.rzi.s32.f32", math.MaxInt32, []uint64{f(1e20)}}, {"cvt.rzi.s32.f32", 0, []uint64{nan}}, {"cvt.rzi.u32.f32", 0, []uint64{f(-1)}}, {"cvt.rzi.u32.f32", 3e9, []uint64{f(3e9)}},
	{"cvt.rni.s32.f32", 2, []uint64{f(2.5)}}, {"cvt.rni.s32.f32", neg32(4), []uint64{f(-3.5)}}, {"cvt.rni.f32.f32", f(2), []uint64{f(2.5)}}, {"cvt.rmi.f32.f32", f(-3), []uint64{f(-2.5)}}, {"cvt.rzi.f32.f32", f(-2), []uint64{f(-2.5)}},
	{"cvt.f64.f32", d(1.5), []uint64{f(1.5)}}, {"cvt.rn.f32.f64", 0x3eaaaaab, []uint64{d(1.0 / 3)}},
	{"cvt.f32.f16", f(1), []uint64{0x3c00}}, {"cvt.f32.f16", f(-0x1p-24), []uint64{0x8001}}, {"cvt.f32.f16", inf, []uint64{0x7c00}}, {"cvt.f32.f16", f(65504), []uint64{0x7bff}},
	{"cvt.rn.f16.f32", 0x3c00, []uint64{f(1)}}, {"cvt.rn.f16.f32", 0x7c00, []uint64{f(65520)}}, {"cvt.rn.f16.f32", 0x7bff, []uint64{f(65519)}}, {"cvt.rn.f16.f32", 0x8001, []uint64{f(-0x1.8p-25)}}, {"cvt.rn.f16.f32", 0, []uint64{f(0x1p-25)}},
	{"cvt.rn.bf16.f32", 0x3f80, []uint64{f(1)}}, {"cvt.rn.bf16.f32", 0x3f80, []uint64{0x3f808000}}, {"cvt.rn.bf16.f32", 0x3f82, []uint64{0x3f818000}}, {"cvt.rn.bf16.f32", 0x7fff, []uint64{nan}}, {"cvt.rn.bf16.f32", 0x7f80, []uint64{0x7f7fffff}},
	{"cvt.rn.satfinite.e4m3x2.f32", 0x407e, []uint64{f(2), f(1000)}}, {"cvt.rn.satfinite.e5m2x2.f32", 0xc03c, []uint64{f(-2), f(1)}},
	{"cvt.rn.bf16x2.f32", pair(0x4000, 0x3f80), []uint64{f(1), f(2)}}, {"cvt.rn.f16x2.f32", pair(0x4000, 0x3c00), []uint64{f(1), f(2)}},
	{"cvt.sat.f32.f32", f(1), []uint64{f(3)}}, {"cvt.sat.f32.f32", 0, []uint64{f(-3)}}, {"cvt.sat.f32.f32", f(0.5), []uint64{f(0.5)}},

	{"selp.f32", 1, []uint64{1, 2, 1}}, {"selp.f32", 2, []uint64{1, 2, 0}}, {"selp.b32", 1, []uint64{1, 2, 1}}, {"selp.u32", 2, []uint64{1, 2, 0}}, {"selp.s32", 1, []uint64{1, 2, 1}}, {"selp.b16", 1, []uint64{1, 2, 1}}, {"selp.u16", 2, []uint64{1, 2, 0}},
	{"selp.b64", 1 << 40, []uint64{1 << 40, 2, 1}}, {"selp.b64", 2, []uint64{1 << 40, 2, 0}}, {"selp.u64", 2, []uint64{1, 2, 0}}, {"selp.s64", 1, []uint64{1, 2, 1}}, {"selp.f64", 2, []uint64{1, 2, 0}},
}

func TestEveryFormGivesTheKnownResult(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range known {
		seen[k.op] = true
		if got := calculate(t, k.op, forms[k.op].registers, k.args...); got != k.want {
			t.Errorf("%s %#x: got %#x, want %#x", k.op, k.args, got, k.want)
		}
	}
	for op := range forms {
		if !seen[op] && !strings.HasPrefix(op, "setp.") {
			t.Errorf("%s has no known result", op)
		}
	}
}

// exactly returns the value that bits mean in a type, and whether it is one.
func exactly(kind string, v uint64) (*big.Float, bool) {
	x := new(big.Float).SetPrec(200)
	switch kind {
	case "s16":
		return x.SetInt64(int64(int16(v))), true
	case "u16", "b16":
		return x.SetUint64(v & 0xffff), true
	case "s32":
		return x.SetInt64(int64(int32(v))), true
	case "u32", "b32":
		return x.SetUint64(v & math.MaxUint32), true
	case "s64":
		return x.SetInt64(int64(v)), true
	case "u64", "b64":
		return x.SetUint64(v), true
	case "f32":
		if g := float64(f32(uint32(v))); g == g {
			return x.SetFloat64(g), true
		}
	case "f64":
		if g := f64(v); g == g {
			return x.SetFloat64(g), true
		}
	}
	return x, false
}

func TestComparisonsAreThoseOfTheirType(t *testing.T) {
	values := map[string][]uint64{
		"f32": {f(0), 0x80000000, f(-1), f(2), inf, nan}, "f64": {d(0), d(-1), d(2), d(math.Inf(-1)), d(math.NaN())},
	}
	whole := []uint64{0, 1, math.MaxUint64, 1 << 31, 1<<15 | 5, 1 << 63}
	for op, form := range forms {
		part := strings.Split(op, ".")
		if part[0] != "setp" {
			continue
		}
		list := values[part[2]]
		if list == nil {
			list = whole
		}
		for _, a := range list {
			for _, b := range list {
				x, xOK := exactly(part[2], a)
				y, yOK := exactly(part[2], b)
				c, want := x.Cmp(y), false
				switch strings.TrimSuffix(part[1], "u") {
				case "eq":
					want = c == 0
				case "ne":
					want = c != 0
				case "lt":
					want = c < 0
				case "le":
					want = c <= 0
				case "gt":
					want = c > 0
				case "ge":
					want = c >= 0
				}
				if !xOK || !yOK {
					want = strings.HasSuffix(part[1], "u") || part[1] == "nan"
				} else if part[1] == "num" {
					want = true
				}
				if got := calculate(t, op, form.registers, a, b) == 1; got != want {
					t.Errorf("%s %#x, %#x: got %v", op, a, b, got)
				}
			}
		}
	}
}

// TestMultiplyAddIsRoundedOnce compares with exact arithmetic, at places where
// two roundings go wrong.
func TestMultiplyAddIsRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(a, b, c float32) {
		x := new(big.Float).SetPrec(2000).SetFloat64(float64(a))
		x.Mul(x, new(big.Float).SetFloat64(float64(b)))
		x.Add(x, new(big.Float).SetPrec(2000).SetFloat64(float64(c)))
		want, _ := x.Float32()
		if got := fma32(a, b, c); got != want {
			t.Errorf("%x·%x + %x: got %x, want %x", a, b, c, got, want)
		}
	}
	for range 20000 {
		v := func() float32 { return float32(math.Ldexp(float64(r.IntN(1<<24)), r.IntN(40)-60)) }
		check(v(), -v(), v())
		check(f32(r.Uint32()>>2), f32(0x30000000+r.Uint32N(1<<22)), f32(r.Uint32N(1<<24))) // subnormal results
		// A double half way between two singles, and something far below it.
		check(1, float32(1+r.IntN(1<<23)*2), float32(0.5))
		check(float32(1<<23+r.IntN(1<<23)), 1, f32(b32(0.5)+r.Uint32N(3)-1))
		check(1+0x1p-12, 1+0x1p-12, f32(b32(0x1p-60)+r.Uint32N(9)))
	}
	for _, v := range [][3]float32{{inf32(1), 1, 1}, {1, 1, inf32(-1)}, {0x1p127, 2, 0}} {
		if got, want := fma32(v[0], v[1], v[2]), float32(math.FMA(float64(v[0]), float64(v[1]), float64(v[2]))); got != want {
			t.Errorf("%v: got %v, want %v", v, got, want)
		}
	}
}

func inf32(sign int) float32 { return float32(math.Inf(sign)) }

// TestHalvesRoundToTheNearest tries every half, every point half way between two
// of them, and its neighbours.
func TestHalvesRoundToTheNearest(t *testing.T) {
	for h := uint32(0); h < 0x7c00; h++ {
		v, next := fromF16(h), fromF16(h+1)
		if h == 0x7bff {
			next = 65536
		}
		middle := v + (next-v)/2
		even := h + h&1
		for _, c := range []struct {
			x    float32
			want uint32
		}{
			{v, h}, {middle, even}, {math.Nextafter32(middle, 0), h}, {math.Nextafter32(middle, 1e6), h + 1},
		} {
			if got := toF16(c.x); got != c.want {
				t.Fatalf("%x: got %#x, want %#x", c.x, got, c.want)
			}
			if got := toF16(-c.x); got != c.want|0x8000 {
				t.Fatalf("%x: got %#x, want %#x", -c.x, got, c.want|0x8000)
			}
		}
	}
	if v := fromF16(0x3555); math.Abs(float64(v)-1.0/3) > 1e-4 || fromF16(0xfc00) != inf32(-1) || fromF16(0x7e00) == fromF16(0x7e00) {
		t.Error("halves are read wrongly")
	}
	if toF16(f32(nan)) != 0x7fff || toF16(1e30) != 0x7c00 || toF16(1e-30) != 0 {
		t.Error("what is no half is rounded wrongly")
	}
}

// TestLoadsFillWiderRegisters loads the bytes fe ff ff ff 80 … as every type.
func TestLoadsFillWiderRegisters(t *testing.T) {
	for _, c := range []struct {
		op   string
		wide bool
		want uint64
	}{
		{"u8", false, 0xfe}, {"s8", false, 0xfffffffe}, {"u16", false, 0xfffe}, {"s16", false, 0xfffffffe}, {"b16", false, 0xfffe}, {"u32", false, 0xfffffffe}, {"f32", false, 0xfffffffe},
		{"u8", true, 0xfe}, {"s8", true, math.MaxUint64 - 1}, {"u16", true, 0xfffe}, {"s16", true, math.MaxUint64 - 1}, {"u32", true, 0xfffffffe}, {"s32", true, math.MaxUint64 - 1},
		{"u64", true, 0x80fffffffe}, {"s64", true, 0x80fffffffe}, {"f64", true, 0x80fffffffe},
	} {
		for _, where := range []string{"global", "shared"} {
			d := New(Options{})
			in, out := put(t, d, "in", []uint64{0x80fffffffe}), alloc(t, d, "out", 8)
			register, widen := "%r1", "cvt.u64.u32 %rd5, %r1;\n"
			if c.wide {
				register, widen = "%rd5", ""
			}
			address := "[%rd1]"
			if where == "shared" {
				address = "[%rd3]"
			}
			body := ".shared .align 8 .b8 s[8];\nld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u64 %rd3, s;\nld.global.u64 %rd4, [%rd1];\nst.shared.u64 [s], %rd4;\n" +
				"ld." + where + "." + c.op + " " + register + ", " + address + ";\n" + widen + "st.global.u64 [%rd2], %rd5;"
			if err := launch(d, module(2, body), Config{}, in, out); err != nil {
				t.Fatal(err)
			}
			if got := get[uint64](t, d, out, 1)[0]; got != c.want {
				t.Errorf("ld.%s.%s %s: got %#x, want %#x", where, c.op, register, got, c.want)
			}
		}
	}
}

func TestUnknownInstructionsAreNamed(t *testing.T) {
	for _, s := range []string{
		"tex.2d.v4.f32.f32 %r1, %r2;", "add.f32 %r1, %r2;", "add.f32 %r1, %rd2, %r3;", "bra nowhere;", "bar.sync 1;", "bar.sync 0, 64;", "ld.local.u32 %r1, [%rd1];",
		"ld.param.u32 %r1, [q];", "ld.param.u64 %rd1, [p0+4];", "mov.u32 %r1, unknown;", "mov.u32 5, %r1;", "shfl.bfly.b32 %r1, %r2, 1, 31;", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};",
		"cp.async.bulk %r1;", "cp.async.cg.shared.global [%r1], [%rd1], 8;", "atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", "ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1,%r2,%r3}, [%r4];",
		"@%r1 ret;", "mov.b32 {%r1,%r2,%r3}, %r4;", "vote.sync.uni.pred %p1, %p2, %r1;",
	} {
		_, err := New(Options{}).Load(module(1, s))
		if err == nil || !strings.Contains(err.Error(), strings.Fields(s)[0]) || !strings.Contains(err.Error(), "line 10") {
			t.Errorf("%s: got %v", s, err)
		}
	}
}

func TestFormsAreNotDeclaredTwice(t *testing.T) {
	n := 0
	for _, group := range []map[string]form{moves, integers, floats, doubles, bitwise, comparisons, selections, conversions, withoutErrors} {
		n += len(group)
	}
	if n != len(forms) {
		t.Errorf("%d forms of %d stand in one group only: %v", len(forms), n, slices.Sorted(maps.Keys(forms)))
	}
}
