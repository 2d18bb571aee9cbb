package portable

import (
	"math"
	"math/big"
	"sync"
)

// The functions of this file are within three units in the last place of the exact value.

// Sin returns the sine of x radians.
func Sin(x float64) float64 {
	quarter, r := reduced(x)
	return quarterWave(quarter, r)
}

// Cos returns the cosine of x radians.
func Cos(x float64) float64 {
	quarter, r := reduced(x)
	return quarterWave(quarter+1, r)
}

// Tan returns the tangent of x radians.
func Tan(x float64) float64 {
	quarter, r := reduced(x)
	return quarterWave(quarter, r) / quarterWave(quarter+1, r)
}

// quarterWave returns the sine of r + quarter·π/2, where |r| ≤ π/4.
func quarterWave(quarter int, r float64) float64 {
	if r != r {
		return r // operations choose between the signs of two operands that are not numbers
	}
	var v float64
	if z := float64(r * r); quarter&1 == 0 {
		v = r + float64(float64(r*z)*series(z, 1))
	} else {
		v = 1 + float64(z*series(z, 0))
	}
	if quarter&2 != 0 {
		return -v
	}
	return v
}

// series returns the Taylor series of (sin r − r)/r³ if odd is 1 and of (cos r − 1)/r² if
// it is 0, where z = r² ≤ (π/4)². What it leaves out is below 2^-63 of the result.
func series(z, odd float64) float64 {
	v := 1.0
	for n := 20 + odd; n > 2+odd; n -= 2 { // 1 − z/(n(n−1)) · (1 − z/((n+2)(n+1)) · …)
		v = 1 - float64(z*v)/(n*(n-1))
	}
	return -v / ((2 + odd) * (1 + odd))
}

// reduced returns the quarters of a circle in x, modulo 4, and the rest, |rest| ≤ π/4.
func reduced(x float64) (quarter int, rest float64) {
	switch {
	case math.Abs(x) <= math.Pi/4:
		return 0, x
	case math.IsNaN(x) || math.IsInf(x, 0):
		return 0, math.NaN()
	}
	// x can have 1,024 bits before the point; the rest of 1,280 is for a small rest and its
	// mantissa.
	half := halfPi()
	exact := new(big.Float).SetPrec(precision).SetFloat64(x)
	turns := new(big.Float).SetPrec(precision).Quo(exact, half)
	turns.Add(turns, big.NewFloat(math.Copysign(0.5, x)))
	whole, _ := turns.Int(nil)
	exact.Sub(exact, new(big.Float).SetPrec(precision).Mul(new(big.Float).SetInt(whole), half))
	rest, _ = exact.Float64()
	return int(new(big.Int).And(whole, big.NewInt(3)).Int64()), rest
}

// precision in bits of π: those before the point of the largest number, those of the
// smallest rest, and those of its mantissa, and some more.
const precision = 1280

// halfPi is π/2, by Machin's formula: π/4 = 4·arccot 5 − arccot 239.
var halfPi = sync.OnceValue(func() *big.Float {
	one := new(big.Int).Lsh(big.NewInt(1), precision+64)
	arccot := func(n int64) *big.Int {
		sum, power, square := new(big.Int), new(big.Int).Quo(one, big.NewInt(n)), big.NewInt(n*n)
		for k := int64(1); power.Sign() != 0; k += 2 {
			term := new(big.Int).Quo(power, big.NewInt(k))
			if k&2 != 0 {
				term.Neg(term)
			}
			sum.Add(sum, term)
			power.Quo(power, square)
		}
		return sum
	}
	sum := new(big.Int).Mul(arccot(5), big.NewInt(8))
	sum.Sub(sum, new(big.Int).Mul(arccot(239), big.NewInt(2)))
	return new(big.Float).SetPrec(precision).SetMantExp(new(big.Float).SetInt(sum), -(precision + 64))
})

// Atan returns the arctangent of x in radians.
func Atan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x || x == 0:
		return x
	case a > 1:
		return math.Copysign(math.Pi/2-smallAtan(1/a), x)
	}
	return math.Copysign(smallAtan(a), x)
}

// smallAtan returns the arctangent of a, which is from 0 to 1: that of the nearest c/8, plus
// that of (a − c/8)/(1 + a·c/8), which is at most 1/16.
func smallAtan(a float64) float64 {
	c := math.Round(8 * a)
	eighths := float64(c / 8) // exact
	d := (a - eighths) / (1 + float64(a*eighths))
	z := float64(d * d)
	v := 0.0
	for n := 17.0; n >= 3; n -= 2 {
		v = 1/n - float64(z*v)
	}
	return atanOfEighths[int(c)] + (d - float64(float64(d*z)*v))
}

// atanOfEighths are the arctangents of 0/8 to 8/8.
var atanOfEighths = [9]float64{0, 0.12435499454676144, 0.24497866312686414, 0.3587706702705722, 0.4636476090008061,
	0.5585993153435624, 0.6435011087932844, 0.7188299996216245, math.Pi / 4}

// Atan2 returns the angle of the point x, y in radians, from −π to π.
func Atan2(y, x float64) float64 {
	switch {
	case x != x || y != y:
		return math.NaN()
	case y == 0 && (x > 0 || x == 0 && !math.Signbit(x)):
		return y
	case y == 0:
		return math.Copysign(math.Pi, y)
	case x == 0:
		return math.Copysign(math.Pi/2, y)
	case math.IsInf(x, 0) && math.IsInf(y, 0):
		if x > 0 {
			return math.Copysign(math.Pi/4, y)
		}
		return math.Copysign(3*math.Pi/4, y)
	}
	a := Atan(math.Abs(y / x))
	if x < 0 {
		a = math.Pi - a
	}
	return math.Copysign(a, y)
}

// Asin returns the arcsine of x in radians.
func Asin(x float64) float64 {
	if x == 0 {
		return x
	}
	return Atan2(x, math.Sqrt((1-x)*(1+x)))
}

// Acos returns the arccosine of x in radians.
func Acos(x float64) float64 { return Atan2(math.Sqrt((1-x)*(1+x)), x) }

// Sinh returns the hyperbolic sine of x.
func Sinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case a < 0.5: // Taylor's series
		z := float64(x * x)
		v := 1.0
		for n := 15.0; n >= 3; n -= 2 {
			v = 1 + float64(z*v)/(n*(n-1))
		}
		return float64(x * v)
	case a > 700: // e^a would be too large sooner than half of it
		e := Exp(a / 2)
		return math.Copysign(float64(float64(0.5*e)*e), x)
	}
	e := Exp(a)
	return math.Copysign(float64(0.5*e)-0.5/e, x)
}

// Cosh returns the hyperbolic cosine of x.
func Cosh(x float64) float64 {
	a := math.Abs(x)
	if a > 700 {
		e := Exp(a / 2)
		return float64(float64(0.5*e) * e)
	}
	e := Exp(a)
	return float64(0.5*e) + 0.5/e
}

// Tanh returns the hyperbolic tangent of x.
func Tanh(x float64) float64 {
	if math.Abs(x) > 22 {
		return math.Copysign(1, x)
	}
	return Sinh(x) / Cosh(x)
}
