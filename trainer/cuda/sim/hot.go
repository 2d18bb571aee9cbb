package sim

import "math/bits"

// Most executed instructions are moves, sums, products and multiply-adds. Their forms are
// written out here, without a function call per lane, for speed.

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

func addFloat(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = b32(f32(a[l]) + f32(b[l]))
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = b32(f32(a[l]) + f32(b[l]))
	}
}

func subFloat(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = b32(f32(a[l]) - f32(b[l]))
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = b32(f32(a[l]) - f32(b[l]))
	}
}

func mulFloat(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = b32(f32(a[l]) * f32(b[l]))
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = b32(f32(a[l]) * f32(b[l]))
	}
}

func fmaFloat(w *warp, in *instr, lanes uint32) {
	d, a, b, c := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]], &w.w[in.s[2]]
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = b32(fma32(f32(a[l]), f32(b[l]), f32(c[l])))
	}
}

func addLong(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.l[in.d[0]], &w.l[in.s[0]], &w.l[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = a[l] + b[l]
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = a[l] + b[l]
	}
}

func addWord(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = a[l] + b[l]
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = a[l] + b[l]
	}
}

func andWord(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = a[l] & b[l]
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = a[l] & b[l]
	}
}

func xorWord(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.w[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = a[l] ^ b[l]
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = a[l] ^ b[l]
	}
}

func wideWord(w *warp, in *instr, lanes uint32) {
	d, a, b := &w.l[in.d[0]], &w.w[in.s[0]], &w.w[in.s[1]]
	if lanes == full {
		for l := range d {
			d[l] = uint64(a[l]) * uint64(b[l])
		}
		return
	}
	for rest := lanes; rest != 0; rest &= rest - 1 {
		l := bits.TrailingZeros32(rest) % warpSize
		d[l] = uint64(a[l]) * uint64(b[l])
	}
}
