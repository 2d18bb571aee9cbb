package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pretext/trainer"
)

// BenchmarkStep is a training step of 8 sequences of 128 tokens, 20 masked
// tokens each, dropout on, AdamW, a vocabulary of 30,522.
func BenchmarkStep(b *testing.B) {
	for _, preset := range []string{"tiny", "mini"} {
		for _, isa := range []string{"avx2", "avx512"} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%s/%d threads", preset, isa, threads), func(b *testing.B) {
					benchmarkStep(b, preset, Backend{Threads: threads, ISA: isa})
				})
			}
		}
	}
}

func benchmarkStep(b *testing.B, preset string, back Backend) {
	c, err := trainer.Preset(preset, 30522)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	batch := &trainer.Batch{}
	for i := range 8 {
		batch.Append(randomSequence(r, c, 128, 20, int64(i)))
	}
	m, err := back.Open(c, trainer.PretrainHeads(), limitsOf(batch, trainer.Float32))
	if err != nil {
		b.Skip(err)
	}
	defer m.Close()
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, trainer.PretrainHeads(), 1)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(4 * batch.Tokens()))
	for b.Loop() {
		if err := m.Accumulate(batch, batch.Counts(trainer.PretrainHeads()).Coef(), true); err != nil {
			b.Fatal(err)
		}
		if _, err := m.Apply(steady(1e-4)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(batch.Tokens()*b.N)/b.Elapsed().Seconds(), "tokens/s")
}
