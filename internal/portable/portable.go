// Package portable has elementary functions whose results have the same bits on every
// processor. The results of package math can differ in the last bit: some architectures
// have versions in assembly, on some the compiler fuses a product and a sum into one
// operation with one rounding (FMA), and math.Exp selects its method by the processor.
//
// All values that are written to a data set are computed with these functions. Code that
// adds to a product writes float64(x*y)+z: by the language definition the conversion rounds
// x*y, so the compiler cannot fuse it. `make arm64` looks for fused operations in this code.
//
//	score := portable.Log(n) - portable.Log(total)
//
// The results are within one unit in the last place of the exact value, as in package math, and
// equal those of package math of Go 1.26 on amd64 processors with FMA. Functions of angles and
// hyperbolic functions are within three units; they can differ from those of package math.
package portable

import "math"

// ln 2 as a sum of two parts. The first has 32 significant bits, so that its products with
// exponents are exact. The parts, and the coefficients of atanh below, are those of
// e_log.c in FreeBSD's msun.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// Log returns the natural logarithm of x.
func Log(x float64) float64 {
	switch {
	case x == 0:
		return math.Inf(-1)
	case !(x > 0):
		return math.NaN()
	case math.IsInf(x, 1):
		return x
	}
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction, exponent = 2*fraction, exponent-1
	}
	f, k := fraction-1, float64(exponent)
	half := halfSquare(f)
	s := f / (2 + f)
	z := s * s
	w := z * z
	odd := z * (l1 + float64(w*(l3+float64(w*(l5+float64(w*l7))))))
	even := w * (l2 + float64(w*(l4+float64(w*l6))))
	rest := float64(s*(half+(float64(odd)+float64(even)))) + float64(k*ln2Low)
	return float64(k*ln2High) - ((half - rest) - f)
}

// Coefficients, from e_log.c, of a polynomial in s² for (log(1+f) − 2s)/s, where
// s = f/(2+f).
const (
	l1 = 6.666666666666735130e-01
	l2 = 3.999999999940941908e-01
	l3 = 2.857142874366239149e-01
	l4 = 2.222219843214978396e-01
	l5 = 1.818357216161805012e-01
	l6 = 1.531383769920937332e-01
	l7 = 1.479819860511658591e-01
)

// Log1p returns the natural logarithm of 1+x, where x is from 0 to 1.
func Log1p(x float64) float64 {
	switch {
	case x < 1.0/(1<<54):
		return x
	case x < 1.0/(1<<29):
		return x - float64(x*x*0.5)
	case x < math.Sqrt2-1:
		return x - (halfSquare(x) - logRest(x))
	case x == 1:
		return ln2High + ln2Low
	}
	u := 1 + x
	if u < math.Sqrt2 { // rounding put 1+x on the other side of √2
		f := u - 1
		return f - (halfSquare(f) - logRest(f))
	}
	f, lost := float64(u/2)-1, (x-(u-1))/u // lost: the rounding error of 1+x
	return ln2High - ((halfSquare(f) - (logRest(f) + (ln2Low + lost))) - f)
}

func halfSquare(f float64) float64 { return float64(0.5 * f * f) }

// logRest returns f²/2 − f + log(1+f).
func logRest(f float64) float64 {
	s := f / (2 + f)
	z := s * s
	r := float64(z * l7)
	for _, c := range [...]float64{l6, l5, l4, l3, l2, l1} {
		r = float64(z * (c + r))
	}
	return float64(s * (halfSquare(f) + r))
}

// Log10 returns the decimal logarithm of x.
func Log10(x float64) float64 { return float64(Log(x) * (1 / math.Ln10)) }

// Exp returns e to the power of x.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return math.NaN()
	case x > 7.09782712893384e+02:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	n := math.RoundToEven(x * math.Log2E)
	r := math.FMA(-n, expLn2High, x)
	r = float64(math.FMA(-n, expLn2Low, r) * 0.0625)
	// The Taylor series of exp(r) − 1. From exp(r) − 1 follows exp(2r) − 1; this
	// doubling is done four times.
	p := math.FMA(1./40320, r, 1./5040)
	p = math.FMA(p, r, 1./720)
	p = math.FMA(p, r, 1./120)
	p = math.FMA(p, r, 1./24)
	p = math.FMA(p, r, 1./6)
	p = math.FMA(p, r, 0.5)
	p = math.FMA(p, r, 1)
	r = float64(r * p)
	r = float64(r * (2 + r))
	r = float64(r * (2 + r))
	r = float64(r * (2 + r))
	r = math.FMA(2+r, r, 1)
	if n < -1021 || n > 1022 {
		return math.Ldexp(r, int(n))
	}
	return float64(r * math.Float64frombits(uint64(int64(n)+1023)<<52))
}

// ln 2 as a sum of two parts. The first can have all 53 bits, because FMA does not round
// products.
const (
	expLn2High = 0.69314718055966295651160180568695068359375
	expLn2Low  = 0.28235290563031577122588448175013436025525412068e-12
)

// Pow returns x to the power of y, both from 0 to 1.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x == 0 || y == 1:
		return x
	case y == 0.5:
		return math.Sqrt(x)
	case y > 0.5:
		return float64(Exp((y-1)*Log(x)) * x)
	}
	return Exp(y * Log(x))
}
