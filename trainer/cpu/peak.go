package cpu

import (
	"fmt"
	"time"

	"pretext/trainer"
	"pretext/trainer/cpu/internal/kernel"
)

// peakSize is the number of rows of the square matrices that [Backend.Peak]
// multiplies. Each takes 4 MiB: large enough to amortize packing, and within
// the last-level cache.
const peakSize = 1024

// Peak returns the CPU's throughput in single-precision matrix products, in
// floating-point operations per second, measured for at least d. A
// multiplication and an addition count as two operations. Training speed is
// compared with this figure.
func (b Backend) Peak(d time.Duration) (flops float64, err error) {
	set, err := kernel.For[float32](kernel.ISA(b.ISA))
	if err != nil {
		return 0, fmt.Errorf("measure cpu: %w: %w", trainer.ErrUnavailable, err)
	}
	gemm := kernel.NewGemm(set, kernel.NewPool(b.Threads))
	const n = peakSize
	x, y := make([]float32, n*n), make([]float32, n*n)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	best := time.Duration(0) // time of the fastest product; other processes may slow the others
	for start := time.Now(); best == 0 || time.Since(start) < d; {
		one := time.Now()
		gemm.Mul(n, n, n, kernel.Rows(x, n), kernel.Rows(x, n), y, n, false)
		if t := time.Since(one); best == 0 || t < best {
			best = t
		}
	}
	return 2 * n * n * n / best.Seconds(), nil
}
