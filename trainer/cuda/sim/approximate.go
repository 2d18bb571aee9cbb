package sim

import (
	"math"
	"strings"
)

// An approximation is an instruction whose result may differ from the correctly rounded one.
type approximation struct {
	f           func(x, y float64) float64
	flush       bool                           // subnormal inputs and results become 0
	fromRounded bool                           // the bound is from the correctly rounded result
	bound       func(x, exact float64) float64 // the largest error, by the manual
}

// approximations are the approximate instructions, by opcode. The bounds are those of the
// manual "PTX ISA", release 9.1, sections 9.7.3.8 (div) to 9.7.3.22 (tanh).
var approximations = map[string]approximation{
	"div.full.f32":       {quotientOf, false, true, units(2)},
	"div.approx.f32":     {quotientOf, false, true, units(2)}, // for divisors of 2^-126 to 2^126
	"rcp.approx.ftz.f32": {unary(rcp), true, true, units(1)},
	"sqrt.approx.f32":    {unary(math.Sqrt), false, false, relative(0x1p-23)},
	"rsqrt.approx.f32":   {unary(rsqrt), false, false, relative(math.Exp2(-22.9))},
	"lg2.approx.f32":     {unary(math.Log2), false, false, logarithm},
	"lg2.approx.ftz.f32": {unary(math.Log2), true, false, logarithm},
	"ex2.approx.f32":     {unary(math.Exp2), false, true, units(2)},
	"ex2.approx.ftz.f32": {unary(math.Exp2), true, true, units(2)},
	"tanh.approx.f32":    {unary(math.Tanh), false, false, relative(0x1p-11)},
}

func unary(f func(float64) float64) func(x, y float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

func quotientOf(x, y float64) float64 { return x / y }

// units is a bound in units of the last place of the correctly rounded result.
func units(n float64) func(x, exact float64) float64 {
	return func(_, exact float64) float64 {
		y := math.Abs(float64(float32(exact)))
		return n * (float64(math.Nextafter32(float32(y), math.MaxFloat32)) - y)
	}
}

func relative(e float64) func(x, exact float64) float64 {
	return func(_, exact float64) float64 { return e * math.Abs(exact) }
}

func logarithm(x, exact float64) float64 {
	if x > 0.5 && x < 2 {
		return 0x1p-22
	}
	return 0x1p-22 * math.Abs(exact)
}

// withoutErrors holds the approximate instructions as forms that round correctly.
var withoutErrors = func() map[string]form {
	all := map[string]form{}
	for op, a := range approximations {
		all[op] = a.form(0, op)
	}
	return all
}()

// form returns the instruction with errors by a seed (see [Options.Errors]); without errors
// if the seed is 0.
func (a approximation) form(seed uint64, op string) form {
	one := func(x, y float32) float32 {
		if a.flush {
			return flush(a.near(flush(x), flush(y), seed))
		}
		return a.near(x, y, seed)
	}
	if strings.HasPrefix(op, "div.") {
		return float2(one)
	}
	return float1(func(x float32) float32 { return one(x, 0) })
}

// near returns f(x, y) with an error within its bound. As on a GPU the error depends on the
// operands alone. Results that the manual defines exactly have none: those of zeros and
// infinities, zeros, infinities and NaN.
func (a approximation) near(x, y float32, seed uint64) float32 {
	exact := a.f(float64(x), float64(y))
	r := float32(exact)
	if seed == 0 || x == 0 || x-x != 0 || r == 0 || r-r != 0 {
		return r
	}
	bound, from := a.bound(float64(x), exact), exact
	if a.fromRounded {
		from = float64(r)
	}
	off := float32(from + bound*share(seed, b32(x), b32(y)))
	for math.Abs(float64(off)-from) > bound { // rounding left the bound
		off = math.Nextafter32(off, r)
	}
	return off
}

// share returns which part of the largest error an instruction has, in [-1, 1]. One seed in
// four has every error as large and as high as it may be, one as low, and one either way;
// the others have any error.
func share(seed uint64, x, y uint32) float64 {
	switch seed % 4 {
	case 1:
		return 1
	case 2:
		return -1
	}
	h := mix(seed, uint64(x)<<32|uint64(y))
	if seed%4 == 3 {
		return 1 - 2*float64(h>>63)
	}
	return float64(int64(h)) * 0x1p-63
}

// mix returns a hash of two numbers, by the finalizer of SplitMix64.
func mix(a, b uint64) uint64 {
	h := a*0x9e3779b97f4a7c15 + b
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// cutBits are the bits of a float64 that a float32 has not.
const cutBits = 1<<29 - 1

// truncatedSum returns c + Σ x·y in another order than that of multiply, and cut to single
// precision instead of rounded, as tensor cores do: the manual promises single precision and
// no order. Eight products at a time are added to c; the seed chooses with which it begins.
func truncatedSum(seed uint64, c float32, x, y *[16]float32) float32 {
	for half := range 2 {
		k := (half ^ int(seed&1)) * 8
		x, y := (*[8]float32)(x[k:]), (*[8]float32)(y[k:])
		s0, s1 := float64(x[0]*y[0]), float64(x[1]*y[1]) // products of 16-bit numbers are exact
		for i := 2; i < 8; i += 2 {
			s0 += float64(x[i] * y[i])
			s1 += float64(x[i+1] * y[i+1])
		}
		c = float32(f64(b64(float64(c)+(s0+s1)) &^ cutBits))
	}
	return c
}

// addTerms adds a row of A times B (len(a), len(sum)) to sum, in double precision. With
// Options.Errors it adds the terms from another place, and every 16 terms the sums lose what
// single precision does not hold: products of 16-bit types are cut, as in truncatedSum.
func (d *Device) addTerms(sum, a, b []float64, t DataType) {
	const step = 16
	seed := d.options.Errors
	if seed == 0 {
		addProducts(sum, a, b)
		return
	}
	first := int(seed%uint64(len(a)/step+1)) * step
	for _, part := range [][2]int{{first, len(a)}, {0, first}} {
		for at := part[0]; at < part[1]; at += step {
			end := min(at+step, part[1])
			addProducts(sum, a[at:end], b[at*len(sum):])
			for j, s := range sum {
				if t != Float32 {
					s = f64(b64(s) &^ cutBits)
				}
				sum[j] = float64(float32(s))
			}
		}
	}
}

// addProducts adds a row of A times B (len(a), len(sum)) to sum, one product after the other.
func addProducts(sum, a, b []float64) {
	n := len(sum)
	for ; len(a) >= 4; a, b = a[4:], b[4*n:] {
		a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
		b0, b1, b2, b3 := b[:n], b[n:][:n], b[2*n:][:n], b[3*n:][:n]
		for j, s := range sum {
			s += a0 * b0[j]
			s += a1 * b1[j]
			s += a2 * b2[j]
			s += a3 * b3[j]
			sum[j] = s
		}
	}
	for l, v := range a {
		for j, w := range b[l*n:][:n] {
			sum[j] += v * w
		}
	}
}
