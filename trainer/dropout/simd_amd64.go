package dropout

import "golang.org/x/sys/cpu"

// hiddenBytes computes the random bytes of eight Philox blocks. place is word c3 of the
// first block; it increases by 1 from block to block.
//
//go:noescape
func hiddenBytes(key, position uint64, site, place uint32, out *[128]byte)

// attentionBytes computes the random bytes of a 16×32 block of attention
// probabilities, row by row.
//
//go:noescape
func attentionBytes(key, position uint64, site, place uint32, out *[512]byte)

// apply multiplies x[i] by scale if mask[i] is below keep and otherwise sets it
// to 0, for n elements (a multiple of 8).
//
//go:noescape
func apply(x *float32, mask *byte, n int, keep uint32, scale float32)

// fast reports whether the processor has AVX2, which the assembly functions need.
func fast() bool { return cpu.X86.HasAVX2 }

// hiddenFast applies the mask to a prefix of x and returns the length of the prefix. The
// prefix has whole groups of eight blocks. Its length may be 0, for example if x is not
// in single precision.
func hiddenFast[T float32 | float64](m Mask, x []T, position int64, site Site, first int) int {
	y, single := any(x).([]float32)
	if !single || first%16 != 0 || len(x) < 128 || !fast() {
		return 0
	}
	var mask [128]byte
	n := len(y) / 128 * 128
	for i := 0; i < n; i += 128 {
		hiddenBytes(m.seed, uint64(position), uint32(site), uint32((first+i)/16), &mask)
		apply(&y[i], &mask[0], 128, m.keep, float32(m.Scale()))
	}
	return n
}

// tileFast is Mask.tile. It returns false, and does nothing, without AVX2.
func tileFast(m Mask, position int64, site Site, place uint32, out *[512]byte) bool {
	if !fast() {
		return false
	}
	attentionBytes(m.seed, uint64(position), uint32(site), place, out)
	return true
}

// applyFast applies the mask to a prefix of x and returns the length of the prefix, which may
// be 0.
func applyFast[T float32 | float64](m Mask, x []T, bytes []byte) int {
	y, single := any(x).([]float32)
	n := len(x) &^ 7
	if !single || n == 0 || !fast() {
		return 0
	}
	apply(&y[0], &bytes[:n][0], n, m.keep, float32(m.Scale()))
	return n
}
