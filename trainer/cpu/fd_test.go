package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
	"pretext/trainer/dropout"
)

// smallConfig has odd sizes everywhere, so that no two can be confused.
func smallConfig(act trainer.Activation) trainer.Config {
	return trainer.Config{
		VocabSize: 37, HiddenSize: 12, Layers: 2, AttentionHeads: 3, IntermediateSize: 20, Activation: act,
		HiddenDropout: 0.2, AttentionDropout: 0.3, MaxPositions: 40, Segments: 2, InitializerRange: 0.3, LayerNormEps: 1e-12,
	}
}

// randomSequence makes a sequence with the labels of every head.
func randomSequence(r *rand.Rand, c trainer.Config, n, masked int, position int64) trainer.Sequence {
	s := trainer.Sequence{NSPLabel: int32(r.IntN(2)), Position: position}
	for i := range n {
		s.IDs = append(s.IDs, int32(r.IntN(c.VocabSize)))
		s.Segments = append(s.Segments, int32(2*i/n))
	}
	for range masked { // the same token may be masked twice
		s.MaskedPositions = append(s.MaskedPositions, int32(r.IntN(n)))
		s.MaskedIDs = append(s.MaskedIDs, int32(r.IntN(c.VocabSize)))
		s.MaskedWeights = append(s.MaskedWeights, 1)
	}
	return s
}

// ragged makes a batch of sequences of given lengths, a quarter of the tokens
// masked, the second sequence without any.
func ragged(r *rand.Rand, c trainer.Config, lengths ...int) *trainer.Batch {
	b := &trainer.Batch{}
	for i, n := range lengths {
		masked := (n + 3) / 4
		if i == 1 {
			masked = 0
		}
		b.Append(randomSequence(r, c, n, masked, int64(i)+1<<33))
		start := int32(r.IntN(n))
		b.Labels = append(b.Labels, int32(r.IntN(3)))
		b.Scores = append(b.Scores, r.Float32()*3)
		b.Starts, b.Ends = append(b.Starts, start), append(b.Ends, start+int32(r.IntN(n-int(start))))
	}
	return b
}

func limitsOf(b *trainer.Batch, p trainer.Precision) trainer.Options {
	return trainer.Options{
		Tokens: b.Tokens(), Sequences: b.Sequences(), Masked: b.Masked(), Precision: p, Train: true, Seed: 99,
		Optimizer: trainer.DefaultOptimizer(trainer.AdamW),
	}
}

// openRandom opens a model in which no parameter is zero or one.
func openRandom[T kernel.Float](t testing.TB, c trainer.Config, h trainer.Heads, o trainer.Options, back Backend) *model[T] {
	t.Helper()
	opened, err := back.Open(c, h, o)
	if err != nil {
		t.Fatal(err)
	}
	m := opened.(*model[T])
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.params.w {
		m.params.w[i] = T(0.3 * r.NormFloat64())
	}
	return m
}

// lossWithDropout returns the loss whose gradient Accumulate computes.
func lossWithDropout(m *model[float64], b *trainer.Batch, coef trainer.Coef) float64 {
	m.encoder.forward(b, trainer.OutputHidden, true) // all rows of the last layer, which Accumulate does without
	p := m.pass(b, &trainer.Outputs{})
	p.drop = true
	s := m.heads.forward(p)
	return coef.MLM*s.MLMLoss + coef.NSP*s.NSPLoss + coef.Label*s.LabelLoss
}

// derivative returns f'(0) by finite differences of fourth order.
func derivative(f func(x float64) float64) float64 {
	const e = 1e-4
	return (8*(f(e)-f(-e)) - (f(2*e) - f(-2*e))) / (12 * e)
}

// checkDerivative returns how far a derivative is off, of the larger of its size and 1e-2.
func checkDerivative(t *testing.T, name string, got, want float64) float64 {
	t.Helper()
	d := math.Abs(got - want)
	if !(d <= 1e-7*max(math.Abs(want), 1e-2)) {
		t.Errorf("%s: gradient %.12g, by differences %.12g, apart by %.3g", name, got, want, d)
	}
	return d / max(math.Abs(want), 1e-2)
}

func TestWholeModelGradientEqualsFiniteDifferences(t *testing.T) {
	cases := []struct {
		name   string
		heads  trainer.Heads
		act    trainer.Activation
		padded bool
	}{
		{"pretraining", trainer.PretrainHeads(), trainer.GELUNew, false},
		{"masked LM only", trainer.Heads{MLM: true}, trainer.GELU, false},
		{"classification", trainer.Heads{Labels: 3}, trainer.GELU, true},
		{"regression", trainer.Heads{Regression: true}, trainer.GELUTanh, false},
		{"span", trainer.Heads{Span: true}, trainer.GELUNew, true},
		{"all at once", trainer.Heads{MLM: true, NSP: true, Labels: 3, Span: true}, trainer.GELU, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkModel(t, smallConfig(c.act), c.heads, c.padded) })
	}
}

func checkModel(t *testing.T, c trainer.Config, h trainer.Heads, padded bool) {
	r := rand.New(rand.NewPCG(3, 4))
	b := ragged(r, c, 7, 3, 34, 1)
	if padded {
		b.VisibleKeys = []int32{5, 3, 20, 1}
	}
	m := openRandom[float64](t, c, h, limitsOf(b, trainer.Float64), Backend{Threads: 1})
	coef := b.Counts(h).Coef()
	if err := m.Accumulate(b, coef, true); err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i, s := range m.params.layout.Specs {
		w := m.params.w[m.params.layout.Offset[i] : m.params.layout.Offset[i]+s.Size()]
		start, direction := append([]float64{}, w...), make([]float64, len(w))
		got := 0.0
		for j := range w {
			direction[j] = r.NormFloat64() / math.Sqrt(float64(len(w)))
			got += direction[j] * m.params.g[m.params.layout.Offset[i]+j]
		}
		want := derivative(func(x float64) float64 {
			for j := range w {
				w[j] = start[j] + x*direction[j]
			}
			return lossWithDropout(m, b, coef)
		})
		copy(w, start)
		worst = max(worst, checkDerivative(t, s.Name, got, want))
	}
	t.Logf("%d tensors, the worst derivative off by %.2g", len(m.params.layout.Specs), worst)
}

// modernConfig is a ModernBERT model of odd sizes, whose window bites; the last layer is local.
func modernConfig() trainer.Config {
	c := smallConfig(trainer.GELU)
	classifier := 0.25
	c.Layers, c.Segments, c.LayerNormEps, c.ClassifierDropout = 3, 0, 1e-5, &classifier
	c.Modern = &trainer.Modern{Local: []bool{true, false, true}, Window: 9, GlobalTheta: 50, LocalTheta: 7, OutputDropout: 0.15, FeedForwardDropout: 0.35, Cutoff: 2}
	return c
}

func TestModernModelGradientEqualsFiniteDifferences(t *testing.T) {
	cases := map[string]struct {
		heads  trainer.Heads
		change func(c *trainer.Config)
	}{
		"pretraining":     {trainer.Heads{MLM: true}, func(*trainer.Config) {}},
		"tanh, no window": {trainer.Heads{MLM: true}, func(c *trainer.Config) { c.Activation, c.Modern.Window = trainer.GELUNew, 1<<30 }},
		"a window of 0":   {trainer.Heads{MLM: true}, func(c *trainer.Config) { c.Modern.Window = 0 }},
		"one layer":       {trainer.Heads{MLM: true}, func(c *trainer.Config) { c.Layers, c.Modern.Local = 1, []bool{true} }},
		"classification":  {trainer.Heads{Labels: 3}, func(*trainer.Config) {}},
		"mean":            {trainer.Heads{Labels: 3}, func(c *trainer.Config) { c.Modern.MeanPooling = true }},
		"regression":      {trainer.Heads{Regression: true}, func(c *trainer.Config) { c.Modern.Window = 3 }},
		"span":            {trainer.Heads{Span: true}, func(*trainer.Config) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := modernConfig()
			tc.change(&c)
			checkModel(t, c, tc.heads, false)
		})
	}
}

func TestEveryOperationsGradientEqualsFiniteDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	const n = 11
	x, y, gain := random(n), random(n), random(n)
	moved := func(i int, e float64) []float64 {
		z := append([]float64{}, x...)
		z[i] += e
		return z
	}
	check := func(name string, gradient []float64, f func(x []float64) float64) {
		for i := range x {
			checkDerivative(t, fmt.Sprintf("%s, element %d", name, i), gradient[i], derivative(func(e float64) float64 { return f(moved(i, e)) }))
		}
	}
	set, err := kernel.For[float64](kernel.Plain)
	if err != nil {
		t.Fatal(err)
	}
	m := &compute[float64]{set: set, config: trainer.Config{LayerNormEps: 1e-12}}

	for _, tanh := range []bool{false, true} {
		g := append([]float64{}, y...)
		set.GELUGrad(g, x, tanh)
		check(fmt.Sprintf("gelu, tanh %v", tanh), g, func(x []float64) float64 {
			z := make([]float64, n)
			set.GELU(z, x, tanh)
			return dot(z, y)
		})
	}

	probabilities, dscores := append([]float64{}, x...), append([]float64{}, y...)
	m.softmax(probabilities, 0.7)
	set.SoftmaxGrad(dscores, probabilities, 0.7)
	check("softmax", dscores, func(x []float64) float64 {
		m.softmax(x, 0.7)
		return dot(x, y)
	})

	logits := append([]float64{}, x...)
	m.crossEntropy(logits, 4, 1.7)
	check("cross entropy", logits, func(x []float64) float64 { return 1.7 * m.crossEntropy(x, 4, 0).loss })

	p := &norm[float64]{gain: gain, bias: random(n)}
	out := normed[float64]{y: make([]float64, n), xhat: make([]float64, n), scale: make([]float64, 1)}
	m.normRow(0, x, p, &out)
	dx := make([]float64, n)
	set.NormGrad(dx, y, out.xhat, gain, out.scale[0])
	check("LayerNorm", dx, func(x []float64) float64 {
		m.normRow(0, x, p, &out)
		return dot(out.y, y)
	})
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func TestAttentionGradientEqualsFiniteDifferences(t *testing.T) {
	t.Run("padded", func(t *testing.T) {
		c := smallConfig(trainer.GELU)
		c.MaxPositions = attentionRows + 40
		b := ragged(rand.New(rand.NewPCG(7, 8)), c, attentionRows+33, 5) // two blocks of rows
		b.VisibleKeys = []int32{attentionRows + 20, 5}
		checkAttention(t, c, b)
	})
	for _, window := range []int{0, 1, 21, 128, 2*bandRows + 60} {
		t.Run(fmt.Sprint("window ", window), func(t *testing.T) {
			c := modernConfig()
			c.MaxPositions, c.Modern.Window, c.Modern.Local = 4*bandRows, window, []bool{false, true, false}
			checkAttention(t, c, ragged(rand.New(rand.NewPCG(7, 8)), c, 3*bandRows-7, 5, bandRows+1))
		})
	}
}

// checkAttention checks attention in layer 1.
func checkAttention(t *testing.T, c trainer.Config, b *trainer.Batch) {
	r := rand.New(rand.NewPCG(9, 10))
	m := openRandom[float64](t, c, c.PretrainHeads(), limitsOf(b, trainer.Float64), Backend{Threads: 1})
	m.encoder.attention = dropout.New(1, 0.25)
	qkv, n := m.encoder.layers[1].qkv, b.Tokens()*c.HiddenSize
	for i := range qkv {
		qkv[i] = r.NormFloat64()
	}
	y := make([]float64, n)
	for i := range y {
		y[i] = r.NormFloat64()
	}
	m.encoder.attend(b, 1)
	copy(m.encoder.d.z, y)
	m.encoder.attendGrad(b, 1)
	for i := 0; i < len(qkv); i += 401 {
		start := qkv[i]
		want := derivative(func(e float64) float64 {
			qkv[i] = start + e
			m.encoder.attend(b, 1)
			return dot(m.encoder.layers[1].ctx[:n], y)
		})
		qkv[i] = start
		checkDerivative(t, fmt.Sprintf("qkv element %d", i), m.encoder.d.qkv[i], want)
	}
}
