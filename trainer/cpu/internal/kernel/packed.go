package kernel

// Packed is the right-hand side of a product, packed once for many products.
type Packed[T Float] struct {
	data    []T
	k, n    int // n: columns, with those that fill the last panel
	columns int
}

// Pack packs the k×n matrix b into p, with all threads. It reuses the memory of p if that
// is large enough.
func (g *Gemm[T]) Pack(p *Packed[T], b Matrix[T], k, n int) {
	p.k, p.n, p.columns = k, g.Width(n), n
	p.data = grow(p.data, p.n*k+slack)
	for k0 := 0; k0 < k; k0 += kBlock {
		g.packB(p.data[k0*p.n:], b, area{0, n, k0, min(kBlock, k-k0)})
	}
}

// Width returns the number of columns n, rounded up to whole panels. A packed matrix has
// zeros in the additional columns; a product may compute these columns too.
func (g *Gemm[T]) Width(n int) int { return g.panels(n) * g.set.NR }

// MulAll is Mul for a packed b, with all threads: c = a·b, or c += a·b if add is set, of all
// columns. The result has the same bits.
func (g *Gemm[T]) MulAll(m int, a Matrix[T], b *Packed[T], c []T, ldc int, add bool) {
	for n0 := 0; n0 < b.columns && m > 0; n0 += nBlock {
		nb := min(nBlock, b.columns-n0)
		for k0 := 0; k0 < b.k; k0 += kBlock {
			kb := min(kBlock, b.k-k0)
			g.block(product[T]{a: a, b: b.data[k0*b.n+n0*kb:], m: m, k: b.k, k0: k0, kb: kb, nb: nb, c: c[n0:], ldc: ldc, add: add || k0 > 0})
		}
	}
}

// MulPacked computes the first n columns of a·b and writes them to c, or adds them if add
// is set. c is m×n with ldc elements from one row to the next. MulPacked runs in the calling
// goroutine; worker is the goroutine's number in the pool.
func (g *Gemm[T]) MulPacked(worker, m, n int, a Matrix[T], b *Packed[T], c []T, ldc int, add bool) {
	for k0 := 0; k0 < b.k; k0 += kBlock {
		p := product[T]{a: a, b: b.data[k0*b.n:], m: m, k: b.k, k0: k0, kb: min(kBlock, b.k-k0), nb: n, c: c, ldc: ldc, add: add || k0 > 0}
		for m0 := 0; m0 < m; m0 += g.set.MR {
			g.tiles(&g.work[worker], p, m0, 0, g.panels(n))
		}
	}
}
