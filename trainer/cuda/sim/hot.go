package sim

import "math/bits"

// Most executed instructions are moves, sums, products and multiply-adds. For all lanes of a
// warp at once they are written out here, without a function call per lane, for speed.

// hot returns the form of an instruction that applies one to each lane; all does the same for
// the lanes of a whole warp.
func hot[D, A lane](one func(a, b A) D, all func(d *[warpSize]D, a, b *[warpSize]A)) form {
	f := twoSources(one)
	some := f.run
	f.run = func(w *warp, in *instr, lanes uint32) {
		if lanes != full {
			some(w, in, lanes)
			return
		}
		all(&registers[D](w)[in.d[0]], &registers[A](w)[in.s[0]], &registers[A](w)[in.s[1]])
	}
	return f
}

var (
	addFloat = hot(func(a, b uint32) uint32 { return b32(f32(a) + f32(b)) }, func(d *[warpSize]uint32, a, b *[warpSize]uint32) {
		for l := range d {
			d[l] = b32(f32(a[l]) + f32(b[l]))
		}
	})
	subFloat = hot(func(a, b uint32) uint32 { return b32(f32(a) - f32(b)) }, func(d *[warpSize]uint32, a, b *[warpSize]uint32) {
		for l := range d {
			d[l] = b32(f32(a[l]) - f32(b[l]))
		}
	})
	mulFloat = hot(func(a, b uint32) uint32 { return b32(f32(a) * f32(b)) }, func(d *[warpSize]uint32, a, b *[warpSize]uint32) {
		for l := range d {
			d[l] = b32(f32(a[l]) * f32(b[l]))
		}
	})
	addLong = hot(func(a, b uint64) uint64 { return a + b }, func(d *[warpSize]uint64, a, b *[warpSize]uint64) {
		for l := range d {
			d[l] = a[l] + b[l]
		}
	})
	addWord = hot(func(a, b uint32) uint32 { return a + b }, func(d *[warpSize]uint32, a, b *[warpSize]uint32) {
		for l := range d {
			d[l] = a[l] + b[l]
		}
	})
	andWord = hot(func(a, b uint32) uint32 { return a & b }, func(d *[warpSize]uint32, a, b *[warpSize]uint32) {
		for l := range d {
			d[l] = a[l] & b[l]
		}
	})
	xorWord = hot(func(a, b uint32) uint32 { return a ^ b }, func(d *[warpSize]uint32, a, b *[warpSize]uint32) {
		for l := range d {
			d[l] = a[l] ^ b[l]
		}
	})
	wideWord = hot(func(a, b uint32) uint64 { return uint64(a) * uint64(b) }, func(d *[warpSize]uint64, a, b *[warpSize]uint32) {
		for l := range d {
			d[l] = uint64(a[l]) * uint64(b[l])
		}
	})
)

func moveWord(w *warp, in *instr, lanes uint32) {
	d, a := &w.w[in.d[0]], &w.w[in.s[0]]
	if lanes == full {
		*d = *a
		return
	}
	for l := range d {
		if lanes>>l&1 == 1 {
			d[l] = a[l]
		}
	}
}

func fmaFloat(w *warp, in *instr, lanes uint32) {
	d, a, b, c := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]], &w.w[in.s[2]]
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = b32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
	}
}
