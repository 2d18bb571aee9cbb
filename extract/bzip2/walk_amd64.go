package bzip2

// chains is the number of chains that are walked at the same time: as many as
// caches can fetch lines for.
const chains = 24

// stride advances all chains from position p until one chain meets a marked
// row or p is chainCap, and returns the position reached. x are the chains'
// entries.
func (w *walker) stride(t *table, x *[chains]uint32, p int) int {
	return strideChains(t, x, p, &w.out)
}

//go:noescape
func strideChains(t *table, x *[chains]uint32, p int, out *[chains][chainCap + chainPad]byte) int
