// Package kernel holds the inner loops of the CPU backend: matrix products and
// the element-wise functions that cost most.
//
// A [Set] implements the inner loops for one instruction set. The set [Plain] is written
// in Go and always available; the other sets are tested against it. All sets use the same
// code around the inner loops. Threads come from a [Pool].
//
// Results are equal, bit for bit, for any number of threads: a product is divided by rows
// and columns, never along the inner dimension, and all other sums are over fixed blocks in
// a fixed order. The results of different sets differ by rounding.
//
// Operands and sizes are separate parameters, as in BLAS, because the assembly
// takes them so.
package kernel

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"pretext/trainer/optim"
)

// Float is the element type of a computation.
type Float interface{ float32 | float64 }

// An ISA is the name of an instruction set, whose inner loops are a [Set].
type ISA string

// The instruction sets. Best stands for the fastest that this machine has.
const (
	Best   ISA = ""
	Plain  ISA = "plain"
	AVX2   ISA = "avx2"   // with FMA
	AVX512 ISA = "avx512" // F, DQ, BW, VL
	NEON   ISA = "neon"   // of every arm64 processor
)

// A Set holds the inner loops of one instruction set.
type Set[T Float] struct {
	ISA ISA

	Tiles[T]

	// ExpSum replaces x by exp(x − shift) and returns the sum of the results.
	ExpSum func(x []T, shift T) T

	// ExpSums adds exp(x − shift), element by element, to sums.
	ExpSums func(sums, x, shift []T)

	// ExpScale replaces x by exp(x − shift)·by, element by element, and returns
	// the sum of the results.
	ExpScale func(x, shift, by []T) T

	// AddMax adds by to every element of x, and then replaces each element of top
	// by the larger of itself and the element of x.
	AddMax func(x, top []T, by T)

	// Max returns the largest element of x, which must not be empty.
	Max func(x []T) T

	// GELU computes y, the activation of x; tanh selects the tanh form.
	GELU func(y, x []T, tanh bool)

	// GELUGrad multiplies dy by the activation's derivative at x.
	GELUGrad func(dy, x []T, tanh bool)

	// Norm is LayerNorm of a row: x̂ = (x − mean)/√(var + ε), y = x̂·gain + bias. It
	// returns 1/σ. x may be y or x̂.
	Norm func(y, xhat, x, gain, bias []T, eps float64) T

	// NormGrad computes dx, the gradient of a row's input; scale is 1/σ. dx may be dy.
	NormGrad func(dx, dy, xhat, gain []T, scale T)

	// SoftmaxGrad replaces dp, the gradient of the probabilities
	// p = softmax(scale·x), by the gradient of x.
	SoftmaxGrad func(dp, p []T, scale T)

	// Add adds y to x.
	Add func(x, y []T)

	// MulAdd adds y·z to x.
	MulAdd func(x, y, z []T)

	// Scale multiplies x by a number.
	Scale func(x []T, by T)

	// SumSquares returns the sum of the squares of x, as [optim.SumSquares]
	// does.
	SumSquares func(x []T) float64

	// Adam updates weights and moments, as [optim.Update] does.
	Adam func(c optim.Constants[T], w, m, v, g []T)
}

// Tiles has the inner loops that compute tiles of C, the product of the matrices A and B,
// and those that pack A and B.
type Tiles[T Float] struct {
	MR, NR int // rows and columns of a tile

	// Micro computes a tile of C from k columns of MR elements of A, aStep elements apart, and
	// k rows of NR elements of B, bStep apart: c[i*ldc+j] = Σp a[p*aStep+i]·b[p*bStep+j]. If
	// add is set, it adds to c instead. Packed matrices have the steps MR and NR.
	Micro func(k int, a []T, aStep int, b []T, bStep int, c []T, ldc int, add bool)

	// MicroRows is like Micro, for an A with rows that are lda elements apart: a[i*lda+p]
	// replaces a[p*aStep+i]. The result has the same bits. MicroRows is nil if packing is as
	// fast.
	MicroRows func(k int, a []T, lda int, b []T, bStep int, c []T, ldc int, add bool)

	// Transpose8 computes dst[p*dstStride+r] = src[r*srcStride+p] for eight rows r and k
	// columns p; k is a multiple of 8. CopyTiles and CopyPanels compute
	// dst[p*dstStride+r] = src[p*srcStride+r] for k rows p; CopyTiles for r below CopyWidth,
	// which is at least MR, CopyPanels for r below NR. All three write in the order of p. A
	// function is nil if a plain loop is as fast.
	Transpose8, CopyTiles, CopyPanels func(dst []T, dstStride int, src []T, srcStride, k int)
	CopyWidth                         int
}

// For returns the inner loops for an instruction set. It returns an error if the machine
// does not have the instruction set. For double precision there is only the plain set.
func For[T Float](isa ISA) (*Set[T], error) {
	var zero T
	if _, single := any(zero).(float32); !single {
		if isa != Best && isa != Plain {
			return nil, fmt.Errorf("instruction set %q: only %q computes in double precision", isa, Plain)
		}
		return plain[T](), nil
	}
	set, err := single(isa)
	if err != nil {
		return nil, err
	}
	return any(set).(*Set[T]), nil
}

// A Pool runs loops on a fixed number of threads. The zero value uses one.
type Pool struct{ Threads int }

// NewPool returns a pool of n threads; 0 means one for each processor.
func NewPool(n int) *Pool {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return &Pool{Threads: n}
}

// Do calls f(worker, i) once for every i in [0, n), on up to Threads goroutines, and
// returns when all calls are done. worker is the number of the goroutine, below
// Threads; calls with the same worker never overlap.
func (p *Pool) Do(n int, f func(worker, i int)) {
	workers := min(p.Threads, n)
	if workers <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	loop := func(worker int) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(worker, i)
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { loop(w) })
	}
	loop(0)
	wg.Wait()
}

// Ranges calls f for consecutive ranges [lo, hi) of at most grain that cover
// [0, n).
func (p *Pool) Ranges(n, grain int, f func(lo, hi int)) {
	p.Do((n+grain-1)/grain, func(_, i int) { f(i*grain, min(n, (i+1)*grain)) })
}
