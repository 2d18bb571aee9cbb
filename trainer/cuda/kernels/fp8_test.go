package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/sim"
)

// nearestEight returns the number of a format that is nearest to v, ties to even, by trying
// all: digits counts the bits behind the point, most is the largest number, least the
// exponent of the smallest normal one.
func nearestEight(v float64, digits, least int, most float64) float64 {
	if v != v {
		return v
	}
	size := math.Abs(v)
	_, e := math.Frexp(size)
	unit := math.Ldexp(1, max(e-1, least)-digits)
	return math.Copysign(min(math.RoundToEven(size/unit)*unit, most), v)
}

// eightValue returns the number of a code.
func eightValue(code byte, digits, bias int) float64 {
	sign := 1 - 2*float64(code>>7)
	e, m := int(code&0x7f)>>digits, float64(int(code)&(1<<digits-1))
	if code&0x7f == 0x7f {
		return math.NaN()
	}
	if e == 0 {
		return sign * math.Ldexp(m, 1-bias-digits)
	}
	return sign * math.Ldexp(m+float64(int(1)<<digits), e-bias-digits)
}

// checkEightBits converts tensors of sizes that end inside a tile, with factors from their
// own size, from a larger one, and from one that is too small.
func checkEightBits(f *fixture) {
	for _, form := range []struct {
		kernel              string
		digits, bias, least int
		most                float64
	}{{"fp8_e4m3", 3, 7, -6, 448}, {"fp8_e5m2", 2, 15, -14, 57344}} {
		for i, size := range [][2]int{{64, 64}, {16, 144}, {80, 16}} {
			rows, width := size[0], size[1]
			n := rows * width
			x := f.normal(n)
			for j := range x {
				x[j] *= 1e-3 * math.Pow(10, float64(j%4))
			}
			x[3], x[5], x[n-1] = 0, -12, []float64{0, 500, 500}[i]
			xAt, x := f.elems("x", x)
			from := f.floats("from", []float64{[]float64{0, 1000, 1}[i]})
			amax, saturated := f.floats("amax", []float64{0.5}), numbers(f, "saturated", []uint32{7})
			most, real := 0.0, rows-i // the last rows pad
			for _, v := range x[:real*width] {
				most = max(most, math.Abs(v))
			}
			factor := []float64{1, 0.25, 256}[i] // of E4M3: 448/1000 and 448
			if form.kernel == "fp8_e5m2" {
				factor = []float64{1, 32, 32768}[i]
			}
			if i == 0 { // its own size
				f.write(from, float32Bytes([]float64{0}))
				f.launch("fp8", "fp8_amax", sim.Dim{X: blocks(n, 4096)}, 256, from, xAt, int64(n))
				f.near("own size", f.readFloats(from, 1), []float64{most}, 0)
				factor = math.Exp2(math.Floor(math.Log2(form.most / most)))
			}
			q, qt, inverse := f.room("q", n), f.room("qt", n), f.outputFloats("inverse", 1)
			f.launch("fp8", form.kernel, sim.Dim{X: blocks(width, 64), Y: blocks(rows, 64)}, 256, q, qt, xAt, from, inverse, amax, saturated, int32(rows), int32(width), int32(real))
			f.near("inverse factor", f.readFloats(inverse, 1), []float64{1 / factor}, 0)
			f.near("size", f.readFloats(amax, 1), []float64{most}, 0)
			codes, turned, lost := f.bytes(q, n), f.bytes(qt, n), uint32(7)
			for j, v := range x {
				want := nearestEight(v*factor, form.digits, form.least, form.most)
				if j < real*width && math.Abs(v*factor) > form.most {
					lost++
				}
				if got := eightValue(codes[j], form.digits, form.bias); got != want {
					f.must(fmt.Errorf("%s: %v·%v is %v, want %v", form.kernel, v, factor, got, want))
				}
				if got := turned[j%width*rows+j/width]; got != codes[j] {
					f.must(fmt.Errorf("%s: transposed element %d is %#x, want %#x", form.kernel, j, got, codes[j]))
				}
			}
			if got := readAs[uint32](f, saturated, 1)[0]; got != lost || i == 2 && lost == 7 {
				f.must(fmt.Errorf("%s: %d elements were too large, want %d", form.kernel, got, lost))
			}
		}
		// What is not finite becomes NaN. A tensor without transpose and sizes.
		odd := make([]float64, 256)
		odd[1], odd[2], odd[255] = math.Inf(1), math.NaN(), math.Inf(-1)
		xAt, _ := f.elems("odd", odd)
		q, inverse := f.room("q", 256), f.outputFloats("inverse", 1)
		f.launch("fp8", form.kernel, sim.Dim{X: 1}, 256, q, uint64(0), xAt, f.floats("from", []float64{math.Inf(1)}), inverse, uint64(0), uint64(0), int32(16), int32(16), int32(16))
		for i, code := range f.bytes(q, 256) {
			if want := odd[i] != 0; want != (code&0x7f == 0x7f) {
				f.must(fmt.Errorf("%s: %v becomes %#x", form.kernel, odd[i], code))
			}
		}
		f.near("inverse of an infinite size", f.readFloats(inverse, 1), []float64{1}, 0)
		f.smallEight(form.kernel, form.most)
	}
}

// smallEight converts a tensor of small numbers: the transpose alone, the largest number of
// the format, and zeros without a size.
func (f *fixture) smallEight(kernel string, most float64) {
	x := make([]float64, 256)
	for i := range x {
		x[i] = 1e-3 * float64(i) / 256
	}
	xAt, x := f.elems("small", x)
	amax, saturated, qt, inverse := f.floats("amax", []float64{0}), numbers(f, "saturated", []uint32{7}), f.room("qt", 256), f.outputFloats("inverse", 1)
	f.launch("fp8", kernel, sim.Dim{X: 1}, 256, uint64(0), qt, xAt, f.floats("from", []float64{0}), inverse, amax, saturated, int32(16), int32(16), int32(16))
	f.near("small size", f.readFloats(amax, 1), x[255:], 0)
	f.near("inverse of no size", f.readFloats(inverse, 1), []float64{1}, 0)
	x[9] = most
	xAt, _ = f.elems("largest", x)
	f.launch("fp8", kernel, sim.Dim{X: 1}, 256, uint64(0), qt, xAt, f.floats("from", []float64{most}), inverse, amax, saturated, int32(16), int32(16), int32(16))
	f.near("largest number", f.readFloats(amax, 1), []float64{most}, 0)
	if got := readAs[uint32](f, saturated, 1)[0]; got != 7 {
		f.must(fmt.Errorf("%s: %d elements were too large, want none", kernel, got-7))
	}
}

// checkAmax has sizes that end inside a block, and the largest element in every warp.
func checkAmax(f *fixture) {
	const n = 16 * 300
	for _, at := range []int{0, 16, 31, 511, 512, 2047, 4096, 4112, n - 1} {
		x := f.normal(n)
		for i := range x {
			x[i] = 1e-3 * math.Cos(x[i])
		}
		x[at] = -2e-3
		xAt, x := f.elems("x", x)
		amax := f.floats("amax", []float64{0})
		f.launch("fp8", "fp8_amax", sim.Dim{X: blocks(n, 4096)}, 256, amax, xAt, int64(n))
		f.near("largest size", f.readFloats(amax, 1), []float64{-x[at]}, 0)
	}
	zeros, _ := f.elems("zeros", make([]float64, n))
	amax := f.floats("amax", []float64{0})
	f.launch("fp8", "fp8_amax", sim.Dim{X: blocks(n, 4096)}, 256, amax, zeros, int64(n))
	f.near("size of zeros", f.readFloats(amax, 1), []float64{0}, 0)
}

// checkSmallSizesRoll has one rank, or more than NVRTC unrolls, and sizes below 1.
func checkSmallSizesRoll(f *fixture) {
	for _, ranks := range []int{1, 6} {
		const n, history = 5, 16
		seen, most, at := f.normal(ranks*n), make([]float64, n), f.outputFloats("from", n)
		past := f.floats("history", make([]float64, n*history))
		for i := range seen {
			seen[i] = float64(float32(1e-2 * math.Abs(seen[i])))
		}
		seen[0] = math.Inf(1)
		for i, v := range seen {
			most[i%n] = max(most[i%n], v)
		}
		most[0] = 0
		f.launch("fp8", "fp8_roll", sim.Dim{}, 256, at, past, f.floats("seen", seen), int32(n), int32(ranks), int32(3))
		f.near("largest size", f.readFloats(at, n), most, 0)
	}
}

// checkSizesRoll holds the history of sizes over more steps than it has places.
func checkSizesRoll(f *fixture) {
	const n, ranks, history = 300, 3, 16
	from, past := f.floats("from", make([]float64, n)), f.floats("history", make([]float64, n*history))
	var all [][]float64
	for step := range 19 {
		seen, most := f.normal(ranks*n), make([]float64, n)
		for i := range seen {
			seen[i] = math.Abs(seen[i]) * float64(20-step) // the oldest is the largest
			if step == 5 && i == 2*n+7 {
				seen[i] = math.Inf(1)
			}
			most[i%n] = max(most[i%n], seen[i])
		}
		if step == 5 {
			most[7] = 0
		}
		all = append(all, most)
		f.launch("fp8", "fp8_roll", sim.Dim{X: blocks(n, 256)}, 256, from, past, f.floats("seen", seen), int32(n), int32(ranks), int32(step%history))
		want := make([]float64, n)
		for _, m := range all[max(0, len(all)-history):] {
			for i, v := range m {
				want[i] = max(want[i], v)
			}
		}
		f.near("largest size of the history", f.readFloats(from, n), want, 1e-7)
	}
}

func TestEightBits(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16}, checkEightBits)
}
func TestAmax(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16}, checkAmax)
}
func TestSmallSizesRoll(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16}, checkSmallSizesRoll)
}
func TestSizesRoll(t *testing.T) {
	inTypes(t, kernels.BF16, []kernels.Type{kernels.BF16}, checkSizesRoll)
}
