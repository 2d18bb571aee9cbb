package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"pretext/trainer"
)

// The numbers of the formats are those of their specification, table 1 and 2: the largest, the
// smallest normal and subnormal ones, ties to even, and what is too large.
func TestEightBitsHaveTheNumbersOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		format   eight
		amax     float32 // 1.75·2^exponent: a factor of 1
		in, want []float32
	}{
		{e4m3, 448, []float32{448, -460, 0x1p-6, 0x1p-9, 0x1p-10, 0x1.8p-9, 1.0625, 1.1875, 0x1.bp-7, 17.1}, []float32{448, -448, 0x1p-6, 0x1p-9, 0, 0x1p-8, 1, 1.25, 0x1.cp-7, 18}},
		{e5m2, 57344, []float32{57344, -60000, 0x1p-14, 0x1p-16, 0x1p-17, 1.125, 1.375, 17.1}, []float32{57344, -57344, 0x1p-14, 0x1p-16, 0, 1, 1.5, 16}},
	} {
		got := make([]float32, len(c.in))
		if lost := convert(got, c.in, c.amax, c.format); lost != 1 {
			t.Errorf("%d numbers are too large, want 1", lost)
		}
		for i, v := range got {
			if v != c.want[i] {
				t.Errorf("%d bits: %v becomes %v, want %v", c.format.bits, c.in[i], v, c.want[i])
			}
		}
	}
	for amax, want := range map[float32]float32{448: 1, 449: 0.5, 224: 2, 0: 1, float32(math.Inf(1)): 1, 0x1.cp-130: 0x1p126} {
		if got := e4m3.factor(amax); got != want {
			t.Errorf("factor for %v: %v, want %v", amax, got, want)
		}
	}
	x := []float32{0x1.01p0, 0x1.03p0, -0x1.010002p0, float32(math.Inf(-1))}
	round(x)
	for i, want := range []float32{1, 0x1.04p0, -0x1.02p0, float32(math.Inf(-1))} {
		if x[i] != want {
			t.Errorf("bfloat16 %d: %v, want %v", i, x[i], want)
		}
	}
}

func TestLowerPrecisionsRefuseOtherModels(t *testing.T) {
	c := smallConfig(trainer.GELU)
	c.IntermediateSize = 24
	o := trainer.Options{Tokens: 16, Sequences: 2, Masked: 4, Precision: trainer.Float8}
	if _, err := (Backend{}).Open(c, trainer.Heads{MLM: true}, o); err == nil {
		t.Error("an intermediate size of 24")
	}
	c.IntermediateSize, o.Precision = 32, trainer.BFloat16
	for _, h := range []trainer.Heads{trainer.PretrainHeads(), {MLM: true, Span: true}, {Labels: 2}} {
		if _, err := (Backend{}).Open(c, h, o); err == nil {
			t.Errorf("%+v", h)
		}
	}
}

// TestEightBitsLearnWhatSixteenDo is TestLearningInEightBits of trainer/session in small: 60
// steps on four batches of random words, which the model learns by heart. The loss counts
// 1e-5, as in a batch of many tokens, so that gradients without a factor become 0.
func TestEightBitsLearnWhatSixteenDo(t *testing.T) {
	c, h := smallConfig(trainer.GELU), trainer.Heads{MLM: true}
	c.HiddenSize, c.IntermediateSize, c.AttentionHeads, c.Layers, c.InitializerRange, c.HiddenDropout, c.AttentionDropout = 32, 64, 2, 2, 0.1, 0, 0
	var batches []*trainer.Batch
	for i := range uint64(4) {
		b := ragged(rand.New(rand.NewPCG(i, 1)), c, 30, 29, 31, 30)
		b.NSPLabels = nil
		batches = append(batches, b)
	}
	learned := func(p trainer.Precision) (loss float64) {
		o := limitsOf(batches[0], p)
		o.Masked, o.Optimizer = 120, trainer.DefaultOptimizer(trainer.AdamW)
		o.Optimizer.Epsilon, o.Optimizer.BiasCorrection = 1e-12, true
		m, err := Backend{Threads: 1}.Open(c, h, o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 1)); err != nil {
			t.Fatal(err)
		}
		for step := range 60 {
			if err := m.Accumulate(batches[step%len(batches)], trainer.Coef{MLM: 1e-5}, true); err != nil {
				t.Fatal(err)
			}
			info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 3e-3, Steps: 100})
			if err != nil {
				t.Fatal(err)
			}
			if step >= 40 {
				loss += info.Sums.Loss() / 20
			}
		}
		return loss
	}
	eight, sixteen, exact := learned(trainer.Float8), learned(trainer.BFloat16), learned(trainer.Float64)
	if !(eight < 0.5*math.Log(float64(c.VocabSize)) && math.Abs(eight/sixteen-1) < 0.02) {
		t.Errorf("loss %.4f in fp8, and %.4f in bf16", eight, sixteen)
	}
	t.Logf("loss %.4f in fp8, %.4f in bf16, %.4f in double precision", eight, sixteen, exact)
}
