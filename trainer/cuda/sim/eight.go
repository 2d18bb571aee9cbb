package sim

import (
	"fmt"
	"math"

	"pretext/trainer/cuda/device"
)

// The 8-bit formats of the OCP 8-bit Floating Point Specification (OFP8), revision 1.0,
// table 1: E4M3 has bias 7 and no infinities, its only NaN has all bits of exponent and
// mantissa set; E5M2 has bias 15 and the infinities and NaNs of IEEE 754.
type eight struct {
	mantissa int // bits
	bias     int
	most     byte // code of the largest number
	nan      byte // code that a conversion gives
}

var (
	e4m3 = eight{mantissa: 3, bias: 7, most: 0x7e, nan: 0x7f}
	e5m2 = eight{mantissa: 2, bias: 15, most: 0x7b, nan: 0x7f}
)

// value returns the number of a code.
func (f eight) value(code byte) float32 {
	sign, rest := 1.0, code&0x7f
	if code&0x80 != 0 {
		sign = -1
	}
	switch {
	case rest > f.most && f == e5m2 && rest == 0x7c:
		return float32(math.Inf(int(sign)))
	case rest > f.most:
		return f32(nan32)
	}
	e, m := int(rest)>>f.mantissa, float64(int(rest)&(1<<f.mantissa-1))
	if e == 0 {
		return float32(sign * math.Ldexp(m, 1-f.bias-f.mantissa))
	}
	return float32(sign * math.Ldexp(m+float64(int(1)<<f.mantissa), e-f.bias-f.mantissa))
}

// code rounds v to the nearest number, ties to even. A number that is too large, and an
// infinity, becomes the largest one, as cvt.satfinite does.
func (f eight) code(v float32) byte {
	if v != v {
		return f.nan
	}
	sign := byte(b32(v) >> 24 & 0x80)
	size := math.Abs(float64(v))
	if size == 0 {
		return sign
	}
	if size >= float64(f.value(f.most)) {
		return sign | f.most
	}
	_, e := math.Frexp(size)                         // size < 2^e
	unit := max(e-1-f.mantissa, 1-f.bias-f.mantissa) // the exponent of the last digit
	digits := int(math.RoundToEven(math.Ldexp(size, -unit)))
	// Without subnormal numbers codes count on from one exponent to the next.
	return sign | byte((unit-(1-f.bias-f.mantissa))<<f.mantissa+digits)
}

// formatOf returns the format of an 8-bit type.
func formatOf(t DataType) eight {
	if t == device.Float8E4M3 {
		return e4m3
	}
	return e5m2
}

// checkEight returns a [*Fault] if cuBLASLt would refuse the product of 8-bit operands m:
// its documentation of cublasLtMatmul lists the types, the transpositions, and that sizes and
// addresses are multiples of 16.
func (m *Matmul) checkEight(k int) error {
	bad := func(format string, a ...any) error {
		return &Fault{Kind: BadMatmul, Kernel: "matmul", Detail: fmt.Sprintf(format, a...)}
	}
	switch {
	case !m.A.Type.Eight() || !m.B.Type.Eight() || m.A.Type == device.Float8E5M2 && m.B.Type == device.Float8E5M2,
		m.C.Type != m.D.Type || m.D.Type != BFloat16 && m.D.Type != Float32:
		return bad("types %d, %d to %d", m.A.Type, m.B.Type, m.D.Type)
	case !m.TransA || m.TransB:
		return bad("8-bit operands: A must be transposed, and B must not")
	case (m.D.Rows|m.D.Cols|k|m.A.LD|m.B.LD|m.D.LD)%16 != 0:
		return bad("8-bit operands of %d×%d times %d×%d: sizes must be multiples of 16", m.D.Rows, k, k, m.D.Cols)
	case m.Epilogue != None && m.Epilogue != Bias:
		return bad("epilogue %d of 8-bit operands", m.Epilogue)
	}
	return nil
}

// scales returns Alpha times the factors of the operands.
func (d *Device) scales(m Matmul) (float64, error) {
	product := float64(m.Alpha)
	if !m.A.Type.Eight() {
		return product, nil
	}
	for _, p := range []Pointer{m.ScaleA, m.ScaleB} {
		if p == 0 {
			return 0, &Fault{Kind: BadMatmul, Kernel: "matmul", Detail: "an 8-bit operand without a factor"}
		}
		v, err := d.matrix(Matrix{At: p, Type: Float32, Rows: 1, Cols: 1, LD: 1}, false)
		if err != nil {
			return 0, err
		}
		product *= v[0]
	}
	return product, nil
}
