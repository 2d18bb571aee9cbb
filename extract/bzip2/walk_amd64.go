package bzip2

// chains is the number of chains that are walked at the same time: as many as the
// number of cache lines that can be fetched at once.
const chains = 24

// stride advances all chains from position p, until a chain reaches a marked row or p
// reaches chainCap. It returns the new position. x holds the chains' entries.
func (w *walker) stride(t *table, x *[chains]uint32, p int) int {
	return strideChains(t, x, p, &w.out)
}

//go:noescape
func strideChains(t *table, x *[chains]uint32, p int, out *[chains][chainCap + chainPad]byte) int
