package kernel

import (
	"fmt"

	"golang.org/x/sys/cpu"
)

// single returns the inner loops for an instruction set in single precision.
func single(isa ISA) (*Set[float32], error) {
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA
	avx512 := avx2 && cpu.X86.HasAVX512 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
	if isa == Best {
		switch {
		case avx512:
			isa = AVX512
		case avx2:
			isa = AVX2
		default:
			isa = Plain
		}
	}
	switch {
	case isa == Plain:
		return plain[float32](), nil
	case isa == AVX2 && avx2:
		return simd(level{isa: AVX2, width: 8}, 6), nil
	case isa == AVX512 && avx512:
		return simd(level{isa: AVX512, width: 16, wide: true}, 14), nil
	}
	return nil, fmt.Errorf("instruction set %q: not on this machine", isa)
}

// tiles returns the loops of products, whose tiles have mr rows and two registers of columns.
func (l level) tiles(mr int) Tiles[float32] {
	nr := 2 * l.width
	return Tiles[float32]{
		MR: mr, NR: nr, Transpose8: transpose8, CopyTiles: l.copyTiles, CopyPanels: l.copyPanels, CopyWidth: l.width,
		Micro: func(k int, a []float32, aStep int, b []float32, bStep int, c []float32, ldc int, add bool) {
			_, _, _ = a[(k-1)*aStep+mr-1], b[(k-1)*bStep+nr-1], c[(mr-1)*ldc+nr-1]
			microAny(l, k, &a[0], &b[0], &c[0], ldc, add, aStep, bStep)
		},
		MicroRows: func(k int, a []float32, lda int, b []float32, bStep int, c []float32, ldc int, add bool) {
			_, _, _ = a[(mr-1)*lda+k-1], b[(k-1)*bStep+nr-1], c[(mr-1)*ldc+nr-1]
			microRowsAny(l, k, &a[0], &b[0], &c[0], ldc, add, lda, bStep)
		},
	}
}

func transpose8(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k > 0 {
		_, _ = dst[(k-1)*dstStride+7], src[7*srcStride+k-1]
		transposeAVX2(&dst[0], dstStride, &src[0], srcStride, k)
	}
}

func (l level) copyTiles(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k > 0 {
		_, _ = dst[(k-1)*dstStride+l.width-1], src[(k-1)*srcStride+l.width-1]
		copyTilesAny(l, &dst[0], dstStride, &src[0], srcStride, k)
	}
}

func (l level) copyPanels(dst []float32, dstStride int, src []float32, srcStride, k int) {
	if k == 0 {
		return
	}
	_, _ = dst[(k-1)*dstStride+2*l.width-1], src[(k-1)*srcStride+2*l.width-1]
	copyPanelsAny(l, &dst[0], dstStride, &src[0], srcStride, k)
}
