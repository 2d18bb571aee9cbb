package sim

import (
	"encoding/binary"
	"math"

	"pretext/trainer/cuda/device"
)

func f32(v uint32) float32 { return math.Float32frombits(v) }
func b32(v float32) uint32 { return math.Float32bits(v) }
func f64(v uint64) float64 { return math.Float64frombits(v) }
func b64(v float64) uint64 { return math.Float64bits(v) }

// nan32 holds the bits of the NaN that PTX instructions return in single
// precision (its "canonical NaN").
const nan32 = 0x7fffffff

// fma32 returns a·b + c with a single rounding, to the nearest float32.
func fma32(a, b, c float32) float32 {
	return fused(float64(a)*float64(b), float64(c)) // the product is exact
}

// fused returns p + c with a single rounding, to the nearest float32. p is the product of two
// float32, and c is a float32.
func fused(p, c float64) float32 {
	s := p + c
	// Rounding to float64 and then to float32 can be wrong if the float64 lies half way between
	// two float32, or if the result is a subnormal float32, which has fewer bits.
	if math.Float64bits(s)&(1<<29-1) != 1<<28 && (math.Abs(s) >= 0x1p-126 || s == 0) {
		return float32(s)
	}
	return fmaOdd(p, c, s)
}

// fmaOdd returns p + c with a single rounding to float32; s is p + c rounded to float64. If
// s is not exact, fmaOdd makes its last bit odd. Then s is neither a float32 nor half way
// between two float32, so that rounding it to float32 is correct.
func fmaOdd(p, c, s float64) float32 {
	t := s - p
	rest := (p - (s - t)) + (c - t) // s + rest is the exact sum; NaN if the sum is infinite or NaN
	u := b64(s)
	switch {
	case u&1 == 1 || rest == 0 || rest != rest:
	case rest > 0 == (s > 0):
		u++
	default:
		u--
	}
	return float32(f64(u))
}

// fmaDown returns a·b + c rounded towards −∞.
func fmaDown(a, b, c float32) float32 {
	p := float64(a) * float64(b) // exact
	s := p + float64(c)
	t := s - p
	rest := (p - (s - t)) + (float64(c) - t) // s + rest is the exact sum
	r := float32(s)
	if float64(r) > s || float64(r) == s && rest < 0 {
		return math.Nextafter32(r, float32(math.Inf(-1)))
	}
	return r
}

// toBF16 rounds f to the nearest bfloat16, ties to even, and returns the bits.
func toBF16(f float32) uint32 {
	u := b32(f)
	if u&0x7fffffff > 0x7f800000 {
		return 0x7fff
	}
	return (u + 0x7fff + u>>16&1) >> 16
}

// toF16 rounds f to the nearest float16, ties to even, and returns the bits. A
// value that is too large becomes an infinity.
func toF16(f float32) uint32 {
	u := b32(f)
	sign, e, m := u>>16&0x8000, int(u>>23&255)-127, u&0x7fffff
	switch {
	case e == 128 && m != 0:
		return 0x7fff
	case e > 15:
		return sign | 0x7c00
	case e >= -14:
		h := uint32(e+15)<<10 | m>>13
		return sign | (h + round(m&0x1fff, 0x1000, h))
	case e >= -25:
		m |= 0x800000
		shift := uint32(-e - 1) // 14 bits for e = -15, 24 for -25
		h := m >> shift
		return sign | (h + round(m&(1<<shift-1), 1<<(shift-1), h))
	}
	return sign
}

// round returns 1 if h, the value without the removed bits, must be rounded up,
// and 0 otherwise: cut holds the removed bits and half is their half-way value.
// Ties go to even.
func round(cut, half, h uint32) uint32 {
	if cut > half || cut == half && h&1 == 1 {
		return 1
	}
	return 0
}

// fromF16 converts the bits of a float16 to float32.
func fromF16(h uint32) float32 {
	sign, e, m := h&0x8000<<16, h>>10&31, h&0x3ff
	switch e {
	case 31:
		if m != 0 {
			return f32(nan32)
		}
		return f32(sign | 0x7f800000)
	case 0:
		v := float32(m) * 0x1p-24
		return f32(sign | b32(v))
	}
	return f32(sign | (e+112)<<23 | m<<13)
}

// flush returns zero with the sign of f if f is subnormal, and otherwise f. PTX
// does this in instructions with .ftz.
func flush(f float32) float32 {
	if b32(f)&0x7f800000 == 0 {
		return f32(b32(f) & 0x80000000)
	}
	return f
}

// load decodes the element at the start of b.
func load(t DataType, b []byte) float32 {
	switch t {
	case BFloat16:
		return f32(uint32(binary.LittleEndian.Uint16(b)) << 16)
	case Float16:
		return fromF16(uint32(binary.LittleEndian.Uint16(b)))
	case device.Float8E4M3, device.Float8E5M2:
		return formatOf(t).value(b[0])
	}
	return f32(binary.LittleEndian.Uint32(b))
}

// save encodes v, rounded to type t, at the start of b.
func save(t DataType, b []byte, v float32) {
	switch t {
	case BFloat16:
		binary.LittleEndian.PutUint16(b, uint16(toBF16(v)))
	case Float16:
		binary.LittleEndian.PutUint16(b, uint16(toF16(v)))
	case device.Float8E4M3, device.Float8E5M2:
		b[0] = formatOf(t).code(v)
	default:
		binary.LittleEndian.PutUint32(b, b32(v))
	}
}
