package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// floatsOf runs the body of a kernel of one thread and returns the n floats that it stores at
// %rd0.
func floatsOf(t *testing.T, o Options, body string, n int) []float32 {
	t.Helper()
	d := New(o)
	p := alloc(t, d, "out", 4*n)
	text := strings.Replace(module(1, "ld.param.u64 %rd0, [p0];\n"+body), ".reg .pred", ".reg .f32 %f<200>;\n.reg .pred", 1)
	if err := launch(d, text, Config{}, p); err != nil {
		t.Fatal(err)
	}
	return get[float32](t, d, p, n)
}

func immediate(v float32) string { return fmt.Sprintf("0f%08X", b32(v)) }

// TestErrorsStayWithinTheManual holds the bounds of the manual: for some operands results
// differ, for none by more, and those of 0 and infinity are exact.
func TestErrorsStayWithinTheManual(t *testing.T) {
	inf := float32(math.Inf(1))
	operands := []float32{0, inf, 1e-30, 1e37}
	for i := range 50 {
		operands = append(operands, float32(0.03*float64(i*i+1)))
	}
	for _, c := range []struct {
		op              string
		f               func(float64) float64
		units, relative float64 // one of them
	}{
		{"ex2.approx.ftz.f32", math.Exp2, 2, 0}, {"ex2.approx.f32", math.Exp2, 2, 0}, {"rcp.approx.ftz.f32", rcp, 1, 0},
		{"sqrt.approx.f32", math.Sqrt, 0, 0x1p-23}, {"rsqrt.approx.f32", rsqrt, 0, 0x1.13p-23}, {"tanh.approx.f32", math.Tanh, 0, 0x1p-11},
		{"lg2.approx.f32", math.Log2, 0, 0x1p-22}, {"div.full.f32", func(x float64) float64 { return x / float64(float32(0.7)) }, 2, 0},
	} {
		body := ""
		for i, x := range operands {
			args := immediate(x)
			if c.op == "div.full.f32" {
				args += ", " + immediate(0.7)
			}
			body += fmt.Sprintf("%s %%f%d, %s;\nst.global.f32 [%%rd0+%d], %%f%d;\n", c.op, i, args, 4*i, i)
		}
		for seed := range uint64(13) {
			differ := 0
			for i, v := range floatsOf(t, Options{Errors: seed}, body, len(operands)) {
				got, exact := float64(v), c.f(float64(operands[i]))
				rounded := float64(float32(exact))
				off, bound := math.Abs(got-exact), c.relative*math.Abs(exact)
				if c.op[:3] == "lg2" {
					bound = max(bound, 0x1p-22)
				}
				if c.units > 0 {
					off, bound = math.Abs(got-rounded), c.units*(float64(math.Nextafter32(float32(rounded), math.MaxFloat32))-rounded)
				}
				switch {
				case got == rounded:
				case seed == 0 || i < 2 || off > bound:
					t.Errorf("%s of %v with seed %d is %v, want %v: off by %g, allowed %g", c.op, operands[i], seed, got, exact, off, bound)
				default:
					differ++
				}
			}
			if seed > 0 && differ < 8 {
				t.Errorf("%s with seed %d: only %d results differ", c.op, seed, differ)
			}
		}
	}
}

// TestContractionRoundsOnce subtracts 1 from a square that the product rounds, in all forms.
func TestContractionRoundsOnce(t *testing.T) {
	const x, last = 1 + 0x1p-13, 0x1p-26 // x² = 1 + 2^-12 + last
	one := immediate(1)
	for _, c := range []struct {
		sum   string
		exact float64 // what contraction adds to the sum
	}{
		{"add.f32 %f3, %f1, " + immediate(-1), last}, {"add.f32 %f3, " + immediate(-1) + ", %f1", last},
		{"sub.f32 %f3, %f1, " + one, last}, {"sub.f32 %f3, " + one + ", %f1", -last},
		{"add.rn.f32 %f3, %f1, " + immediate(-1), 0}, {"add.f32 %f3, %f2, " + immediate(-1), 0},
		{"mov.f32 %f1, %f2;\nadd.f32 %f3, %f1, " + immediate(-1), 0}, // the register has two values
	} {
		body := fmt.Sprintf("mov.f32 %%f0, %s;\nmul.f32 %%f1, %%f0, %%f0;\nmul.rn.f32 %%f2, %%f0, %%f0;\n%s;\nst.global.f32 [%%rd0], %%f3;", immediate(x), c.sum)
		want := floatsOf(t, Options{}, body, 1)[0]
		if math.Abs(float64(want)) != 0x1p-12 {
			t.Fatalf("%s: %v without contraction", c.sum, want)
		}
		var contracted []bool
		for seed := range uint64(16) {
			switch got := floatsOf(t, Options{Contract: seed + 1}, body, 1)[0]; {
			case got == want:
				contracted = append(contracted, false)
			case c.exact != 0 && float64(got) == float64(want)+c.exact:
				contracted = append(contracted, true)
			default:
				t.Errorf("%s with seed %d: %v", c.sum, seed+1, got)
			}
		}
		if slices.Contains(contracted, true) != (c.exact != 0) || !slices.Contains(contracted, false) {
			t.Errorf("%s: contracted by seed: %v", c.sum, contracted)
		}
	}
	// Of two products one is exact, and the difference is not 0.
	body := fmt.Sprintf("mov.f32 %%f0, %s;\nmul.f32 %%f1, %%f0, %%f0;\nmul.f32 %%f2, %%f0, %%f0;\nsub.f32 %%f3, %%f1, %%f2;\nst.global.f32 [%%rd0], %%f3;", immediate(x))
	seen := map[float32]bool{}
	for seed := range uint64(32) {
		seen[floatsOf(t, Options{Contract: seed + 1}, body, 1)[0]] = true
	}
	if len(seen) != 3 || !seen[0] || !seen[last] || !seen[-last] {
		t.Errorf("x² − x² is one of %v", seen)
	}
}

// TestSumsKeepSinglePrecision adds products of an mma and of a matrix product by many seeds:
// some sums differ, none by more than cutting every group of terms may cost.
func TestSumsKeepSinglePrecision(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 100
	var x, y [n]float64
	exact, size := 0.0, 0.0
	for i := range x {
		x[i], y[i] = math.Ldexp(1+float64(r.IntN(128))/128, r.IntN(16)), -math.Ldexp(1+float64(r.IntN(128))/128, -r.IntN(16))
		exact += x[i] * y[i]
		size += math.Abs(x[i] * y[i])
	}
	sums, differ := map[float64]bool{}, 0
	for seed := range uint64(20) {
		for _, typ := range []DataType{Float32, BFloat16} {
			sum := []float64{0}
			New(Options{Errors: seed}).addTerms(sum, x[:], y[:], typ)
			sums[sum[0]] = true
			if off := math.Abs(sum[0] - exact); off > 8*0x1p-23*size || seed > 0 && sum[0] != float64(float32(sum[0])) {
				t.Errorf("seed %d, type %d: %v, want %v: off by %g of %g", seed, typ, sum[0], exact, off, size)
			}
		}
	}
	for first := range n - 16 {
		var a, b [16]float32
		exact, size := 0.25, 0.25
		for i := range a {
			a[i], b[i] = float32(x[first+i]), float32(y[first+i])
			exact += x[first+i] * y[first+i]
			size += math.Abs(x[first+i] * y[first+i])
		}
		one, other := truncatedSum(2, 0.25, &a, &b), truncatedSum(3, 0.25, &a, &b)
		if one != other {
			differ++
		}
		if off := max(math.Abs(float64(one)-exact), math.Abs(float64(other)-exact)); off > 3*0x1p-23*size {
			t.Errorf("terms from %d: %v and %v, want %v", first, one, other, exact)
		}
	}
	if len(sums) < 4 || differ < 10 {
		t.Errorf("%d different sums, %d of an mma", len(sums), differ)
	}
}
