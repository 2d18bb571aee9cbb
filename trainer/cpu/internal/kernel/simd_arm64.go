package kernel

import "fmt"

// single returns the inner loops for an instruction set in single precision. Every arm64
// processor has NEON.
func single(isa ISA) (*Set[float32], error) {
	switch isa {
	case Plain:
		return plain[float32](), nil
	case Best, NEON:
		return simd(level{isa: NEON, width: 4}, 12), nil
	}
	return nil, fmt.Errorf("instruction set %q: not on this machine", isa)
}

// tiles returns the loops of products, whose tiles have mr rows and two registers of columns.
// A is always packed: NEON multiplies by a lane of a register, and a row that is not packed
// would be loaded a lane at a time.
func (l level) tiles(mr int) Tiles[float32] {
	nr := 2 * l.width
	return Tiles[float32]{
		MR: mr, NR: nr, Transpose8: l.transpose8, CopyTiles: l.copyEights, CopyPanels: l.copyEights, CopyWidth: 8,
		Micro: func(k int, a []float32, aStep int, b []float32, bStep int, c []float32, ldc int, add bool) {
			_, _, _ = a[(k-1)*aStep+mr-1], b[(k-1)*bStep+nr-1], c[(mr-1)*ldc+nr-1]
			microAny(l, k, &a[0], &b[0], &c[0], ldc, add, aStep, bStep)
		},
	}
}

func (l level) transpose8(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k > 0 {
		_, _ = dst[(k-1)*dstStride+7], src[7*srcStride+k-1]
		transposeAny(l, &dst[0], dstStride, &src[0], srcStride, k)
	}
}

func (l level) copyEights(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k > 0 {
		_, _ = dst[(k-1)*dstStride+7], src[(k-1)*srcStride+7]
		copyEightsAny(l, &dst[0], dstStride, &src[0], srcStride, k)
	}
}
