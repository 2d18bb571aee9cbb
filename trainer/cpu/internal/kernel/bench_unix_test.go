//go:build unix

package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"pretext/trainer"
	"pretext/trainer/optim"
)

// cpuSeconds returns the processor time of the process, which a busy
// neighbour disturbs less than the clock.
func cpuSeconds(b *testing.B) float64 {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

func copyOf(dst, src []float32) []float32 {
	copy(dst, src)
	return dst
}

func BenchmarkGemm(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, isa := range []ISA{Plain, AVX2, AVX512, NEON} {
		s, err := For[float32](isa)
		if err != nil {
			continue
		}
		for _, size := range [][3]int{{128, 768, 768}, {512, 4096, 1024}, {1024, 512, 128}, {160, 30522, 128}, {128, 128, 64}, {128, 64, 128}, {160, 128, 30522}, {1024, 256, 1024}, {1024, 1024, 256}, {1024, 512, 2048}} {
			m, n, k := size[0], size[1], size[2]
			a, w, c := randomFloats(r, m*k), randomFloats(r, n*k), make([]float32, m*n)
			for form, of := range map[string][2]Matrix[float32]{"NT": {Rows(a, k), Rows(w, k).T()}, "NN": {Rows(a, k), Rows(w, n)}, "TN": {Rows(a, m).T(), Rows(w, n)}} {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", isa, m, n, k, form), func(b *testing.B) {
					g := NewGemm(s, NewPool(1))
					b.ReportAllocs()
					b.SetBytes(int64(4 * (m*k + n*k + m*n)))
					start := cpuSeconds(b)
					for b.Loop() {
						g.Mul(m, n, k, of[0], of[1], c, n, false)
					}
					b.ReportMetric(2e-9*float64(m*n*k)*float64(b.N)/(cpuSeconds(b)-start), "GFLOP/cpu-s")
				})
			}
		}
	}
}

func BenchmarkElements(b *testing.B) {
	x := randomFloats(rand.New(rand.NewPCG(1, 2)), 1<<14)
	for _, isa := range []ISA{Plain, AVX2, AVX512, NEON} {
		s, err := For[float32](isa)
		if err != nil {
			continue
		}
		y, m, v := slices.Clone(x), slices.Clone(x), make([]float32, len(x))
		c := optim.For[float32](trainer.DefaultOptimizer(trainer.AdamW), 3, 0.01, 2)
		for name, f := range map[string]func(){
			"ExpSum":   func() { s.ExpSum(copyOf(y, x), 3) },
			"GELU":     func() { s.GELU(y, x, true) },
			"GELUGrad": func() { s.GELUGrad(copyOf(y, x), x, true) },
			"ErfGELU":  func() { s.GELU(y, x, false) },
			"Adam":     func() { s.Adam(c, y, m, v, x) },
			"Squares":  func() { s.SumSquares(x) },
		} {
			b.Run(fmt.Sprintf("%s/%s", isa, name), func(b *testing.B) {
				b.SetBytes(int64(4 * len(x)))
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
			})
		}
	}
}
