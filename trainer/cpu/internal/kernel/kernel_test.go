package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
	"pretext/trainer/optim"
)

func randomFloats(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// eachSet runs f with every set of this machine.
func eachSet(t *testing.T, f func(t *testing.T, s *Set[float32])) {
	for _, isa := range []ISA{Plain, AVX2, AVX512, NEON} {
		t.Run(string(isa), func(t *testing.T) {
			switch isa {
			case AVX2:
				realdata.Instructions(t, "AVX2")
			case AVX512:
				realdata.Instructions(t, "AVX-512 BW")
			case NEON:
				realdata.Instructions(t, "NEON")
			}
			s, err := For[float32](isa)
			if err != nil {
				t.Fatal(err)
			}
			f(t, s)
		})
	}
}

// reference multiplies with gonum in double precision.
func reference(m, n, k int, a, b Matrix[float32], c []float32, ldc int, add bool) []float64 {
	general := func(x Matrix[float32], rows, cols int) blas64.General {
		g := blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
		for i := range rows {
			for j := range cols {
				if x.Trans {
					g.Data[i*cols+j] = float64(x.Data[j*x.Stride+i])
				} else {
					g.Data[i*cols+j] = float64(x.Data[i*x.Stride+j])
				}
			}
		}
		return g
	}
	out := blas64.General{Rows: m, Cols: n, Stride: n, Data: make([]float64, m*n)}
	beta := 0.0
	if add {
		beta = 1
		for i := range m {
			for j := range n {
				out.Data[i*n+j] = float64(c[i*ldc+j])
			}
		}
	}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, general(a, m, k), general(b, k, n), beta, out)
	return out.Data
}

func TestProductsEqualGonums(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		gemms := map[int]*Gemm[float32]{1: NewGemm(s, NewPool(1)), 3: NewGemm(s, NewPool(3))}
		rapid.Check(t, func(t *rapid.T) {
			size := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, 150))
			m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), rapid.OneOf(size, rapid.IntRange(kBlock-1, 2*kBlock+9)).Draw(t, "k")
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			view := func(rows, cols int) Matrix[float32] {
				trans := rapid.Bool().Draw(t, "trans")
				if trans {
					rows, cols = cols, rows
				}
				stride := cols + rapid.IntRange(0, 5).Draw(t, "gap")
				return Matrix[float32]{randomFloats(r, (rows-1)*stride+cols), stride, trans}
			}
			a, b := view(m, k), view(k, n)
			ldc := n + rapid.IntRange(0, 5).Draw(t, "gap")
			c := randomFloats(r, (m-1)*ldc+n)
			start := slices.Clone(c)
			add := rapid.Bool().Draw(t, "add")
			want := reference(m, n, k, a, b, c, ldc, add)
			gemms[rapid.SampledFrom([]int{1, 3}).Draw(t, "threads")].Mul(m, n, k, a, b, c, ldc, add)
			for i := range c {
				row, col := i/ldc, i%ldc
				if col >= n {
					if c[i] != start[i] {
						t.Fatalf("element between rows changed at %d", i)
					}
					continue
				}
				if d := math.Abs(float64(c[i]) - want[row*n+col]); !(d <= 1e-5*math.Sqrt(float64(k))+1e-5) {
					t.Fatalf("%d×%d×%d, (%d, %d): got %v, want %v", m, n, k, row, col, c[i], want[row*n+col])
				}
			}
		})
	})
}

func TestProductsWiderThanABlockEqualGonums(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		const m, n, k = 5, nBlock + 100, kBlock + 3
		r := rand.New(rand.NewPCG(8, 9))
		a, b, c := Rows(randomFloats(r, m*k), k), Rows(randomFloats(r, n*k), k).T(), randomFloats(r, m*n)
		for _, add := range []bool{false, true} {
			want := reference(m, n, k, a, b, c, n, add)
			NewGemm(s, NewPool(2)).Mul(m, n, k, a, b, c, n, add)
			for i, v := range c {
				if math.Abs(float64(v)-want[i]) > 2e-4 {
					t.Fatalf("add %v, element %d: got %v, want %v", add, i, v, want[i])
				}
			}
		}
	})
}

func TestATileIsTheSameBitsWhereverItsOperandsAre(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		r := rand.New(rand.NewPCG(4, 2))
		for _, k := range []int{1, 3, 4, 7, 64, kBlock} {
			lda, aStep, bStep := k+5, s.MR+5, s.NR+3
			a, b := randomFloats(r, (s.MR-1)*lda+k), randomFloats(r, (k-1)*bStep+s.NR)
			aPacked, bPacked, columns := make([]float32, s.MR*k+slack), make([]float32, s.NR*k+slack), make([]float32, (k-1)*aStep+s.MR)
			s.pack(aPacked, Rows(a, lda), area{0, s.MR, 0, k}, s.MR)
			s.pack(bPacked, Rows(b, bStep).T(), area{0, s.NR, 0, k}, s.NR)
			for p := range k {
				copy(columns[p*aStep:], aPacked[p*s.MR:(p+1)*s.MR])
			}
			for _, add := range []bool{false, true} {
				start := randomFloats(r, s.MR*s.NR)
				want, got := slices.Clone(start), slices.Clone(start)
				s.Micro(k, aPacked, s.MR, bPacked, s.NR, want, s.NR, add)
				s.Micro(k, columns, aStep, b, bStep, got, s.NR, add)
				if !slices.Equal(got, want) {
					t.Fatalf("%d steps, add %v: other bits", k, add)
				}
				if s.MicroRows == nil {
					continue
				}
				got = slices.Clone(start)
				s.MicroRows(k, a, lda, b, bStep, got, s.NR, add)
				if !slices.Equal(got, want) {
					t.Fatalf("%d steps of rows, add %v: other bits", k, add)
				}
			}
		}
	})
}

func TestAnEmptyInnerDimensionGivesZero(t *testing.T) {
	g := NewGemm(plain[float64](), &Pool{})
	c := []float64{1, 2, 3, 4}
	g.Mul(2, 1, 0, Matrix[float64]{}, Matrix[float64]{}, c, 2, true)
	g.Mul(2, 1, 0, Matrix[float64]{}, Matrix[float64]{}, c, 2, false)
	if !slices.Equal(c, []float64{0, 2, 0, 4}) {
		t.Error(c)
	}
}

func TestAPackedSideGivesTheSameProducts(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		r := rand.New(rand.NewPCG(6, 1))
		g := NewGemm(s, NewPool(2))
		var packed Packed[float32]
		for _, size := range [][3]int{{1, 1, 1}, {30, 70, 20}, {29, 33, 2*kBlock + 1}, {150, nBlock + 40, kBlock + 3}} {
			m, n, k := size[0], size[1], size[2]
			a, b := Rows(randomFloats(r, m*k), k), Rows(randomFloats(r, n*k), k).T()
			want := make([]float32, m*n)
			g.Mul(m, n, k, a, b, want, n, false)
			g.Pack(&packed, b, k, n)
			all := slices.Repeat([]float32{9}, m*n)
			g.MulAll(m, a, &packed, all, n, false)
			if !slices.Equal(all, want) {
				t.Fatalf("%v: all columns: got %v, want %v", size, all, want)
			}
			w := g.Width(n)
			got := slices.Repeat([]float32{9}, m*w)
			g.MulPacked(1, m, w, a, &packed, got, w, false)
			for i := range m {
				if !slices.Equal(got[i*w:i*w+n], want[i*n:(i+1)*n]) || slices.ContainsFunc(got[i*w+n:(i+1)*w], func(v float32) bool { return v != 0 }) {
					t.Fatalf("%v, row %d: got %v, want %v and zeros", size, i, got[i*w:(i+1)*w], want[i*n:(i+1)*n])
				}
			}
		}
	})
}

func TestProductsAreTheSameBitsForAnyNumberOfThreads(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, size := range [][3]int{{5, 1300, 300}, {700, 5, 300}, {201, 333, 517}, {1, 1, 1000}} {
			m, n, k := size[0], size[1], size[2]
			a, b := Rows(randomFloats(r, m*k), k), Rows(randomFloats(r, k*n), n)
			want := make([]float32, m*n)
			NewGemm(s, NewPool(1)).Mul(m, n, k, a, b, want, n, false)
			for _, threads := range []int{2, 5} {
				got := make([]float32, m*n)
				NewGemm(s, NewPool(threads)).Mul(m, n, k, a, b, got, n, false)
				if !slices.Equal(got, want) {
					t.Errorf("%v: %d threads give other bits", size, threads)
				}
			}
		}
	})
}

func TestElementFunctionsEqualTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		for n := 1; n < 70; n++ {
			x := randomFloats(r, n)
			for i := range x {
				x[i] *= 3
			}
			checkExpSum(t, s, x)
			checkColumns(t, s, x, randomFloats(r, n), randomFloats(r, n))
			checkNorm(t, s, x, randomFloats(r, n), randomFloats(r, n))
			for _, tanh := range []bool{false, true} {
				checkGELU(t, s, x, tanh)
			}
			checkSums(t, s, x, randomFloats(r, n), randomFloats(r, n))
			if got, want := s.Max(x), slices.Max(x); got != want {
				t.Fatalf("max of %v: got %v", x, got)
			}
			if got, want := s.SumSquares(x), optim.SumSquares(x); math.Abs(got/want-1) > 1e-14 {
				t.Fatalf("sum of squares: got %v, want %v", got, want)
			}
		}
	})
}

func checkSums(t *testing.T, s *Set[float32], x, y, z []float32) {
	t.Helper()
	sum, product, scaled := slices.Clone(x), slices.Clone(x), slices.Clone(x)
	s.Add(sum, y)
	s.MulAdd(product, y, z)
	s.Scale(scaled, 3)
	for i, v := range x {
		if want := v + y[i]*z[i]; sum[i] != v+y[i] || scaled[i] != 3*v || math.Abs(float64(product[i]-want)) > 1e-6*(1+math.Abs(float64(y[i]*z[i]))) {
			t.Fatalf("element %d of %d: sum %v, product %v, scaled %v", i, len(x), sum[i], product[i], scaled[i])
		}
	}
}

func checkExpSum(t *testing.T, s *Set[float32], x []float32) {
	t.Helper()
	got, sum := slices.Clone(x), 0.0
	total := s.ExpSum(got, 1.5)
	for i, v := range x {
		want := math.Exp(float64(v - 1.5))
		sum += want
		if math.Abs(float64(got[i])/want-1) > 3e-7 {
			t.Fatalf("exp(%v): got %v, want %v", v-1.5, got[i], want)
		}
	}
	if math.Abs(float64(total)/sum-1) > 1e-6 {
		t.Fatalf("sum of exponentials: got %v, want %v", total, sum)
	}
}

// checkColumns checks the functions that take a shift or a maximum per element.
func checkColumns(t *testing.T, s *Set[float32], x, y, z []float32) {
	t.Helper()
	sums, scaled, added, top := slices.Clone(z), slices.Clone(x), slices.Clone(x), slices.Clone(y)
	s.ExpSums(sums, x, y)
	total, want := s.ExpScale(scaled, y, z), 0.0
	s.AddMax(added, top, 0.5)
	size := 0.0
	for i, v := range x {
		e := math.Exp(float64(v - y[i]))
		want += e * float64(z[i])
		size += e * math.Abs(float64(z[i]))
		if math.Abs(float64(sums[i])-float64(z[i])-e) > 1e-6*(e+math.Abs(float64(z[i]))) || math.Abs(float64(scaled[i])-e*float64(z[i])) > 1e-6*e*math.Abs(float64(z[i])) {
			t.Fatalf("exp(%v − %v): sum %v on %v, scaled by it %v", v, y[i], sums[i], z[i], scaled[i])
		}
		if added[i] != v+0.5 || top[i] != max(y[i], v+0.5) {
			t.Fatalf("%v + 0.5 under %v: got %v and %v", v, y[i], added[i], top[i])
		}
	}
	if math.Abs(float64(total)-want) > 1e-6*size {
		t.Fatalf("sum of %d scaled exponentials: got %v, want %v", len(x), total, want)
	}
}

func widened(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// near returns the difference between got and want, relative to the size of
// want.
func near(got []float32, want []float64) float64 {
	d, size := 0.0, 0.0
	for i, w := range want {
		d = max(d, math.Abs(float64(got[i])-w))
		size = max(size, math.Abs(w))
	}
	return d / max(size, 1e-30)
}

// checkNorm checks the functions of a row against the plain ones in double
// precision.
func checkNorm(t *testing.T, s *Set[float32], x, y, z []float32) {
	t.Helper()
	const eps = 1e-3
	n := len(x)
	xhat, out := make([]float32, n), make([]float32, n)
	wideXhat, wideOut := make([]float64, n), make([]float64, n)
	scale, want := s.Norm(out, xhat, x, y, z, eps), plainNorm(wideOut, wideXhat, widened(x), widened(y), widened(z), eps)
	if a, b := near(xhat, wideXhat), near(out, wideOut); n > 1 && (a > 2e-6 || b > 2e-6) || math.Abs(float64(scale)/want-1) > 2e-6 {
		t.Fatalf("LayerNorm of %d: apart by %.2g and %.2g, scale %v, want %v", n, a, b, scale, want)
	}
	dx, wideDx := make([]float32, n), make([]float64, n)
	s.NormGrad(dx, y, x, z, 2)
	plainNormGrad(wideDx, widened(y), widened(x), widened(z), 2)
	if d := near(dx, wideDx); n > 1 && d > 2e-6 {
		t.Fatalf("gradient of LayerNorm of %d: apart by %.2g", n, d)
	}
	dp, wideDp := slices.Clone(y), widened(y)
	s.SoftmaxGrad(dp, z, 0.3)
	plainSoftmaxGrad(wideDp, widened(z), 0.3)
	if d := near(dp, wideDp); d > 2e-6 {
		t.Fatalf("gradient of softmax of %d: apart by %.2g", n, d)
	}
}

func checkGELU(t *testing.T, s *Set[float32], x []float32, tanh bool) {
	t.Helper()
	wide, want := make([]float64, len(x)), make([]float64, len(x))
	grad, wantGrad := make([]float32, len(x)), make([]float64, len(x))
	for i, v := range x {
		wide[i], grad[i], wantGrad[i] = float64(v), 2, 2
	}
	plainGELU(want, wide, tanh)
	plainGELUGrad(wantGrad, wide, tanh)
	got := make([]float32, len(x))
	s.GELU(got, x, tanh)
	s.GELUGrad(grad, x, tanh)
	for i, v := range x {
		if math.Abs(float64(got[i])-want[i]) > 4e-7*max(1, math.Abs(want[i])) {
			t.Fatalf("gelu(%v), tanh %v: got %v, want %v", v, tanh, got[i], want[i])
		}
		if math.Abs(float64(grad[i])-wantGrad[i]) > 2e-6 {
			t.Fatalf("gelu'(%v), tanh %v: got %v, want %v", v, tanh, grad[i]/2, wantGrad[i]/2)
		}
	}
}

func TestExtremesStayFiniteAndNaNStaysNaN(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		x := []float32{-1e30, -1000, -88, -87, -50, 50, 1000, 1e18, 0, -inf, nan, 1, 2, 3, 4, 5, 6}
		for _, tanh := range []bool{false, true} {
			y := make([]float32, len(x))
			s.GELU(y, x, tanh)
			for i, v := range x[:9] {
				if want := max(v, 0); math.Abs(float64(y[i]-want)) > 1e-6*float64(want)+1e-8 {
					t.Errorf("gelu(%v), tanh %v: got %v", v, tanh, y[i])
				}
			}
			if !math.IsNaN(float64(y[10])) {
				t.Errorf("gelu(NaN), tanh %v: got %v", tanh, y[10])
			}
		}
		e := []float32{-1e30, -200, -90, 0, -inf}
		if sum := s.ExpSum(e, 0); sum != 1 {
			t.Errorf("exponentials %v with sum %v, want 1", e, sum)
		}
		if sum := s.ExpSum([]float32{0, nan, 0, 0}, 0); !math.IsNaN(float64(sum)) {
			t.Errorf("sum with NaN: got %v", sum)
		}
		if !math.IsNaN(s.SumSquares([]float32{0, nan, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4})) {
			t.Error("sum of squares hides a NaN")
		}
	})
}

func TestAdamEqualsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		for _, name := range []trainer.OptimizerName{trainer.AdamW, trainer.LAMB} {
			c := optim.For[float32](trainer.DefaultOptimizer(name), 3, 0.01, 2).Decaying(true)
			for n := 1; n < 50; n++ {
				w, m, v, g := randomFloats(r, n), randomFloats(r, n), randomFloats(r, n), randomFloats(r, n)
				for i := range v {
					v[i] *= v[i]
				}
				got, want := [][]float32{w, m, v, g}, make([][]float32, 4)
				for i := range got {
					want[i] = slices.Clone(got[i])
				}
				s.Adam(c, w, m, v, g)
				optim.Update(c, want[0], want[1], want[2], want[3])
				for i := range got {
					for j := range n {
						if d := math.Abs(float64(got[i][j] - want[i][j])); !(d <= 2e-6*max(1, math.Abs(float64(want[i][j])))) {
							t.Fatalf("%s, value %d of kind %d: got %v, want %v", name, j, i, got[i][j], want[i][j])
						}
					}
				}
			}
		}
	})
}

func TestMomentsWithoutGradientReachZero(t *testing.T) {
	eachSet(t, func(t *testing.T, s *Set[float32]) {
		if s.ISA == Plain {
			t.Skip("the plain set keeps subnormal numbers")
		}
		c := optim.For[float32](trainer.DefaultOptimizer(trainer.AdamW), 3, 0.01, 2)
		w, m, v, g := make([]float32, 16), slices.Repeat([]float32{1e-37}, 16), slices.Repeat([]float32{1e-30}, 16), make([]float32, 16)
		for range 100 {
			s.Adam(c, w, m, v, g)
		}
		if m[3] != 0 {
			t.Errorf("moment %v after 100 steps without gradient", m[3])
		}
		small := float32(1e-38)
		if small/10*10 == 0 {
			t.Error("subnormal numbers are still flushed after the call")
		}
	})
}

func TestPoolRunsEachPieceOnce(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 9} {
		p := &Pool{Threads: threads}
		seen := make([]int, 100)
		p.Do(len(seen), func(worker, i int) {
			if worker >= max(1, threads) {
				t.Errorf("worker %d of %d", worker, threads)
			}
			seen[i]++
		})
		p.Ranges(len(seen), 7, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		})
		for i, n := range seen {
			if n != 2 {
				t.Errorf("%d threads: piece %d ran %d times", threads, i, n)
			}
		}
	}
}

func TestUnknownSetsAreRefused(t *testing.T) {
	if _, err := For[float32]("mmx"); err == nil {
		t.Error("mmx in single precision")
	}
	if _, err := For[float64](AVX2); err == nil {
		t.Error("avx2 in double precision")
	}
}

func ExampleGemm_Mul() {
	set, err := For[float32](Plain)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := Rows([]float32{1, 2, 3, 4, 5, 6}, 3)          // 2×3
	w := Rows([]float32{1, 0, 0, 0, 1, 0, 1, 1, 1}, 3) // three outputs of three inputs
	y := make([]float32, 2*3)
	NewGemm(set, NewPool(1)).Mul(2, 3, 3, x, w.T(), y, 3, false)
	fmt.Println(y)
	// Output: [1 2 6 4 5 15]
}
