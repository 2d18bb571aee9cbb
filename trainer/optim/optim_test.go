package optim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"pretext/trainer"
	"pretext/trainer/optim"
)

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

func TestAdamWTakesGooglesSteps(t *testing.T) {
	o := trainer.DefaultOptimizer(trainer.AdamW)
	w, m, v := []float64{2}, []float64{0}, []float64{0}
	// A gradient of norm 4 is clipped to 1; by hand from optimization.py.
	optim.Update(optim.For[float64](o, 0, 0.1, 4).Decaying(true), w, m, v, []float64{4})
	near(t, "m", m[0], 0.1)
	near(t, "v", v[0], 0.001)
	near(t, "w", w[0], 2-0.1*(0.1/(math.Sqrt(0.001)+1e-6)+0.01*2))
	before := w[0]
	optim.Update(optim.For[float64](o, 1, 0.1, 0.5).Decaying(false), w, m, v, []float64{-0.5})
	near(t, "m", m[0], 0.09-0.05)
	near(t, "v", v[0], 0.000999+0.00025)
	near(t, "w", w[0], before-0.1*(m[0]/(math.Sqrt(v[0])+1e-6)))
}

func TestLAMBTakesNVIDIAsSteps(t *testing.T) {
	o := trainer.DefaultOptimizer(trainer.LAMB)
	w, m, v, g := []float64{3, 4}, []float64{0, 0}, []float64{0, 0}, []float64{0.3, -0.4}
	c := optim.For[float64](o, 0, 0.1, 0.5).Decaying(true)
	optim.Update(c, w, m, v, g)
	// The first step's corrected moments are g and g², so the direction is sign(g) + decay·w but for epsilon.
	want := []float64{0.3/(0.3+1e-6) + 0.03, -0.4/(0.4+1e-6) + 0.04}
	near(t, "direction 0", g[0], want[0])
	near(t, "direction 1", g[1], want[1])
	near(t, "weights are not moved yet", w[0], 3)
	ratio := optim.TrustRatio(optim.SumSquares(w), optim.SumSquares(g))
	near(t, "ratio", ratio, 5/math.Hypot(want[0], want[1]))
	optim.Move(0.1*ratio, w, g)
	near(t, "w", w[0], 3-0.1*ratio*want[0])
}

func TestBiasCorrectionCountsFromOne(t *testing.T) {
	o := trainer.DefaultOptimizer(trainer.AdamW)
	o.BiasCorrection = true
	for step := range int64(5) {
		c := optim.For[float64](o, step, 1, 0)
		near(t, "first", c.C1, 1/(1-math.Pow(0.9, float64(step+1))))
		near(t, "second", c.C2, 1/(1-math.Pow(0.999, float64(step+1))))
	}
	o.BiasCorrection = false
	if c := optim.For[float64](o, 3, 1, 0); c.C1 != 1 || c.C2 != 1 {
		t.Errorf("without correction: %+v", c)
	}
}

func TestTrustRatioIsOneWhereANormIsZero(t *testing.T) {
	for _, c := range [][3]float64{{0, 4, 1}, {4, 0, 1}, {0, 0, 1}, {4, 16, 0.5}} {
		near(t, "ratio", optim.TrustRatio(c[0], c[1]), c[2])
	}
}

func TestClippingBringsTheNormDownAndNeverUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := trainer.Optimizer{ClipNorm: rapid.Float64Range(0, 10).Draw(t, "clip")}
		norm := rapid.Float64Range(0, 100).Draw(t, "norm")
		k := optim.Clip(o, norm)
		if k > 1 || k <= 0 || o.ClipNorm > 0 && k*norm > o.ClipNorm*(1+1e-12) || (o.ClipNorm == 0 || norm <= o.ClipNorm) && k != 1 {
			t.Fatalf("clip %v, norm %v: factor %v", o.ClipNorm, norm, k)
		}
	})
}

func TestUpdatingInPartsIsUpdatingTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() (x [2][]float32) {
		for range 101 {
			v := float32(math.Abs(r.NormFloat64()))
			x[0], x[1] = append(x[0], v), append(x[1], v)
		}
		return x
	}
	w, m, v, g := random(), random(), random(), random()
	c := optim.For[float32](trainer.DefaultOptimizer(trainer.AdamW), 3, 0.1, 2).Decaying(true)
	optim.Update(c, w[0], m[0], v[0], g[0])
	for _, p := range [][2]int{{0, 40}, {40, 41}, {41, 101}} {
		optim.Update(c, w[1][p[0]:p[1]], m[1][p[0]:p[1]], v[1][p[0]:p[1]], g[1][p[0]:p[1]])
	}
	for i := range w[0] {
		if w[0][i] != w[1][i] || m[0][i] != m[1][i] || v[0][i] != v[1][i] {
			t.Fatalf("element %d differs", i)
		}
	}
}

func Example() {
	o := trainer.DefaultOptimizer(trainer.AdamW)
	w, m, v := []float64{1}, []float64{0}, []float64{0}
	for step := range int64(3) {
		g := []float64{0.5}
		norm := math.Sqrt(optim.SumSquares(g))
		optim.Update(optim.For[float64](o, step, 1e-3, norm).Decaying(true), w, m, v, g)
		fmt.Printf("%.6f\n", w[0])
	}
	// Output:
	// 0.996828
	// 0.992569
	// 0.987609
}

func BenchmarkUpdate(b *testing.B) {
	n := 1 << 14
	w, m, v, g := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	c := optim.For[float32](trainer.DefaultOptimizer(trainer.AdamW), 3, 0.1, 2)
	b.SetBytes(int64(4 * n))
	b.ReportAllocs()
	for b.Loop() {
		optim.Update(c, w, m, v, g)
	}
}

// StableAdamW's factor, by hand: the root of the mean of q²/max(v̂, ε²), where it is above 1.
func TestStableAdamWSlowsWhereGradientsGrow(t *testing.T) {
	o := trainer.DefaultOptimizer(trainer.StableAdamW)
	c := optim.For[float64](o, 0, 0.1, 0)
	v, g := []float64{0.01, 0, 4}, []float64{2, 3, -1}
	want := 0.0
	for i, q := range g {
		q *= c.Scale
		want += q * q / max(c.C2*(o.Beta2*v[i]+(1-o.Beta2)*q*q), o.Epsilon*o.Epsilon)
	}
	near(t, "excess", optim.Excess(c, v, g), want)
	near(t, "factor of large gradients", optim.Damping(12, 3), 0.5)
	near(t, "factor of small gradients", optim.Damping(2, 3), 1)
}
