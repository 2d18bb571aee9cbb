//go:build !amd64

package bzip2

// chains is the number of chains that are walked at the same time. With fewer chains,
// the processor waits for memory; with more, it has too few registers.
const chains = 12

// stride advances all chains from position p, until a chain reaches a marked row or p
// reaches chainCap. It returns the new position. It is unrolled so that the chains'
// entries stay in registers.
func (w *walker) stride(t *table, x *[chains]uint32, p int) int {
	x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 := x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11]
	out := &w.out
	for p >= 0 && p < chainCap && (x0|x1|x2|x3|x4|x5|x6|x7|x8|x9|x10|x11)&marked == 0 {
		out[0][p] = byte(x0)
		out[1][p] = byte(x1)
		out[2][p] = byte(x2)
		out[3][p] = byte(x3)
		out[4][p] = byte(x4)
		out[5][p] = byte(x5)
		out[6][p] = byte(x6)
		out[7][p] = byte(x7)
		out[8][p] = byte(x8)
		out[9][p] = byte(x9)
		out[10][p] = byte(x10)
		out[11][p] = byte(x11)
		p++
		x0 = t[x0>>8&tableMask]
		x1 = t[x1>>8&tableMask]
		x2 = t[x2>>8&tableMask]
		x3 = t[x3>>8&tableMask]
		x4 = t[x4>>8&tableMask]
		x5 = t[x5>>8&tableMask]
		x6 = t[x6>>8&tableMask]
		x7 = t[x7>>8&tableMask]
		x8 = t[x8>>8&tableMask]
		x9 = t[x9>>8&tableMask]
		x10 = t[x10>>8&tableMask]
		x11 = t[x11>>8&tableMask]
	}
	*x = [chains]uint32{x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11}
	return p
}
