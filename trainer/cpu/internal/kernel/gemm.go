package kernel

// Block sizes of the product, in elements. A tile of A (MR×kBlock, packed or in place)
// stays in the first-level cache while it is multiplied with all panels of a block of B.
// The packed block of B (kBlock×nBlock) stays in the second-level cache. So C is written
// row by row, which is efficient for main memory.
const (
	kBlock = 256
	nBlock = 512
)

// Depth is the number of products that a tile adds up before it is added to C. So the sums of
// a product over many rows of B, and of products over parts of them that begin at multiples of
// Depth, have the same order.
const Depth = kBlock

// Where a matrix is used as it lies in memory, although that takes more pages and lines of the
// cache than a packed one. It pays in small products, as of attention: B if at most directRows
// rows of A are multiplied with it, and it has at most directDepth rows, or rows that are at
// most directStride elements apart; columns of A if they have at most directDepth elements,
// and are multiplied with at most directPanels panels.
const (
	directRows   = 256
	directDepth  = 256
	directStride = 512
	directPanels = 8
)

// A Matrix is a view of a slice as a matrix. Element (i, j) is Data[i*Stride+j]; if Trans
// is set, it is Data[j*Stride+i].
type Matrix[T Float] struct {
	Data   []T
	Stride int
	Trans  bool
}

// Rows returns the view of a matrix stored by rows.
func Rows[T Float](data []T, stride int) Matrix[T] { return Matrix[T]{Data: data, Stride: stride} }

// T returns the transposed view.
func (m Matrix[T]) T() Matrix[T] { return Matrix[T]{m.Data, m.Stride, !m.Trans} }

// A Gemm multiplies matrices. It owns the packing buffers, so it must not be
// used by several goroutines at once.
type Gemm[T Float] struct {
	set  *Set[T]
	pool *Pool
	b    []T // a packed block of B
	work []gemmWorker[T]
}

type gemmWorker[T Float] struct{ aPack, tile []T }

// NewGemm returns a Gemm that uses the inner loops of s and the threads of p.
func NewGemm[T Float](s *Set[T], p *Pool) *Gemm[T] {
	g := &Gemm[T]{set: s, pool: p, work: make([]gemmWorker[T], max(1, p.Threads))}
	for i := range g.work {
		g.work[i] = gemmWorker[T]{make([]T, s.MR*kBlock+slack), make([]T, s.MR*s.NR)}
	}
	return g
}

// Mul computes c = a·b, or c += a·b if add is set. a is m×k, b is k×n, and c is m×n with
// ldc elements from one row to the next. With k = 0 and without add, it clears c.
func (g *Gemm[T]) Mul(m, n, k int, a, b Matrix[T], c []T, ldc int, add bool) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		if !add {
			for i := range m {
				clear(c[i*ldc : i*ldc+n])
			}
		}
		return
	}
	for n0 := 0; n0 < n; n0 += nBlock {
		nb := min(nBlock, n-n0)
		for k0 := 0; k0 < k; k0 += kBlock {
			p := product[T]{a: a, m: m, k: k, k0: k0, kb: min(kBlock, k-k0), nb: nb, c: c[n0:], ldc: ldc, add: add || k0 > 0}
			g.right(&p, b, n0, k)
			g.block(p)
		}
	}
}

// right sets the right-hand side of a product to columns of b, which has k rows, from n0.
func (g *Gemm[T]) right(p *product[T], b Matrix[T], n0, k int) {
	nr, whole := g.set.NR, 0
	if !b.Trans && p.m <= directRows && (k <= directDepth || b.Stride <= directStride) {
		whole = p.nb / nr * nr
		p.direct, p.step = b.Data[min(len(b.Data), p.k0*b.Stride+n0):], b.Stride
		p.panels = whole / nr
	}
	if rest := p.nb - whole; rest > 0 {
		g.b = grow(g.b, g.Width(rest)*p.kb+slack)
		g.packB(g.b, b, area{n0 + whole, rest, p.k0, p.kb})
		p.b = g.b
	}
}

// panels returns the number of panels that hold n columns of B.
func (g *Gemm[T]) panels(n int) int { return (n + g.set.NR - 1) / g.set.NR }

// A product is the part of a multiplication done with one packed block of B.
type product[T Float] struct {
	a            Matrix[T]
	direct       []T // the first panels of B, where they are
	panels, step int // their number; elements from one row to the next
	b            []T // the other panels, packed
	m, k         int // rows of A, and its columns in all blocks
	k0, kb, nb   int
	c            []T
	ldc          int
	add          bool
}

// right returns a panel of B and the elements from one row to the next.
func (p *product[T]) right(panel, nr int) ([]T, int) {
	if panel < p.panels {
		return p.direct[panel*nr:], p.step
	}
	return p.b[(panel-p.panels)*nr*p.kb:], nr
}

// tilesAtOnce is the number of tiles, one below the other, in a thread's unit of work.
const tilesAtOnce = 8

// block spreads a product over the threads: by rows, and by columns as well
// when there are too few rows.
func (g *Gemm[T]) block(p product[T]) {
	rows := tilesAtOnce * g.set.MR
	rowBlocks := (p.m + rows - 1) / rows
	panels := g.panels(p.nb)
	columnBlocks := 1
	if threads := g.pool.Threads; threads > 1 && rowBlocks < 4*threads {
		columnBlocks = min(panels, (4*threads+rowBlocks-1)/rowBlocks)
	}
	g.pool.Do(rowBlocks*columnBlocks, func(worker, i int) {
		row, column := i/columnBlocks, i%columnBlocks
		first, last := panels*column/columnBlocks, panels*(column+1)/columnBlocks
		for m0 := row * rows; m0 < min(p.m, (row+1)*rows); m0 += g.set.MR {
			g.tiles(&g.work[worker], p, m0, first, last)
		}
	})
}

// tiles computes one row of tiles of C, from row m0, for the panels [first, last) of B.
func (g *Gemm[T]) tiles(w *gemmWorker[T], p product[T], m0, first, last int) {
	mr, nr := g.set.MR, g.set.NR
	mb := min(mr, p.m-m0)
	a, aStep := w.aPack, mr
	rows := g.set.MicroRows != nil && !p.a.Trans && mb == mr
	switch {
	case rows:
		a = p.a.Data[m0*p.a.Stride+p.k0:]
	case p.a.Trans && mb == mr && p.k <= directDepth && last-first <= directPanels:
		a, aStep = p.a.Data[p.k0*p.a.Stride+m0:], p.a.Stride
	default:
		g.set.pack(a, p.a, area{m0, mb, p.k0, p.kb}, mr)
	}
	for panel := first; panel < last; panel++ {
		n0 := panel * nr
		nb := min(nr, p.nb-n0)
		whole := mb == mr && nb == nr
		c, ldc, add := p.c[m0*p.ldc+n0:], p.ldc, p.add
		if !whole {
			c, ldc, add = w.tile, nr, false
		}
		b, bStep := p.right(panel, nr)
		if rows {
			g.set.MicroRows(p.kb, a, p.a.Stride, b, bStep, c, ldc, add)
		} else {
			g.set.Micro(p.kb, a, aStep, b, bStep, c, ldc, add)
		}
		if !whole {
			copyTile(p.c[m0*p.ldc+n0:], w.tile, mb, nb, p.ldc, nr, p.add)
		}
	}
}

func copyTile[T Float](c, tile []T, rows, columns, ldc, nr int, add bool) {
	for i := range rows {
		dst, src := c[i*ldc:i*ldc+columns], tile[i*nr:i*nr+columns]
		if !add {
			copy(dst, src)
			continue
		}
		for j, v := range src {
			dst[j] += v
		}
	}
}

// packB packs an area of bᵀ into panels of NR columns.
func (g *Gemm[T]) packB(dst []T, b Matrix[T], of area) {
	nr, bt := g.set.NR, b.T()
	g.pool.Ranges(g.panels(of.rows), 16, func(lo, hi int) {
		part := area{of.row + lo*nr, min(of.rows, hi*nr) - lo*nr, of.column, of.columns}
		g.set.pack(dst[lo*nr*of.columns:], bt, part, nr)
	})
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
