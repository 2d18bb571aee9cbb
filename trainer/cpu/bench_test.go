package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pretext/internal/usage"
	"pretext/trainer"
)

// BenchmarkStep is a training step of 8 sequences of 128 tokens, 20 masked
// tokens each, dropout on, AdamW, a vocabulary of 30,522.
func BenchmarkStep(b *testing.B) {
	for _, preset := range []string{"tiny", "mini"} {
		for _, isa := range []string{"avx2", "avx512", "neon"} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%s/%d threads", preset, isa, threads), func(b *testing.B) {
					benchmarkStep(b, preset, Backend{Threads: threads, ISA: isa})
				})
			}
		}
	}
}

// BenchmarkForward computes the hidden rows of all tokens and the pooled output of sequences
// of 128 tokens, without training.
func BenchmarkForward(b *testing.B) {
	for _, preset := range []string{"tiny", "mini", "small", "base"} {
		for _, sequences := range []int{1, 8} {
			for _, threads := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%dx128/%d threads", preset, sequences, threads), func(b *testing.B) {
					benchmarkForward(b, benchmarkConfig(b, preset, 30522), Backend{Threads: threads}, sequences)
				})
			}
		}
	}
}

func benchmarkForward(b *testing.B, c trainer.Config, back Backend, sequences int) {
	r := rand.New(rand.NewPCG(1, 2))
	batch, heads := &trainer.Batch{}, trainer.Heads{NSP: true}
	for i := range sequences {
		batch.Append(randomSequence(r, c, 128, 0, int64(i)))
	}
	limits := limitsOf(batch, trainer.Float32)
	limits.Train = false
	m, err := back.Open(c, heads, limits)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, heads, 1)); err != nil {
		b.Fatal(err)
	}
	out := &trainer.Outputs{Want: trainer.OutputHidden | trainer.OutputPooled}
	if _, err := m.Forward(batch, out); err != nil { // the first one packs the weights
		b.Fatal(err)
	}
	start := usage.CPU()
	for b.Loop() {
		if _, err := m.Forward(batch, out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(batch.Tokens()*b.N)/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(float64(batch.Tokens()*b.N)/(usage.CPU()-start).Seconds(), "tokens/cpu-s")
}

// BenchmarkWindow is a training step of ModernBERT on 2 sequences of 2,048 tokens, with all
// layers local (±64) and with all layers global.
func BenchmarkWindow(b *testing.B) {
	for name, local := range map[string]bool{"local": true, "global": false} {
		b.Run(name, func(b *testing.B) {
			c := benchmarkConfig(b, "modern-mini", 4000)
			for i := range c.Modern.Local {
				c.Modern.Local[i] = local
			}
			benchmarkSteps(b, c, Backend{Threads: 1}, 2, 2048)
		})
	}
}

// BenchmarkModernStep is a training step of ModernBERT on 4,096 tokens.
func BenchmarkModernStep(b *testing.B) {
	for _, length := range []int{128, 512} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			benchmarkSteps(b, benchmarkConfig(b, "modern-mini", 8000), Backend{Threads: 1}, 4096/length, length)
		})
	}
}

func benchmarkConfig(b *testing.B, preset string, vocab int) trainer.Config {
	c, err := trainer.Preset(preset, vocab)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func benchmarkStep(b *testing.B, preset string, back Backend) {
	benchmarkSteps(b, benchmarkConfig(b, preset, 30522), back, 8, 128)
}

func benchmarkSteps(b *testing.B, c trainer.Config, back Backend, sequences, length int) {
	r := rand.New(rand.NewPCG(1, 2))
	batch, heads := &trainer.Batch{}, c.PretrainHeads()
	for i := range sequences {
		batch.Append(randomSequence(r, c, length, length*20/128, int64(i)))
	}
	m, err := back.Open(c, heads, limitsOf(batch, trainer.Float32))
	if err != nil {
		b.Skip(err)
	}
	defer m.Close()
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, heads, 1)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(4 * batch.Tokens()))
	start := usage.CPU()
	for b.Loop() {
		if err := m.Accumulate(batch, batch.Counts(heads).Coef(), true); err != nil {
			b.Fatal(err)
		}
		if _, err := m.Apply(steady(1e-4)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(batch.Tokens()*b.N)/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(float64(batch.Tokens()*b.N)/(usage.CPU()-start).Seconds(), "tokens/cpu-s") // other programs at work disturb it less
}
